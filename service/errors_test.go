package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// send is a changing call without a key of its own kind; read is a call without effect.
func send(c *Client) error {
	_, err := c.SendMessage(context.Background(), idConv, NewMessage{ClientID: idClient, Text: "oi"})
	return err
}

func read(c *Client) error {
	_, err := c.GetConversation(context.Background(), idConv)
	return err
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	return e
}

func TestErrorStatuses(t *testing.T) {
	for _, tc := range []struct {
		status                        int
		code, hint                    string
		notFound, refused, temp, unsu bool
	}{
		{status: 400, code: "invalid_request"},
		{status: 401, code: "unauthorized", refused: true, hint: "check api_key"},
		{status: 403, code: "forbidden", refused: true, hint: "needs the scope messages:send"},
		{status: 404, code: "not_found", notFound: true},
		{status: 409, code: "conflict"},
		{status: 413, code: "body_too_large"},
		{status: 428, code: "version_required", hint: "send its version"},
		{status: 429, code: "rate_limited", temp: true, hint: "wait 1s"},
		{status: 500, code: "", temp: true, unsu: true, hint: "may have taken effect"},
		{status: 503, code: "unavailable", temp: true, unsu: true, hint: "may have taken effect"},
	} {
		t.Run(fmt.Sprint(tc.status), func(t *testing.T) {
			c := setup(t, answer(tc.status, `{"code":"`+tc.code+`","message":"a sentence"}`))
			err := send(c)
			e := asError(t, err)
			if e.Status != tc.status || e.Code != tc.code || e.Message != "a sentence" || e.Op != "POST /conversations/{id}/messages" || e.Local {
				t.Errorf("got %+v", e)
			}
			if IsNotFound(err) != tc.notFound || IsRefused(err) != tc.refused || IsTemporary(err) != tc.temp || IsUncertain(err) != tc.unsu {
				t.Errorf("not found %v, refused %v, temporary %v, uncertain %v", IsNotFound(err), IsRefused(err), IsTemporary(err), IsUncertain(err))
			}
			if !strings.Contains(err.Error(), tc.hint) {
				t.Errorf("%q does not say %q", err, tc.hint)
			}
		})
	}
}

func TestErrorShapes(t *testing.T) {
	for name, body := range map[string]string{
		"flat":   `{"code":"version_conflict","message":"m"}`,
		"nested": `{"error":{"code":"version_conflict","message":"m"}}`,
		"named":  `{"error":"version_conflict","detail":"m"}`,
		"detail": `{"detail":{"code":"version_conflict","message":"m"}}`,
		"listed": `{"errors":[{"code":"version_conflict","message":"m"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			err := send(setup(t, answer(409, body)))
			if e := asError(t, err); !IsVersionConflict(err) || e.Message != "m" {
				t.Errorf("got %+v", e)
			}
		})
	}
	t.Run("no JSON", func(t *testing.T) {
		e := asError(t, send(setup(t, answer(502, "<html>bad gateway</html>"))))
		if e.Status != 502 || !e.Uncertain || e.Error() != "POST /conversations/{id}/messages: 502 bad gateway (it may have taken effect: look before repeating a call without a key)" {
			t.Errorf("got %+v: %v", e, e)
		}
	})
}

func TestReadIsNeverUncertain(t *testing.T) {
	if err := read(setup(t, answer(503, `{}`))); IsUncertain(err) || !IsTemporary(err) {
		t.Errorf("got %v", err)
	}
}

func TestPendingReservation(t *testing.T) {
	for code, want := range map[string]bool{
		"idempotency_pending": true, "request_in_progress": true, "conflict": true, "": true, "idempotency_conflict": true,
		"version_conflict": false, "stage_archived": false,
	} {
		c := setup(t, answer(409, `{"code":"`+code+`"}`))
		_, err := c.MoveCard(t.Context(), testCardKey, idCard, "7", idStage2)
		if e := asError(t, err); e.Pending != want || e.Uncertain {
			t.Errorf("code %q: pending is %v, want %v", code, e.Pending, want)
		}
	}
	if e := asError(t, send(setup(t, answer(409, `{"code":"conflict"}`)))); e.Pending {
		t.Error("a call without a key cannot be pending")
	}
}

// hijack answers by closing the connection.
func hijack(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func TestBrokenConnections(t *testing.T) {
	refused := func(*testing.T) *Client {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		_ = l.Close()
		c, _ := New(Options{BaseURL: "http://" + l.Addr().String(), APIKey: testKey})
		return c
	}
	for _, tc := range []struct {
		name      string
		client    func(*testing.T) *Client
		uncertain bool
	}{
		{"refused", refused, false},
		{"closed after the request", func(t *testing.T) *Client { return setup(t, hijack) }, true},
		{"time-out", func(t *testing.T) *Client {
			return setup(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}, func(o *Options) { o.Timeout = time.Second }) // enough for a busy machine to connect
		}, true},
		{"time-out before there is a connection", func(t *testing.T) *Client {
			return setup(t, answer(200, "{}"), func(o *Options) {
				o.Timeout = 50 * time.Millisecond
				o.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }}
			})
		}, false},
		{"garbage with a 200", func(t *testing.T) *Client { return setup(t, answer(200, "<html>")) }, true},
		{"half an answer", func(t *testing.T) *Client {
			return setup(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, `{"id":`)
			})
		}, true},
		{"a transport of another kind", func(t *testing.T) *Client {
			return setup(t, nil, func(o *Options) {
				o.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
			})
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.client(t)
			err := send(c)
			if e := asError(t, err); e.Uncertain != tc.uncertain || !IsTemporary(err) || e.Local {
				t.Errorf("uncertain %v, temporary %v, want %v, true: %v", e.Uncertain, IsTemporary(err), tc.uncertain, err)
			}
			if err := read(c); IsUncertain(err) || !IsTemporary(err) {
				t.Errorf("a read: %v", err)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A repeat is the caller's decision, also on a kept connection that breaks, and also where there is
// an Idempotency-Key.
func TestNothingIsRepeatedUnasked(t *testing.T) {
	var posts atomic.Int32
	c := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answer(200, jsonCard)(w, r)
			return
		}
		if posts.Add(1); r.Header.Get("Idempotency-Key") != testCardKey {
			t.Errorf("the key is %q", r.Header.Get("Idempotency-Key"))
		}
		hijack(w, r)
	})
	if _, err := c.GetCard(t.Context(), idCard); err != nil {
		t.Fatal(err)
	}
	_, err := c.MoveCard(t.Context(), testCardKey, idCard, "7", idStage2)
	if !IsUncertain(err) || posts.Load() != 1 {
		t.Errorf("%d requests, error %v; want one, uncertain", posts.Load(), err)
	}
}

func TestCancelledCall(t *testing.T) {
	c := setup(t, answer(200, "{}"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.GetConversation(ctx, idConv)
	if !errors.Is(err, context.Canceled) || IsTemporary(err) || !asError(t, err).Local {
		t.Errorf("got %v", err)
	}
}

func TestRedirectIsRefused(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed with Authorization %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := setup(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/login?token=hidden", status)
		})
		for _, call := range []func(*Client) error{read, send} {
			err := call(c)
			e := asError(t, err)
			if e.Status != status || e.Code != "redirected" || e.Uncertain || !strings.Contains(err.Error(), elsewhere.URL+"/login") || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
}

// A service, or a proxy before it, may quote what it was sent.
func TestKeyIsNeverShown(t *testing.T) {
	var log bytes.Buffer
	echo := func(w http.ResponseWriter, r *http.Request) {
		answer(400, `{"code":"invalid_request","message":"bad header `+r.Header.Get("Authorization")+`"}`)(w, r)
	}
	c := setup(t, echo, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	err := send(c)
	c2 := setup(t, nil, func(o *Options) {
		o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("cannot write %v", r.Header)
		})
	})
	c.log.Info("client", "options", Options{APIKey: testKey}, "key", Secret(testKey))
	for what, s := range map[string]string{"error": err.Error(), "error in full": fmt.Sprintf("%+v %#v", err, err), "transport's error": read(c2).Error(), "log": log.String()} {
		if strings.Contains(s, testKey) {
			t.Errorf("the %s shows the key: %s", what, s)
		}
	}
	if !strings.Contains(log.String(), "POST /conversations/{id}/messages") || strings.Contains(log.String(), idConv) {
		t.Errorf("the log should name the operation and no id: %s", log.String())
	}
}

func TestSecret(t *testing.T) {
	s := Secret("s3cr3t")
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%d", "%10s"} {
		if got := fmt.Sprintf(verb, s); got != redacted {
			t.Errorf("%s gives %q", verb, got)
		}
	}
	if got := fmt.Sprintf("%+v", Options{APIKey: s}); strings.Contains(got, "s3cr3t") {
		t.Errorf("options print as %s", got)
	}
	if got, _ := encode(request{body: map[string]any{"key": s}}); string(got) != `{"key":"[redacted]"}` {
		t.Errorf("JSON is %s", got)
	}
	if fmt.Sprint(Secret("")) != "" {
		t.Error("no secret should print as none")
	}
}

func TestRequestLimit(t *testing.T) {
	calls := 0
	c := setup(t, func(w http.ResponseWriter, r *http.Request) { calls++; answer(201, jsonMessage)(w, r) })
	frame := len(fill(`{"client_id":"$client","text":""}`))
	exact := NewMessage{ClientID: idClient, Text: strings.Repeat("<", maxRequest-frame)}
	if _, err := c.SendMessage(t.Context(), idConv, exact); err != nil || calls != 1 {
		t.Errorf("64 KiB to the byte: %v, %d requests", err, calls)
	}
	exact.Text += "<"
	_, err := c.SendMessage(t.Context(), idConv, exact)
	if e := asError(t, err); e.Status != 413 || !e.Local || e.Uncertain || calls != 1 || IsTemporary(err) {
		t.Errorf("one byte more: %+v, %d requests", e, calls)
	}
}

func TestAnswerLimit(t *testing.T) {
	c := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 9 {
			_, _ = io.WriteString(w, chunk)
		}
		_, _ = io.WriteString(w, `"}`)
	})
	if err := read(c); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestInvalidRequestsStayHere(t *testing.T) {
	c := setup(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("sent %s %s", r.Method, r.URL) })
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"no id":             func() error { _, err := c.GetConversation(ctx, ""); return err },
		"id of dots":        func() error { _, err := c.GetConversation(ctx, ".."); return err },
		"no client id":      func() error { _, err := c.SendMessage(ctx, idConv, NewMessage{Text: "oi"}); return err },
		"no text":           func() error { _, err := c.SendMessage(ctx, idConv, NewMessage{ClientID: idClient}); return err },
		"limit":             func() error { _, err := c.ListMessages(ctx, idConv, MessageQuery{Limit: 101}); return err },
		"card search":       func() error { _, err := c.ListCards(ctx, CardQuery{Q: strings.Repeat("é", 101)}); return err },
		"short key":         func() error { _, err := c.CreateCard(ctx, "1234567", NewCard{}); return err },
		"long key":          func() error { _, err := c.CreateCard(ctx, strings.Repeat("k", 129), NewCard{}); return err },
		"no channel":        func() error { _, err := c.CreateConversation(ctx, NewConversation{Phone: "1"}); return err },
		"nobody to talk to": func() error { _, err := c.CreateConversation(ctx, NewConversation{ChannelID: idChannel}); return err },
		"no name":           func() error { _, err := c.CreateContact(ctx, NewContact{Phone: "1"}); return err },
		"no events":         func() error { _, err := c.RegisterWebhook(ctx, NewWebhook{Name: "a", URL: "b"}); return err },
		"no file":           func() error { _, err := c.UploadMedia(ctx, File{}); return err },
	} {
		if e := asError(t, call()); e.Status != 400 || !e.Local || e.Message == "" || IsTemporary(e) || IsUncertain(e) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
