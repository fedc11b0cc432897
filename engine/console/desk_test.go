package console

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// friday is ten to six, ten minutes before the office closes.
var friday = time.Date(2026, 11, 13, 17, 50, 0, 0, saoPaulo)

var saoPaulo = must(time.LoadLocation("America/Sao_Paulo"))

const (
	marina, bento = "+5511988887777", "+5511977776666"
	// hostile does nothing on any page: markup, a template, an attribute's end, letters that turn
	// around, control characters.
	hostile = `<img src=x onerror="document.title='owned'">{{.Version}}"'><script>document.title='owned'</script>` + "\u202egnol\u2066\u2028\x1b[2J\x00"
)

const deskRules = `
calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-12:00, 13:30-18:00], sat: [09:00-13:00] }
    holidays: [br]
rules:
  - id: greet
    name: Greet whoever writes
    description: Everybody gets an answer at once.
    when: message.received
    if:
      - conversation.kind == "direct"
      - not (message.text contains "boom")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Olá, {{ contact.name }}! Já vamos responder."
      - add_labels: [vip]
  - id: never
    name: Only for the magic word
    when: message.received
    if: [message.text == "xyzzy", conversation.kind == "direct"]
    do:
      - send_message: Nothing happens.
  - id: remind
    name: Remind after two hours of office time
    when: attendance.opened
    cancel_on: [attendance.closed]
    do:
      - wait: 2h of office
      - choose:
          - if: attendance.status == "open"
            do:
              - send_message: "{{ contact.name }}, ainda estamos aqui."
          - else:
              - log: closed meanwhile
      - for_each:
          in: conversation.label_ids
          as: label
          do:
            - log: "{{ label }}"
  - id: watch
    name: What a survey would ask
    stage: shadow
    when: message.received
    do:
      - send_message: "How do you like us, {{ contact.name }}?"
  - id: breaks
    name: A transfer that fails
    when: message.received
    if: message.text contains "boom"
    do:
      - transfer: { person: Nobody Atall }
  - id: tell-erp
    name: Tell the other system
    when: message.received
    if: message.text contains "erp"
    do:
      - http_request:
          method: POST
          url: "http://%s/hooks/SwordFish0123456789swordfish/orders?api_key=swordfish"
          headers: { Authorization: "Bearer swordfish", X-Customer: swordfish }
          json: { phone: "{{ contact.phone }}", token: swordfish, tokens: [swordfish, { deep: [swordfish] }], password: { of: swordfish } }
  - id: idea
    name: An idea
    stage: draft
    when: manual
    do:
      - log: hello
`

const brokenRules = `
rules:
  - id: broken
    when: message.received
    if: mesage.text == "x"
    do:
      - send_message: hello
`

// A desk is a company in a sandbox with a running engine and a console, all on one simulated clock.
type desk struct {
	*sandbox.Sandbox
	t       testing.TB
	journal *sqlite.Journal
	engine  *engine.Engine
	client  *service.Client
	console *Console
	options Options
	files   []*rules.File
	set     *rules.Set
	folder  string // of rules that can be written; empty is none
	called  func() // what happens when a call has come back; nil is nothing

	mu  sync.Mutex
	now time.Time
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// newDesk starts a desk. A change may alter the options of its console.
func newDesk(t testing.TB, change ...func(*Options)) *desk {
	t.Helper()
	desktest.InTurn(t, 6, "TestLiveEnds", "TestCheckEnds", "TestOneCheckForEach", "TestTwins", "TestStartByHand", "TestTrialsOfOnePerson", "TestNobodyLocksOutOthers")
	d := &desk{t: t, now: friday}
	var address sandbox.Address
	d.Sandbox, address = desktest.Start(t, func(o *sandbox.Options) { o.Frozen = friday })
	d.journal = must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "quando.db"), sqlite.Options{}))
	t.Cleanup(func() { _ = d.journal.Close() })
	d.client = must(service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey), Now: d.clock, MaxWait: -1, Timeout: 5 * time.Second}))
	hang := brokenServer(t)
	d.build(hang)
	desktest.Register(t, d.client, vocabulary.EventTypes(), d.clock, d.engine.Accept)
	d.options = Options{
		Journal: d.journal, Version: "v1.2.3", Now: d.clock, Access: Access{Listen: "127.0.0.1:8081"},
		Workspaces: []Workspace{{
			Name: "default", Location: saoPaulo, Rules: d.book, Catalog: builtin.Catalog(),
			Safety: engine.Safety{PerConversation: duration.Rate{Times: 5, Per: 10 * time.Minute}, Messages: duration.Rate{Times: 2000, Per: time.Hour}},
			Source: func(r *rules.Rule) string { return strings.Repeat("\n", r.Line-1) + "- id: " + r.ID + "\n" },
		}},
		Checks: func(context.Context) []Check {
			return []Check{
				{Workspace: "default", Kind: CheckService, OK: true, Detail: "https://api.example.com/v1", Version: "1.1.0"},
				{Workspace: "default", Kind: CheckKey, OK: true, Detail: "conversations:read", Scopes: []string{"conversations:read", "messages:send"}},
				{Workspace: "default", Kind: CheckWebhook, Detail: "it was deactivated", Mends: true, Delivery: "failed", At: friday},
			}
		},
	}
	d.options.ReloadHolds = func(ctx context.Context, now time.Time) error { return d.engine.ReloadHolds(ctx, now) }
	d.options.Accept = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		return d.engine.Accept(ctx, events...)
	}
	d.options.Mend = func(context.Context, string, CheckKind) error { return nil }
	d.options.Calls = func() (list []Calls) {
		for _, one := range d.client.Calls() {
			list = append(list, Calls{Workspace: "default", Calls: one})
		}
		return list
	}
	d.options.Limits = func() []Limit {
		return []Limit{{Workspace: "default", PerSecond: 20, Until: friday, Asked: friday.Add(-30 * time.Second), Length: 30 * time.Second, Times: 1}}
	}
	d.options.Repairs = func(context.Context) []Repair {
		return []Repair{{Workspace: "default", Looking: true, Part: "messages", Looked: 40, Calls: 3, Found: 1, Counts: map[string]int{"message.received": 1}}}
	}
	for _, f := range change {
		f(&d.options)
	}
	d.console = must(New(d.options))
	t.Cleanup(d.console.Close)
	return d
}

// build makes the engine.
func (d *desk) build(erp string) {
	d.t.Helper()
	w := desktest.Workspace(builtin.Options{Client: d.client, HTTP: []builtin.HTTPHost{{Host: erp}}, Location: saoPaulo}, func() *engine.Engine { return d.engine })
	d.engine = must(engine.New(engine.Options{Journal: d.journal, Observer: d}, w))
	d.files = []*rules.File{rules.Parse("rules.yaml", fmt.Appendf(nil, deskRules, erp)), rules.Parse("broken.yaml", []byte(brokenRules))}
	d.set, _ = rules.Compile(d.files, rules.Options{Catalog: builtin.Catalog()})
	if len(d.set.Rules) != 7 || len(d.set.Broken) != 1 {
		_, problems := rules.Compile(d.files[:1], rules.Options{Catalog: builtin.Catalog()})
		d.t.Fatal(problems)
	}
	if err := d.engine.SetRules("default", d.set); err != nil {
		d.t.Fatal(err)
	}
}

// A desk forwards the engine's notifications to its console.
func (d *desk) Decided(e *journal.Event)               { d.console.Decided(e) }
func (d *desk) Began(r *journal.Run, e *journal.Event) { d.console.Began(r, e) }
func (d *desk) Changed(r *journal.Run)                 { d.console.Changed(r) }
func (d *desk) Called(string, string, time.Duration, error) {
	if d.called != nil {
		d.called()
	}
}
func (d *desk) Held(h journal.Hold)   { d.console.Held(h) }
func (d *desk) Lifted(h journal.Hold) { d.console.Lifted(h) }

// brokenServer accepts requests and breaks the connection: it is uncertain whether they arrived.
func brokenServer(t testing.TB) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// rest lets everything happen that is due now, and what comes of it.
func (d *desk) rest() {
	d.t.Helper()
	for range 60 {
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		next, err := d.engine.Tick(d.t.Context(), d.clock())
		if err != nil {
			d.t.Fatal(err)
		}
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		due := must(d.journal.Due(d.t.Context(), nil))
		if (next.IsZero() || next.After(d.clock())) && (due.IsZero() || due.After(d.clock()) || len(must(d.journal.Holds(d.t.Context()))) > 0) {
			for must(d.journal.Follow(d.t.Context())) {
			}
			return
		}
	}
	d.t.Fatal("it does not come to rest")
}

// pass lets time pass.
func (d *desk) pass(length time.Duration) {
	d.t.Helper()
	d.mu.Lock()
	d.now = d.now.Add(length)
	d.mu.Unlock()
	if _, err := d.SetClock(d.t.Context(), d.clock()); err != nil {
		d.t.Fatal(err)
	}
	d.rest()
}

// says lets a customer write.
func (d *desk) says(phone, name, text string) {
	d.t.Helper()
	if _, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: name, Text: text}); err != nil {
		d.t.Fatal(err)
	}
	d.rest()
}

// hostileOr is a hostile text, and where pictures are taken, which are for people, another one.
func hostileOr(text string) string {
	if *screenshots != "" {
		return text
	}
	return hostile
}

// story lets a day happen with something of everything.
func (d *desk) story() {
	d.t.Helper()
	name, text := hostileOr("Bento Alves"), hostileOr("and nothing else")
	d.says(marina, "Marina Souza", "Oi, tudo bem?\nPreciso de ajuda.")
	d.pass(time.Minute)
	d.says(bento, name, "boom "+text)
	d.pass(time.Minute)
	d.says(bento, name, "please tell the erp")
	d.pass(time.Minute)
	// The broken call is checked after its timeout.
	d.pass(time.Minute)
}

// ask asks the console for something.
func (d *desk) ask(method, path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1:8081"
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	d.console.ServeHTTP(w, r)
	return w
}

// page asks for a page, which must be there.
func (d *desk) page(path string, change ...func(*http.Request)) string {
	d.t.Helper()
	w := d.ask("GET", path, nil, change...)
	if w.Code != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// timed is a page, or a part of it, with its times as their words only.
func timed(text string) string { return timeTags.ReplaceAllString(text, "") }

var timeTags = regexp.MustCompile(`</?time[^>]*>`)

// serve serves the console for a browser.
func (d *desk) serve() string {
	d.t.Helper()
	s := httptest.NewServer(d.console)
	d.t.Cleanup(func() { d.console.Close(); s.Close() })
	if host, _, _ := net.SplitHostPort(s.Listener.Addr().String()); host != "127.0.0.1" {
		d.t.Fatal(host)
	}
	return s.URL
}

// runOf returns the newest run of a rule.
func (d *desk) runOf(rule string) int64 {
	d.t.Helper()
	runs := must(d.journal.ListRuns(d.t.Context(), journal.RunFilter{Rule: rule, Limit: 1}))
	if len(runs) == 0 {
		d.t.Fatalf("there is no run of %s", rule)
	}
	return runs[0].ID
}

// laneOf returns the conversation of a customer.
func (d *desk) laneOf(name string) string {
	d.t.Helper()
	found := must(d.journal.FindLanes(d.t.Context(), name, 1))
	if len(found) == 0 {
		d.t.Fatalf("there is no %s", name)
	}
	return found[0].Lane
}

// book returns the rules as they stand.
func (d *desk) book() Book {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Book{Set: d.set}
}
