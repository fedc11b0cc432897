package console

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// everyPage are the addresses of a desk after its story.
func (d *desk) everyPage() []string {
	list := []string{
		"/", "/rules", "/rules/default/remind", "/rules/default/broken", "/rules/default/tell-erp", "/runs", "/runs?state=failed&rule=breaks&since=24h", "/events", "/events?type=message.received&rule=greet",
		"/conversations", "/conversations?q=Marina", "/conversations?q=" + url.QueryEscape(hostile), conversationLink("default", d.laneOf("Marina")), conversationLink("default", d.laneOf("7777 6666")),
		"/variables", "/deleted", "/calendars", "/calendars/default/office?span=x", "/health", "/audit", "/calendars/default/office?at=" + url.QueryEscape(hostile) + "&span=" + url.QueryEscape(hostile), "/rules", "/rules/default/strange",
	}
	for _, c := range d.Overview(50, sandbox.ID{}).Conversations {
		list = append(list, "/simulator?with="+c.ID.String())
	}
	for _, rule := range []string{"greet", "watch", "breaks", "tell-erp", "remind"} {
		list = append(list, "/runs/"+itoa(d.runOf(rule)))
	}
	for _, e := range must(d.journal.ListEvents(d.t.Context(), journal.EventFilter{})) {
		list = append(list, "/events/"+itoa(e.Seq))
	}
	return list
}

// newHostileDesk starts a desk on which everything that others name or write is hostile: customers,
// their texts, cards, people, sectors, stages, rules, reasons, errors.
func newHostileDesk(t *testing.T) *desk {
	t.Helper()
	d := newPlayground(t, func(o *Options) {
		o.Names = func(_, id string) string {
			if len(id) == 36 {
				return hostile
			}
			return ""
		}
		o.Checks = func(context.Context) []Check {
			return []Check{{Workspace: "default", Kind: CheckService, Detail: hostile, Version: hostile}, {Workspace: "default", Kind: CheckKey, OK: true, Detail: hostile, Scopes: []string{hostile}}, {Workspace: "default", Kind: CheckWebhook, Detail: hostile, Delivery: hostile, At: friday, Mends: true}, {Workspace: "default", Kind: CheckSubscription, Detail: hostile, Events: hostile, Missing: hostile, At: friday}}
		}
	})
	d.story()
	d.explains()
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	strange := rules.Parse("strange.yaml", []byte("rules:\n  - id: strange\n    name: "+strconv.Quote(hostile)+"\n    description: "+strconv.Quote(hostile)+"\n    when: message.received\n    if: message.text == "+strconv.Quote(strconv.Quote(hostile))+"\n    do:\n      - log: "+strconv.Quote(strings.ReplaceAll(hostile, "{{.Version}}", ""))+"\n"))
	if d.set, _ = rules.Compile(append(d.files, strange), rules.Options{Catalog: builtin.Catalog()}); d.set.Rule("strange") == nil {
		t.Fatalf("%v", d.set.Broken)
	}
	if err := d.engine.SetRules("default", d.set); err != nil {
		t.Fatal(err)
	}
	doc := must(json.Marshal(map[string]any{
		"people": []any{map[string]any{"name": hostile}}, "sectors": []any{map[string]any{"name": hostile}}, "boards": []any{map[string]any{"name": hostile, "stages": []any{map[string]any{"name": hostile}}}},
	}))
	if err := d.AddState(doc); err != nil {
		t.Fatal(err)
	}
	must(d.CreateCard(sandbox.NewCard{Board: hostile, Title: hostile, Contact: bento}))
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: bento, To: hostile, Sector: hostile}))
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: bento, Person: hostile, Text: hostile}))
	d.rest()
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"watch"}, "reason": {hostile}})
	d.ask("POST", "/simulator/jump", url.Values{"length": {"1m"}})
	if w := d.ask("POST", "/simulator/answer", url.Values{"with": {"nobody " + hostile}, "text": {hostile}}); w.Code != http.StatusConflict || strings.Contains(w.Body.String(), "<img") || strings.Contains(w.Body.String(), "\u202e") {
		t.Errorf("an error shows what was written: %d %s", w.Code, w.Body)
	}
	return d
}

// TestEveryPage shows that every page is there in both languages, all of it in words, and that
// nothing that a customer wrote is more than a text.
func TestEveryPage(t *testing.T) {
	d := newHostileDesk(t)
	for _, path := range d.everyPage() {
		for _, l := range words.Languages {
			text := d.page(path, func(r *http.Request) { r.Header.Set("Accept-Language", l.Tag) })
			if !strings.Contains(text, `<html lang="`+l.Tag+`"`) {
				t.Errorf("%s is not in %s", path, l.Name)
			}
			for what, forbidden := range map[string]string{
				"a message is missing": "⟦", "markup of a customer": "<img", "a script of a customer": "<script>", "a letter that turns around": "\u202e", "a letter that isolates": "\u2066", "a control character": "\x1b",
				"a character that is none": "\x00", "a secret": "swordfish", "a template of a customer": "v1.2.3}}", "an end of a line that is none": "\u2028",
				"an error of a template": "ZgotmplZ", "a format that is wrong": "%!",
			} {
				if at := strings.Index(text, forbidden); at >= 0 {
					t.Errorf("%s, %s: %s: …%s", path, l.Code, what, text[max(0, at-80):min(len(text), at+80)])
				}
			}
			if strings.Contains(text, `onerror="document`) || strings.Contains(text, "v1.2.3\"'>") {
				t.Errorf("%s: what a customer wrote is taken for more than a text", path)
			}
		}
	}
}

// TestToday shows what needs a person, and how it is mended.
func TestToday(t *testing.T) {
	d := newDesk(t)
	d.story()
	d.page("/") // which starts a check
	var text string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text = d.page("/"); strings.Contains(text, "it was deactivated") {
			break
		}
	}
	uncertain, failed := itoa(d.runOf("tell-erp")), itoa(d.runOf("breaks"))
	for _, want := range []string{
		"nobody knows whether a call arrived", `action="/runs/` + uncertain + `/done"`, `action="/runs/` + uncertain + `/repeat"`, `action="/failed/retry"`, `name="runs" value="` + failed + `"`,
		"The rule “broken” is not in use as it is written", "unknown name", "Events do not arrive by the webhook of the workspace default",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if got, want := figures(text), (map[string]string{"times a rule started": "9", "messages and changes": "4", "failures": "1"}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if w := d.ask("POST", "/runs/"+uncertain+"/done", url.Values{"back": {"/?x=1"}, "reason": {"I looked"}}); w.Code != 303 || w.Header().Get("Location") != "/?said=asked&x=1" {
		t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
	}
	if text := d.page("/runs/" + uncertain); !strings.Contains(text, "the call is to be taken as done") {
		t.Error("the run does not say what is asked of it")
	}
	d.rest()
	if r := must(d.journal.FindRun(t.Context(), d.runOf("tell-erp"))); r.State != journal.Done {
		t.Errorf("the run is %s", r.State)
	}
	if w := d.ask("POST", "/runs/"+uncertain+"/done", url.Values{}); w.Code != http.StatusConflict {
		t.Errorf("what cannot be asked: %d", w.Code)
	}
	entries := must(d.journal.Audits(t.Context(), 0, 10))
	if len(entries) != 1 || entries[0].Who != "local" || entries[0].What != "done" || entries[0].Detail != "I looked" || !strings.Contains(entries[0].Subject, "default/tell-erp") {
		t.Errorf("%+v", entries)
	}
	if text := d.page("/audit"); !strings.Contains(text, "I looked") {
		t.Error("the audit page does not tell")
	}
}

var figureParts = regexp.MustCompile(`<span class="figure">([^<]*)</span> <span>([^<]*)</span>`)

func figures(page string) map[string]string {
	found := map[string]string{}
	for _, m := range figureParts.FindAllStringSubmatch(page, -1) {
		found[m[2]] = m[1]
	}
	return found
}

// TestStopEverything shows that nothing is sent while everything is stopped, and all of it
// afterwards.
func TestStopEverything(t *testing.T) {
	d := newDesk(t)
	before := len(d.Effects())
	d.ask("POST", "/pause", url.Values{"reason": {"the price list is wrong"}, "back": {"/"}})
	d.says(marina, "Marina", "hello")
	if got := len(d.Effects()) - before; got != 0 {
		t.Errorf("%d effects while everything is stopped", got)
	}
	text := d.page("/")
	if !strings.Contains(text, "Everything is stopped") || !strings.Contains(text, "the price list is wrong") || !strings.Contains(text, `action="/resume"`) || strings.Contains(text, `action="/pause"`) {
		t.Error("the page does not say that everything is stopped")
	}
	d.ask("POST", "/resume", url.Values{"back": {"/"}})
	d.rest()
	if got := len(d.Effects()) - before; got == 0 {
		t.Error("nothing goes on")
	}
}

// TestStopAtOnce shows that the button stops a run between its steps, and that nothing is lost or
// done twice when it resumes.
func TestStopAtOnce(t *testing.T) {
	for _, about := range []url.Values{{}, {"workspace": {"default"}}, {"workspace": {"default"}, "rule": {"greet"}}} {
		d := newDesk(t)
		d.called = func() {
			d.called = nil
			d.ask("POST", "/pause", about)
		}
		d.says(marina, "Marina Souza", "Oi")
		if got := operations(d); !slices.Equal(got, []string{"POST /conversations/{id}/messages"}) {
			t.Errorf("%v: after the stop there was %v", about, got)
		}
		d.ask("POST", "/resume", about)
		d.rest()
		if got := operations(d); !slices.Equal(got, []string{"POST /conversations/{id}/messages", "PATCH /conversations/{id}"}) {
			t.Errorf("%v: when it went on there was %v", about, got)
		}
	}
}

// operations lists what was done to conversations.
func operations(d *desk) (list []string) {
	for _, e := range d.Effects() {
		if strings.Contains(e.Operation, "/conversations/") {
			list = append(list, e.Operation)
		}
	}
	return list
}

// TestRulePage shows a rule in words, why it did not fire, and how it is stopped.
func TestRulePage(t *testing.T) {
	d := newDesk(t)
	d.story()
	text := d.page("/rules/default/never")
	for _, want := range []string{"a customer writes", `the message is exactly </span><span class="chip">xyzzy</span>`, "Send a message", "At most 5 automatic messages to one conversation in 10 min"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	text = d.page("/rules/default/greet")
	if !strings.Contains(text, "Everybody gets an answer at once.") || !strings.Contains(text, "/runs/"+itoa(d.runOf("greet"))) || !strings.Contains(text, "At most") || !strings.Contains(text, "a condition was not true") {
		t.Error("the page of a rule does not tell enough")
	}
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"greet"}, "reason": {"too friendly"}})
	if text := d.page("/rules/default/greet"); !strings.Contains(text, "too friendly") || !strings.Contains(text, `action="/resume"`) {
		t.Error("a paused rule does not say so")
	}
	if text := d.page("/rules"); !strings.Contains(text, `badge held`) {
		t.Error("the list does not say that a rule is paused")
	}
	// The same button resumes a rule that was stopped at a safety bound.
	if _, err := d.journal.Hold(t.Context(), journal.Hold{Workspace: "default", Rule: "greet", Kind: journal.HoldSafety, Since: d.clock()}); err != nil {
		t.Fatal(err)
	}
	d.ask("POST", "/resume", url.Values{"workspace": {"default"}, "rule": {"greet"}})
	if holds := must(d.journal.Holds(t.Context())); len(holds) > 0 {
		t.Errorf("it is still stopped: %v", holds)
	}
}

// TestEventPage shows why each rule fired or did not.
func TestEventPage(t *testing.T) {
	d := newDesk(t)
	d.story()
	events := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))
	text := d.page("/events/" + itoa(events[len(events)-1].Seq))
	for _, want := range []string{"Greet whoever writes</a> <span class=\"badge outcome-fired\">fired", "Oi, tudo bem?", "it is a draft", "it starts with something else: an attendance is opened", "Only for the magic word"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	asked := ""
	d.options.Explain = func(_ context.Context, e *journal.Event, _ rules.Language) ([]Explanation, error) {
		asked = e.ID
		return []Explanation{{Rule: "never", Outcome: journal.False, Clauses: []Clause{{Text: "x == 1", Result: "false", Values: map[string]any{"x": 2.0}, Words: "x was 2, not 1"}}}}, nil
	}
	d.console = must(New(d.options))
	if text := d.page("/events/" + itoa(events[0].Seq)); asked != events[0].ID || !strings.Contains(text, "x was 2, not 1") {
		t.Error("who explains is not asked")
	}
}

// TestRunPage shows a run with what was sent, and its waits.
func TestRunPage(t *testing.T) {
	d := newDesk(t)
	d.story()
	oldest := func(rule string) string {
		runs := must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: rule}))
		return "/runs/" + itoa(runs[len(runs)-1].ID)
	}
	text := d.page(oldest("greet"))
	for _, want := range []string{
		`<p class="headline"><bdi>Marina Souza: sent “Olá, Marina Souza! Já vamos responder.”, label vip</bdi></p>`, "<bdi>wrote “Oi, tudo bem? ⏎ Preciso de ajuda.”</bdi>", "the conversation is with one person",
		"Sent", "Answer", "/1</code>", `<li class="taken">`, `conversation.kind == &#34;direct&#34;`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	text = d.page("/runs/" + itoa(d.runOf("remind")))
	if !strings.Contains(text, "waits until tomorrow 10:5") || !strings.Contains(text, `<li class="here">`) || !strings.Contains(text, `<li class="untaken">`) || !strings.Contains(text, `/cancel"`) {
		t.Error("a run that waits does not say until when")
	}
	if text := d.page(oldest("watch")); !strings.Contains(text, "would send to Marina Souza: “How do you like us, Marina Souza?”") || !strings.Contains(text, "How do you like us") {
		t.Error("a shadow run does not say what it would have done")
	}
}

// TestLists shows filters and pages of lists.
func TestLists(t *testing.T) {
	d := newDesk(t)
	var batch []rules.Event
	for i := range 3 * listSize {
		e := rules.Event{Workspace: "default", ID: "e" + strconv.Itoa(i), Type: "message.received", Lane: "conversation:c", CreatedAt: friday, ReceivedAt: friday}
		if i == 1 {
			e.Type = "attendance.closed"
		}
		batch = append(batch, e)
	}
	must(d.journal.Accept(t.Context(), batch))
	rows := func(text string) int { return strings.Count(text, "<li data-row=") }
	text := d.page("/events")
	if got := rows(text); got != listSize || !strings.Contains(text, `hx-get="/events`) {
		t.Errorf("the first page has %d events", got)
	}
	older := regexp.MustCompile(`href="(/events\?before=[^"]*)"`)
	text = d.page(older.FindStringSubmatch(text)[1])
	if got := rows(text); got != listSize || strings.Contains(text, `hx-get="/events`) {
		t.Errorf("the second page has %d events, or moves under one's eyes", got)
	}
	text = d.page(older.FindStringSubmatch(text)[1])
	if got := rows(text); got != listSize || older.MatchString(text) {
		t.Errorf("the last page has %d events", got)
	}
	if got := rows(d.page("/events?type=attendance.closed")); got != 1 {
		t.Errorf("a filter found %d events", got)
	}
	if w := d.ask("GET", "/runs?id=17", nil); w.Header().Get("Location") != "/runs/17" {
		t.Error("a run is not found by its number")
	}
}

// TestConversations shows that people are found, and what is shown of them.
func TestConversations(t *testing.T) {
	d := newDesk(t)
	d.story()
	for _, q := range []string{"marina", "souza mar", "98888-7777", "ATD-000001"} {
		if text := d.page("/conversations?q=" + url.QueryEscape(q)); !strings.Contains(text, "Marina Souza") || strings.Contains(text, "img src") {
			t.Errorf("%s does not find Marina alone", q)
		}
	}
	lane := d.laneOf("Marina")
	if w := d.ask("GET", "/conversations?q="+url.QueryEscape(strings.TrimPrefix(lane, "conversation:")), nil); w.Header().Get("Location") != conversationLink("default", lane) {
		t.Error("a conversation is not found by its id")
	}
	text := d.page(conversationLink("default", lane))
	asked, answered := strings.Index(text, "Preciso de ajuda."), strings.Index(text, "Olá, Marina Souza! Já vamos responder.")
	if asked < 0 || answered < asked || !strings.Contains(text[answered:], "Greet whoever writes") || !strings.Contains(text, `class="said-line engine"`) {
		t.Error("the conversation is not told in order, or without who answered")
	}
}

// TestLongConversation shows that everything of a conversation can be reached, and that one endless
// message does not bury the others.
func TestLongConversation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	d := newDesk(t)
	var batch []rules.Event
	for i := range conversationEvents + 5 {
		text := "message " + strconv.Itoa(i) + "."
		if i == conversationEvents {
			text = strings.Repeat("é", 30_000) + " the end"
		}
		batch = append(batch, rules.Event{
			Workspace: "default", ID: "e" + strconv.Itoa(i), Type: "message.received", Lane: "conversation:c", CreatedAt: friday.Add(time.Duration(i) * time.Second), ReceivedAt: friday,
			Data: map[string]any{"message": map[string]any{"id": "m" + strconv.Itoa(i), "text": text, "direction": "inbound"}, "conversation": map[string]any{"id": "c", "kind": "direct"}},
		})
	}
	must(d.journal.Accept(t.Context(), batch))
	d.rest()
	text := d.page(conversationLink("default", "conversation:c"))
	if strings.Contains(text, "message 4.") || !strings.Contains(text, "message 5.") || !strings.Contains(text, "message 204.") {
		t.Error("the newest are not shown, or more than those")
	}
	before, after, found := strings.Cut(text, `<details class="rest">`)
	if !found || strings.Count(before, "é") > 1200 || !strings.Contains(after, "é the end") || strings.Contains(text, "\ufffd") {
		t.Error("a long message is not parted")
	}
	older := regexp.MustCompile(`href="(/conversation\?[^"]*before=[^"]*)"`).FindStringSubmatch(text)
	if older == nil {
		t.Fatal("nothing leads to what is older")
	}
	text = d.page(html.UnescapeString(older[1]))
	if !strings.Contains(text, "message 0.") || !strings.Contains(text, "message 4.") || strings.Contains(text, "message 5.") || strings.Contains(text, `hx-get="/conversation`) {
		t.Error("what is older is not shown, or more than that")
	}
}

// TestCalendars shows when a desk is open, in this week and others, and answers questions.
func TestCalendars(t *testing.T) {
	d := newDesk(t)
	for path, wants := range map[string][]string{
		"/calendars":                                    {"open until 18:00", "in 10 min", "09:00–13:00", "used by 1 rule", `href="/rules/default/remind"`},
		"/calendars/default/office":                     {"Week of 9 Nov", "15m of office from now would end: tomorrow 09:05.", "Proclamação da República"},
		"/calendars/default/office?span=1h":             {"1h of office from now would end: tomorrow 09:50."},
		"/calendars/default/office?week=2026-12-25":     {"Week of 21 Dec", "<bdi>Natal</bdi>", `href="/calendars/default/office?week=2026-12-28"`},
		"/calendars/default/office?at=2026-11-16T12:30": {"No: on Monday, 16 Nov it is open 08:00–12:00 and 13:30–18:00."},
		"/calendars/default/office?at=2026-12-25T10:00": {"No: Friday, 25 Dec is a holiday, Natal."},
		"/calendars/default/office?at=soon":             {"Write a day and a time."},
	} {
		text := timed(d.page(path))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is missing", path, want)
			}
		}
	}
	if w := d.ask("GET", "/calendars/default/nothing", nil); w.Code != http.StatusNotFound {
		t.Errorf("a calendar that is not there: %d", w.Code)
	}
}

// TestNames shows that people see names where they are known.
func TestNames(t *testing.T) {
	d := newDesk(t, func(o *Options) {
		o.Names = func(_, id string) string {
			if len(id) == 36 {
				return "the thing called " + id[:4]
			}
			return ""
		}
	})
	d.story()
	if text := d.page("/runs/" + itoa(d.runOf("greet"))); !strings.Contains(text, "the thing called") {
		t.Error("ids are shown although their names are known")
	}
}

// TestViewer shows that a viewer sees no button that is not his.
func TestViewer(t *testing.T) {
	d := newDesk(t, guarded)
	d.story()
	session, _ := d.enters("vera", "correct horse")
	for _, path := range []string{"/", "/rules/default/greet", "/runs/" + itoa(d.runOf("tell-erp")), "/health"} {
		if text := d.page(path, session); regexp.MustCompile(`action="/(pause|resume|runs/\d+/)`).MatchString(text) {
			t.Errorf("%s offers a viewer what he may not do", path)
		}
	}
}

// TestMute: a person mutes a conversation on its page, which says so, and lets rules write again.
func TestMute(t *testing.T) {
	d := newDesk(t)
	d.story()
	lane := d.laneOf("Marina")
	page := conversationLink("default", lane)
	if text := d.page(page); !strings.Contains(text, "<summary>Mute</summary>") || strings.Contains(text, "Unmute") {
		t.Errorf("the page does not offer to mute:\n%s", text)
	}
	mute := func(length string, status int) {
		t.Helper()
		w := d.ask("POST", "/mute", url.Values{"workspace": {"default"}, "lane": {lane}, "for": {length}, "back": {page}})
		if w.Code != status {
			t.Fatalf("mute for %s: %d %s", length, w.Code, w.Body)
		}
	}
	mute("1d", http.StatusSeeOther)
	m := must(d.journal.Muted(t.Context(), "default", lane, d.clock()))
	if m == nil || m.Rule != "" || !m.Until.Equal(d.clock().Add(24*time.Hour)) {
		t.Errorf("muted: %+v", m)
	}
	if text := d.page(page); !strings.Contains(text, "Muted</strong> by a person, since") || !strings.Contains(text, "Unmute</button>") {
		t.Errorf("the page does not say that it is muted:\n%s", text)
	}
	mute("forever", http.StatusBadRequest)
	mute("off", http.StatusSeeOther)
	if m := must(d.journal.Muted(t.Context(), "default", lane, d.clock())); m != nil {
		t.Errorf("still muted: %+v", m)
	}
	if err := d.journal.Mute(t.Context(), journal.MuteChange{Mute: journal.Mute{Workspace: "default", Lane: lane, Rule: "greet", Run: 1, Since: d.clock()}}); err != nil {
		t.Fatal(err)
	}
	if text := d.page(page); !strings.Contains(text, "Muted</strong> by the rule") || strings.Contains(text, ", until ") {
		t.Errorf("the page does not say which rule has muted it:\n%s", text)
	}
	if text := d.page("/audit"); !strings.Contains(text, "unmuted") {
		t.Errorf("the audit does not say it:\n%s", text)
	}
}
