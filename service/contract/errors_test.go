package contract_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// outcome is what a *service.Error tells its caller.
type outcome struct {
	Status     int
	Code       string
	RetryAfter time.Duration
	Uncertain  bool
	Pending    bool
	Local      bool
}

func outcomeOf(e *service.Error) outcome {
	return outcome{e.Status, e.Code, e.RetryAfter, e.Uncertain, e.Pending, e.Local}
}

// Every status of the reference reaches the caller as the error it is.
func TestErrors(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	for _, tt := range []struct {
		name      string
		call      func(*testing.T, *world) error
		want      outcome
		temporary bool
	}{
		{name: "400 a label that is not there", want: outcome{Status: 400, Code: "invalid_request"}, call: func(_ *testing.T, w *world) error {
			_, err := w.UpdateContact(w.ctx, w.contact, service.ContactPatch{LabelIDs: service.Set([]string{absent})})
			return err
		}},
		{name: "400 refused before it leaves", want: outcome{Status: 400, Code: "invalid_request", Local: true}, call: func(_ *testing.T, w *world) error {
			_, err := w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: "not a uuid", Text: "x"})
			return err
		}},
		{name: "409 a rule: nothing to close", want: outcome{Status: 409, Code: "conflict"}, call: func(t *testing.T, w *world) error {
			must(w.CloseAttendance(w.ctx, w.conversation, ""))(t)
			_, err := w.CloseAttendance(w.ctx, w.conversation, "")
			return err
		}},
		{name: "409 a rule: a phone that is taken", want: outcome{Status: 409, Code: "conflict"}, call: func(_ *testing.T, w *world) error {
			_, err := w.CreateContact(w.ctx, service.NewContact{Name: "Maria too", Phone: mariaPhone})
			return err
		}},
		{name: "409 a rule: a blocked contact", want: outcome{Status: 409, Code: "conflict"}, call: func(t *testing.T, w *world) error {
			must(w.UpdateContact(w.ctx, w.contact, service.ContactPatch{Blocked: service.Set(true)}))(t)
			return calls["POST /conversations/{id}/messages"](w.ctx, w.Client, w)
		}},
		{name: "409 a rule: the 21st webhook", want: outcome{Status: 409, Code: "conflict"}, call: func(t *testing.T, w *world) error {
			for range 19 {
				noError(t, calls["POST /integrations/webhooks"](w.ctx, w.Client, w))
			}
			return calls["POST /integrations/webhooks"](w.ctx, w.Client, w)
		}},
		{name: "409 a version: edit", want: outcome{Status: 409, Code: service.CodeVersionConflict}, call: func(t *testing.T, w *world) error {
			must(w.Sandbox.MoveCard(sandbox.MoveCard{Card: w.card, Stage: "Won"}))(t)
			return calls["PATCH /kanban/cards/{id}"](w.ctx, w.Client, w)
		}},
		{name: "409 a version: move", want: outcome{Status: 409, Code: service.CodeVersionConflict}, call: func(t *testing.T, w *world) error {
			noError(t, calls["PATCH /kanban/cards/{id}"](w.ctx, w.Client, w))
			return calls["POST /kanban/cards/{id}/move"](w.ctx, w.Client, w)
		}},
		{name: "409 idempotency: another body", want: outcome{Status: 409, Code: "idempotency_conflict", Pending: true}, call: func(t *testing.T, w *world) error {
			must(w.Client.CreateCard(w.ctx, "one-key-for-two", service.NewCard{BoardID: w.board, StageID: w.lead, Title: "one"}))(t)
			_, err := w.Client.CreateCard(w.ctx, "one-key-for-two", service.NewCard{BoardID: w.board, StageID: w.lead, Title: "two"})
			return err
		}},
		{name: "413 refused before it leaves", want: outcome{Status: 413, Code: "body_too_large", Local: true}, call: func(_ *testing.T, w *world) error {
			_, err := w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: long})
			return err
		}},
		{name: "428 an edit without a version", want: outcome{Status: 428, Code: "version_required"}, call: func(_ *testing.T, w *world) error {
			_, err := w.UpdateCard(w.ctx, w.card, "", service.CardPatch{Title: service.Set("x")})
			return err
		}},
		{name: "428 a move without a version", want: outcome{Status: 428, Code: "version_required"}, call: func(_ *testing.T, w *world) error {
			_, err := w.Client.MoveCard(w.ctx, uuid.NewString(), w.card, "", w.won)
			return err
		}},
		{name: "429 with Retry-After", want: outcome{Status: 429, Code: "rate_limited", RetryAfter: 30 * time.Second}, temporary: true, call: func(_ *testing.T, w *world) error {
			return w.struck("GET /team", sandbox.Fault{Kind: "status_before", Status: 429, RetryAfter: 30})
		}},
		{name: "429 under a pause that is longer than the call may wait", want: outcome{Status: 429, Code: "rate_limited", Local: true}, temporary: true, call: func(_ *testing.T, w *world) error {
			hasty := w.client(w.APIKey(), func(o *service.Options) { o.MaxWait = -1 })
			hasty.Limiter().Pause(time.Now().Add(time.Minute))
			_, err := hasty.Me(w.ctx)
			return err
		}},
		{name: "503 with Retry-After", want: outcome{Status: 503, Code: "unavailable", RetryAfter: 7 * time.Second}, temporary: true, call: func(_ *testing.T, w *world) error {
			return w.struck("GET /team", sandbox.Fault{Kind: "status_before", RetryAfter: 7})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			err := tt.call(t, w)
			e := refused(t, err)
			got := outcomeOf(e)
			if tt.want.Local && tt.want.Status == 429 {
				if got.RetryAfter < 50*time.Second || got.RetryAfter > time.Minute {
					t.Errorf("retry after %v", got.RetryAfter)
				}
				got.RetryAfter = 0
			}
			same(t, e.Error(), got, tt.want)
			want(t, "temporary", service.IsTemporary(err), tt.temporary)
			want(t, "a version conflict", service.IsVersionConflict(err), tt.want.Code == service.CodeVersionConflict)
			if !tt.want.Local && (e.Message == "" || w.wire.last().status != tt.want.Status) {
				t.Errorf("the last answer was %d; the message is %q", w.wire.last().status, e.Message)
			}
		})
	}
}

// struck makes a call while a fault lies in wait for it.
func (w *world) struck(op string, f sandbox.Fault) error {
	w.t.Helper()
	f.Operation, f.Count = op, 1
	noError(w.t, w.AddFault(f))
	return calls[op](w.ctx, w.Client, w)
}

// The sandbox keeps the limit of 64 KiB too: a caller that does not look at it is refused there.
func TestTooLargeForTheService(t *testing.T) {
	w := newWorld(t)
	send := func(size int) int {
		head, tail := `{"client_id":"`+uuid.NewString()+`","text":"`, `"}`
		body := head + strings.Repeat("x", size-len(head)-len(tail)) + tail
		req := must(http.NewRequestWithContext(w.ctx, http.MethodPost, w.base+"/conversations/"+w.conversation+"/messages", strings.NewReader(body)))(t)
		req.Header.Set("Authorization", "Bearer "+w.APIKey())
		req.Header.Set("Content-Type", "application/json")
		res, err := w.wire.RoundTrip(req)
		noError(t, err)
		defer res.Body.Close()
		return res.StatusCode
	}
	want(t, "the answer to 64 KiB and a byte", send(64<<10+1), http.StatusRequestEntityTooLarge)
	want(t, "the answer to 64 KiB", send(64<<10), http.StatusCreated)

	// The client lets through exactly what the service takes. What surrounds the text is counted by
	// sending a short one.
	overhead := 64<<10 - longestText(t, w)
	if overhead < 60 || overhead > 80 {
		t.Errorf("a message takes %d bytes beside its text", overhead)
	}
}

// longestText finds the length of the longest text that the client sends and the service takes.
func longestText(t *testing.T, w *world) int {
	t.Helper()
	for n := 64 << 10; ; n-- {
		_, err := w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: strings.Repeat("x", n)})
		if err == nil {
			return n
		}
		if e := refused(t, err); !e.Local || e.Status != http.StatusRequestEntityTooLarge {
			t.Fatalf("a text of %d bytes: %v", n, err)
		}
	}
}

// What can go wrong with every operation, and what its caller learns of it.
func TestErrorsOfEveryOperation(t *testing.T) {
	forEachOperation(t, func(t *testing.T, w *world, o service.Operation, call func(*service.Client) error) {
		before := len(w.Effects())
		unchanged := func(what string) {
			t.Helper()
			if made := w.effects(before); len(made) > 0 {
				t.Errorf("%s had effects: %v", what, made)
			}
		}
		fails := func(what string, err error, expected outcome) {
			t.Helper()
			e := refused(t, err)
			want(t, what+": the operation", e.Op, o.String())
			same(t, what, outcomeOf(e), expected)
		}

		fails("a key that does not exist", call(w.client("qsk_nobody")), outcome{Status: 401, Code: "unauthorized"})
		revoked := must(w.NewKey(sandbox.NewKey{Scopes: sandbox.Scopes}))(t)
		noError(t, w.RevokeKey(revoked.ID))
		fails("a revoked key", call(w.client(revoked.APIKey)), outcome{Status: 401, Code: "unauthorized"})

		if strings.Contains(o.Path, "{id}") {
			gone := *w
			gone.conversation, gone.message, gone.attendance, gone.contact = absent, absent, absent, absent
			gone.card, gone.media, gone.webhook, gone.board = absent, absent, absent, absent
			err := calls[o.String()](w.ctx, w.Client, &gone)
			fails("an object that is not there", err, outcome{Status: 404, Code: "not_found"})
			want(t, "not found", service.IsNotFound(err), true)
		}

		fault := sandbox.Fault{Operation: o.String(), Count: 1}
		fault.Kind, fault.Status, fault.RetryAfter = "status_before", 429, 30
		noError(t, w.AddFault(fault))
		limited := w.client(w.APIKey()) // a limiter of its own, so that the pause ends here
		fails("a 429", call(limited), outcome{Status: 429, Code: "rate_limited", RetryAfter: 30 * time.Second})
		if left := time.Until(limited.Limiter().PausedUntil()); left < 25*time.Second || left > 30*time.Second {
			t.Errorf("after a 429 the key is paused for %v", left)
		}

		fault.Kind, fault.Status, fault.RetryAfter = "status_before", 503, 0
		noError(t, w.AddFault(fault))
		fails("a 503 before the effect", call(w.Client), outcome{Status: 503, Code: "unavailable", Uncertain: o.Changes()})
		unchanged("a 503 before the effect")

		fault.Kind = "drop_before"
		noError(t, w.AddFault(fault))
		fresh := w.fresh()
		err := call(fresh)
		fails("a connection dropped before the effect", err, outcome{Uncertain: o.Changes()})
		want(t, "temporary", service.IsTemporary(err), true)
		unchanged("a connection dropped before the effect")

		fault.Kind = []string{"status_after", "drop_after"}[len(o.Path)%2] // an operation takes effect but once
		noError(t, w.AddFault(fault))
		expected := outcome{Uncertain: o.Changes()}
		if fault.Kind == "status_after" {
			expected.Status, expected.Code = 503, "unavailable"
		}
		fails("a "+fault.Kind, call(fresh), expected)
		// A test event goes out, but changes nothing.
		if made := w.effects(before); o.Changes() != (len(made) == 1) && o.String() != "POST /integrations/webhooks/{id}/test" {
			t.Errorf("with a %s it had the effects %v", fault.Kind, made)
		}
	})
}

// fresh is a client that keeps no connections: on a kept one a read that is dropped is repeated by
// the transport.
func (d *desk) fresh() *service.Client {
	w := &wire{t: d.t, mount: d.wire.mount, next: &http.Transport{DisableKeepAlives: true}}
	return d.client(d.APIKey(), func(o *service.Options) { o.Transport = w })
}

// A service that takes too long leaves a change uncertain and a read not; the caller's own end is
// no failure of the service.
func TestTimeout(t *testing.T) {
	w := newWorld(t)
	noError(t, w.AddFault(sandbox.Fault{Operation: "*", Kind: "delay", Delay: sandbox.Duration(time.Minute)}))
	hasty := w.client(w.APIKey(), func(o *service.Options) { o.Timeout = 500 * time.Millisecond })
	for _, op := range []string{"GET /team", "POST /conversations/{id}/messages", "POST /kanban/cards/{id}/move"} {
		t.Run(op, func(t *testing.T) {
			err := calls[op](w.ctx, hasty, w)
			e := refused(t, err)
			same(t, e.Error(), outcomeOf(e), outcome{Uncertain: !strings.HasPrefix(op, "GET")})
			want(t, "temporary", service.IsTemporary(err), true)
			want(t, "a deadline", errors.Is(err, context.DeadlineExceeded), true)
			want(t, "message", e.Message, "no answer within 500ms")
		})
	}
	t.Run("the caller gives up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(w.ctx)
		time.AfterFunc(500*time.Millisecond, cancel)
		err := calls["POST /conversations/{id}/messages"](ctx, w.Client, w)
		e := refused(t, err)
		same(t, e.Error(), outcomeOf(e), outcome{Uncertain: true})
		want(t, "temporary", service.IsTemporary(err), false)
	})
	w.ClearFaults()
	t.Run("a short delay is borne", func(t *testing.T) {
		noError(t, w.struck("GET /team", sandbox.Fault{Kind: "delay", Delay: sandbox.Duration(20 * time.Millisecond)}))
	})
}

// A service that is not there has done nothing.
func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	nobody := must(service.New(service.Options{BaseURL: "http://127.0.0.1:1/v1", APIKey: "qsk_x"}))(t)
	err := calls["POST /conversations/{id}/messages"](w.ctx, nobody, w)
	e := refused(t, err)
	same(t, e.Error(), outcomeOf(e), outcome{})
	want(t, "temporary", service.IsTemporary(err), true)
}

// An expired key is refused from the moment on that its time is over.
func TestExpiredKey(t *testing.T) {
	w := newWorld(t)
	key := must(w.NewKey(sandbox.NewKey{ExpiresAt: friday.Add(time.Hour)}))(t)
	c := w.client(key.APIKey)
	w.later(time.Hour - time.Second)
	must(c.Me(w.ctx))(t)
	w.later(time.Second)
	_, err := c.Me(w.ctx)
	e := refused(t, err)
	same(t, e.Error(), outcomeOf(e), outcome{Status: 401, Code: "unauthorized"})
	want(t, "refused", service.IsRefused(err), true)
}
