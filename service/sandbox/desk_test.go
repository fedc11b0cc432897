package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// friday is where the clock of most tests stands.
var friday = time.Date(2026, 11, 13, 17, 50, 0, 0, time.FixedZone("-03", -3*3600))

// desk is a sandbox behind real HTTP.
type desk struct {
	*sandbox.Sandbox
	t       *testing.T
	base    string
	control string
	key     string
	client  *http.Client
}

// open serves a sandbox on a frozen clock until the test ends.
func open(t *testing.T, change ...func(*sandbox.Options)) *desk {
	t.Helper()
	o := sandbox.Options{Frozen: friday, Seed: 7, AllowLoopback: true}
	for _, c := range change {
		c(&o)
	}
	s, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", http.StripPrefix("/v1", s.Handler()))
	mux.Handle("/control/", http.StripPrefix("/control", s.Control()))
	server := httptest.NewServer(mux)
	// Without kept connections, or the client would repeat dropped requests
	// of its own accord.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() {
		server.Close()
		_ = s.Close()
	})
	return &desk{s, t, server.URL + "/v1", server.URL + "/control", s.APIKey(), client}
}

// reply is an answer, read.
type reply struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   []byte
	err    error
}

// do sends a request with the desk's key. Headers are "Name: value"; one of
// "Authorization:" removes the key.
func (d *desk) do(method, url string, body any, headers ...string) reply {
	d.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			d.t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	request, err := http.NewRequest(method, url, reader)
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+d.key)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		request.Header.Set(name, strings.TrimSpace(value))
	}
	out := reply{t: d.t, call: method + " " + url}
	response, err := d.client.Do(request)
	if err != nil {
		out.err = err
		return out
	}
	defer response.Body.Close()
	out.status, out.header = response.StatusCode, response.Header
	out.body, out.err = io.ReadAll(response.Body)
	return out
}

// api calls an operation: "POST /contacts".
func (d *desk) api(call string, body any, headers ...string) reply {
	d.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	return d.do(method, d.base+path, body, headers...)
}

// act calls the control interface.
func (d *desk) act(call string, body any) reply {
	d.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	return d.do(method, d.control+path, body)
}

// want ends the test unless the status is as expected.
func (r reply) want(status int) reply {
	r.t.Helper()
	if r.err != nil {
		r.t.Fatalf("%s: %v", r.call, r.err)
	}
	if r.status != status {
		r.t.Fatalf("%s: status %d, want %d: %s", r.call, r.status, status, r.body)
	}
	return r
}

// code ends the test unless the answer is an error with this status and code.
func (r reply) code(status int, code string) {
	r.t.Helper()
	r.want(status)
	if got := r.text("code"); got != code {
		r.t.Fatalf("%s: code %q, want %q", r.call, got, code)
	}
	if r.text("message") == "" {
		r.t.Fatalf("%s: the error says nothing: %s", r.call, r.body)
	}
}

// get follows a path such as "data.0.id" into the answer.
func (r reply) get(path string) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		r.t.Fatalf("%s: %v: %s", r.call, err, r.body)
	}
	if path == "" {
		return v
	}
	for _, step := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			child, ok := node[step]
			if !ok {
				r.t.Fatalf("%s: no %q in %s", r.call, path, r.body)
			}
			v = child
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(node) {
				r.t.Fatalf("%s: no %q in %s", r.call, path, r.body)
			}
			v = node[n]
		default:
			r.t.Fatalf("%s: no %q in %s", r.call, path, r.body)
		}
	}
	return v
}

// text is get, as a text; null is "".
func (r reply) text(path string) string {
	r.t.Helper()
	if v := r.get(path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// ids returns the ids of a list's objects.
func (r reply) ids() []string {
	r.t.Helper()
	out := []string{}
	for i := range r.get("data").([]any) {
		out = append(out, r.text(fmt.Sprintf("data.%d.id", i)))
	}
	return out
}

type m = map[string]any

// named returns the id of the object with this name in a list operation.
func (d *desk) named(list, name string) string {
	d.t.Helper()
	r := d.api("GET "+list, nil).want(200)
	objects, ok := r.get("").([]any)
	if !ok {
		objects = r.get("data").([]any)
	}
	for _, o := range objects {
		if o.(m)["name"] == name {
			return o.(m)["id"].(string)
		}
	}
	d.t.Fatalf("%s has no %s: %s", list, name, r.body)
	return ""
}

func (d *desk) channel() string           { return d.named("/channels", "Main") }
func (d *desk) label(name string) string  { return d.named("/labels", name) }
func (d *desk) person(name string) string { return d.named("/team", name) }
func (d *desk) sector(name string) string { return d.named("/sectors", name) }

// stage returns the ids of a board and of one of its stages.
func (d *desk) stage(board, stage string) (string, string) {
	d.t.Helper()
	id := d.named("/kanban/boards", board)
	r := d.api("GET /kanban/boards/"+id, nil).want(200)
	for _, s := range r.get("stages").([]any) {
		if s.(m)["name"] == stage {
			return id, s.(m)["id"].(string)
		}
	}
	d.t.Fatalf("no stage %s on %s", stage, board)
	return "", ""
}

// writes sends a customer's message and returns the resulting ids.
func (d *desk) writes(phone, name, text string) (conversation, message, attendance string) {
	d.t.Helper()
	w, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: name, Text: text})
	if err != nil {
		d.t.Fatal(err)
	}
	return w.Conversation.String(), w.Message.String(), w.Attendance.String()
}

// ana writes, and is the customer of most tests.
func (d *desk) ana() string {
	d.t.Helper()
	conversation, _, _ := d.writes("+5511988887777", "Ana Lima", "hello")
	return conversation
}

// uuid returns a UUID made of the number.
func uuid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// delivery is what a receiver got.
type delivery struct {
	header http.Header
	body   []byte
	at     time.Time // on the sandbox's clock
}

func (d delivery) data(t *testing.T, path string) string {
	t.Helper()
	return reply{t: t, call: "delivery", body: d.body}.text(path)
}

// receiver is a real webhook receiver.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []delivery
	status int
	clock  func() time.Time
}

// receive starts a receiver that answers with a status.
func (d *desk) receive(status int) *receiver {
	r := &receiver{status: status, clock: d.Now}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, delivery{req.Header, body, r.clock()})
		if r.status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(r.status)
	}))
	d.t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery{}, r.got...)
}

func (r *receiver) types() []string {
	out := []string{}
	for _, d := range r.deliveries() {
		out = append(out, d.header.Get("X-Service-Event"))
	}
	return out
}

// subscribe registers the receiver and returns the webhook's id and secret.
func (d *desk) subscribe(r *receiver, events ...string) (id, secret string) {
	d.t.Helper()
	answer := d.api("POST /integrations/webhooks", m{"name": "test", "url": r.URL, "events": events}).want(201)
	return answer.text("id"), answer.text("secret")
}

// settle waits until all deliveries were answered.
func (d *desk) settle() {
	d.t.Helper()
	if err := d.Settle(context.Background()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) advance(by time.Duration) {
	d.t.Helper()
	if _, err := d.Advance(context.Background(), by); err != nil {
		d.t.Fatal(err)
	}
}

// run is t.Run with the desk's failures counted against the subtest.
func (d *desk) run(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		outer := d.t
		d.t = t
		defer func() { d.t = outer }()
		f(t)
	})
}
