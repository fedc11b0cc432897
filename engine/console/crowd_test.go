package console

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
)

// A crowd is months of work of a large desk: its events, each of which starts a run.
type crowd struct {
	events     int
	rules      int
	unfinished int // runs that wait
	failed     int // runs that nobody has dealt with
}

const (
	crowdRare   = "rule-rare"          // fired some times in the first weeks, and never since
	crowdBranch = "branch"             // a workspace in which little happened, long ago
	crowdLong   = "conversation:long"  // has every 200th event
	crowdShort  = "conversation:short" // has five events
	crowdText   = "o boleto venceu ontem"
)

// crowdFrom is the Monday on which the work began. Nothing happens on Sundays.
var crowdFrom = time.Date(2026, 7, 13, 0, 0, 0, 0, saoPaulo)

// at returns when an event comes: they are spread evenly over the days of work, until friday.
func (c crowd) at(i int) time.Time {
	const days = 17*6 + 4 // from Monday to friday, without Sundays
	worked := days*24*time.Hour + friday.Sub(friday.Truncate(24*time.Hour))
	since := worked / time.Duration(c.events) * time.Duration(i+1)
	day := int(since / (24 * time.Hour))
	return crowdFrom.AddDate(0, 0, day/6*7+day%6).Add(since % (24 * time.Hour))
}

// every reports whether an event is one of so many that are spread over all of them.
func (c crowd) every(i, of, many int) bool {
	return many > 0 && i%max(c.events/many, 1) == of%max(c.events/many, 1) && i/max(c.events/many, 1) < many
}

// event returns an event as it comes.
func (c crowd) event(i int) *journal.Event {
	at, person := c.at(i), i*7919%20_000
	lane, name := fmt.Sprint("conversation:", person), fmt.Sprintf("Maria Silva Customer %d", person)
	e := &journal.Event{Decided: true, Event: rules.Event{
		Workspace: "default", ID: fmt.Sprintf("event-%016x", uint64(i)*0x9e3779b97f4a7c15), Type: "message.received", CreatedAt: at, ReceivedAt: at,
	}}
	text := "good morning, is anybody there?"
	switch {
	case c.every(i, 5, c.unfinished): // a conversation of its own
		lane, name = fmt.Sprint("conversation:waits-", i), fmt.Sprint("Bento Alves ", i)
	case c.every(i, 2, 5):
		lane, name = crowdShort, "Zacarias Poucas"
	case i%200 == 7:
		lane, name = crowdLong, "Zuleica Muitas"
	case i < c.events/2 && c.every(i, 11, 40):
		e.Workspace = crowdBranch
	case i%9973 == 17:
		e.Type = "attendance.closed"
	}
	if i == c.events-3 {
		text = crowdText
	}
	e.Lane = lane
	e.Data = map[string]any{
		"message":      map[string]any{"id": fmt.Sprint("m", i), "text": text, "direction": "inbound"},
		"conversation": map[string]any{"id": strings.TrimPrefix(lane, "conversation:"), "kind": "direct", "label_ids": []any{"a", "b"}},
		"contact":      map[string]any{"id": "p" + lane, "name": name, "phone": fmt.Sprintf("+55119999%05d", person)},
		"attendance":   map[string]any{"protocol": fmt.Sprintf("ATD-%07d", i/8)},
	}
	if e.Type == "attendance.closed" {
		delete(e.Data, "message")
	}
	return e
}

// change decides an event, as an engine does, and takes the run that it starts as far as it comes.
func (c crowd) change(i int, e *journal.Event) *journal.Change {
	rule, state := fmt.Sprint("rule-", i%c.rules), journal.Done
	switch {
	case i < c.events/10 && c.every(i, 13, 200):
		rule = crowdRare
	case c.every(i, 5, c.unfinished):
		state = [...]journal.State{journal.Waiting, journal.Waiting, journal.Held, journal.Waiting, journal.Uncertain}[i/max(c.events/c.unfinished, 1)%40%5]
		if i/max(c.events/c.unfinished, 1)%40 > 4 {
			state = journal.Waiting
		}
	case c.every(i, 3, c.failed):
		state = journal.FailedRun
	case i%100 == 19:
		state = journal.Cancelled
	}
	e.Verdicts = []journal.Verdict{
		{Rule: rule, Outcome: journal.Fired, Version: "v"},
		{Rule: fmt.Sprint("rule-", (i+1)%c.rules), Outcome: journal.False, Clause: `conversation.kind == "direct"`, Values: map[string]any{"conversation.kind": "group"}},
		{Rule: fmt.Sprint("rule-", (i+2)%c.rules), Outcome: journal.Limited, Error: "limit: 1 per 12h"},
	}
	at := e.ReceivedAt
	r := &journal.Run{
		Key: e.Workspace + "/" + rule + "/" + e.ID, Workspace: e.Workspace, Rule: rule, Version: "v", Home: e.Lane, Lane: e.Lane, By: e.ID, State: state, Stage: rules.Live, StartedAt: at,
		Steps: []*journal.Step{
			{Path: "1", Verb: "send_message", Key: "k1", State: journal.StepDone, Attempts: 1, Record: []byte(`{"at":"2026-11-13T20:50:00Z","ended":"2026-11-13T20:50:01Z","receipts":[{"call":"send","answer":{"id":"m"}}],"sent":[{"call":"send","request":{"text":"we are closed"}}]}`)},
			{N: 1, Path: "2", Verb: "add_labels", Key: "k2", State: journal.StepDone, Attempts: 1},
		},
	}
	switch state {
	case journal.FailedRun:
		r.Reason, r.Steps[1].State, r.Steps[1].Error = "the label is gone", journal.StepFailed, "the label is gone"
	case journal.Waiting:
		r.WakeAt = friday.Add(24 * time.Hour)
	case journal.Uncertain:
		r.Steps[1].State = journal.StepUncertain
	}
	if state.Finished() {
		r.FinishedAt = at.Add(time.Second)
	}
	return &journal.Change{At: at, Fresh: e, Decided: []*journal.Event{e}, Release: true, Starts: []*journal.Start{{Run: r, Mode: rules.Parallel, Source: "source", Verdict: &e.Verdicts[0]}}}
}

// fill records all of it, in its order. A journal that has some of it gets the rest.
func (c crowd) fill(tb testing.TB, j *sqlite.Journal) {
	tb.Helper()
	began := time.Now()
	next := make(chan int)
	var group sync.WaitGroup
	for range max(min(c.events/5000, 64), 1) { // many share a transaction; of few none may overtake another
		group.Go(func() {
			for i := range next {
				e := c.event(i)
				l := j.Open(e.Workspace, e.Lane)
				if l == nil {
					tb.Errorf("%s is occupied", e.Lane)
					continue
				}
				if err := j.Save(tb.Context(), l, c.change(i, e)); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	for i := int(must(j.Extent(tb.Context())).Events); i < c.events && !tb.Failed(); i++ {
		next <- i
	}
	close(next)
	group.Wait()
	recorded := time.Since(began)
	for must(j.Follow(tb.Context())) {
	}
	tb.Logf("%d events and runs of %d rules were recorded in %s, and the people in them were taken up in %s", c.events, c.rules, recorded.Round(time.Second), (time.Since(began) - recorded).Round(time.Second))
}

// set returns the rules of the desk.
func (c crowd) set(tb testing.TB) *rules.Set {
	tb.Helper()
	files := []*rules.File{rules.Parse("office.yaml", []byte("calendars:\n  office:\n    timezone: America/Sao_Paulo\n    open: { mon-fri: [08:00-12:00, 13:30-18:00] }\nrules:\n  - id: "+crowdRare+"\n    when: message.received\n    do: [{ log: x }]\n"))}
	for from := 0; from < c.rules; from += 500 {
		var text strings.Builder
		text.WriteString("rules:\n")
		for i := from; i < min(from+500, c.rules); i++ {
			fmt.Fprintf(&text, "  - id: rule-%d\n    name: Answer number %d of the desk\n    tags: [team %d]\n    when: message.received\n    if: [conversation.kind == \"direct\", 'not closed(\"office\")']\n    do: [{ send_message: \"Hello {{ contact.name }}\" }, { add_labels: [a] }]\n", i, i, i%40)
		}
		files = append(files, rules.Parse(fmt.Sprintf("rules-%d.yaml", from), []byte(text.String())))
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		tb.Fatal(problems)
	}
	return set
}

// paths are the addresses of all pages that show what is recorded, by what they are called.
func (c crowd) paths(tb testing.TB, j *sqlite.Journal) [][2]string {
	tb.Helper()
	last := must(j.Extent(tb.Context())).Runs
	failed := must(j.ListRuns(tb.Context(), journal.RunFilter{State: journal.FailedRun, Limit: 1}))[0].ID
	waits := must(j.ListRuns(tb.Context(), journal.RunFilter{State: journal.Waiting, Limit: 1}))[0]
	list := [][2]string{
		{"Today", "/"},
		{"Activity", "/activity"},
		{"… older", fmt.Sprintf("/activity?before=%d.%d", last/2, last/2)},
		{"… with what no rule asked for", "/activity?noise=1"},
		{"… of a rule", "/activity?rule=rule-7"},
		{"… of a rule that fired long ago", "/activity?rule=" + crowdRare},
		{"… of no rule", "/activity?rule=no-such-rule"},
		{"… of a customer", "/activity?workspace=default&lane=conversation%3A17"},
		{"… of a customer with many events", "/activity?workspace=default&lane=" + crowdLong},
		{"… of a customer by name", "/activity?customer=Zacarias"},
		{"… of a branch", "/activity?workspace=" + crowdBranch},
		{"… of an hour", "/activity?since=1h"},
		{"… of a month", "/activity?since=30d"},
		{"… of a day", "/activity?day=2026-10-20"},
		{"… of a day without work", "/activity?day=2026-10-18"},
		{"… of a day before all", "/activity?day=2026-07-01"},
		{"… of a day and a rule", "/activity?day=2026-10-20&rule=rule-7"},
		{"… of a day and a rule that was quiet", "/activity?day=2026-10-20&rule=" + crowdRare},
		{"… of a day in a branch", "/activity?workspace=" + crowdBranch + "&day=2026-10-20"},
		{"… of an hour and a rule that was quiet", "/activity?since=1h&rule=" + crowdRare},
		{"Export of it all", "/activity/export"},
		{"Runs", "/runs"},
		{"… older", "/runs?before=" + itoa(last/2)},
		{"… of a rule", "/runs?rule=rule-7"},
		{"… of a rule that failed", "/runs?state=failed&rule=rule-7"},
		{"… of a branch", "/runs?workspace=" + crowdBranch},
		{"… of a branch that failed", "/runs?state=failed&workspace=" + crowdBranch},
		{"… of a week that are done", "/runs?state=done&since=7d"},
	}
	for _, s := range runStates {
		list = append(list, [2]string{"… " + string(s), "/runs?state=" + string(s)}, [2]string{"… " + string(s) + " of a day without work", "/runs?day=2026-10-18&state=" + string(s)}, [2]string{"… " + string(s) + " of a quiet rule", "/runs?state=" + string(s) + "&rule=" + crowdRare})
	}
	return append(list, [][2]string{
		{"Events", "/events"},
		{"… older", "/events?before=" + itoa(last/2)},
		{"… of a rare type", "/events?type=attendance.closed"},
		{"… of a type that never came", "/events?type=card.moved"},
		{"… of a rule", "/events?rule=rule-7"},
		{"… of no rule", "/events?rule=no-such-rule"},
		{"… of a day", "/events?since=24h"},
		{"… of a day of a rare type", "/events?day=2026-10-20&type=attendance.closed"},
		{"… of a day without work", "/events?day=2026-10-18&noise=1"},
		{"Run that is done", "/runs/" + itoa(last-20)},
		{"Run that failed", "/runs/" + itoa(failed)},
		{"Run that waits", "/runs/" + itoa(waits.ID)},
		{"Event", "/events/" + itoa(last)},
		{"Customers", "/conversations"},
		{"… by a name that many have", "/conversations?q=silva"},
		{"… by name", "/conversations?q=maria+customer+17"},
		{"… by phone", "/conversations?q=999900017"},
		{"Customer with 5 events", "/conversation?workspace=default&lane=" + crowdShort},
		{"Customer with many events", "/conversation?workspace=default&lane=" + crowdLong},
		{"Customer whose run waits", "/conversation?workspace=default&lane=" + waits.Home},
		{"Rules", "/rules"},
		{"… found", "/rules?q=number+77"},
		{"… of a team", "/rules?tag=team+7"},
		{"… later", "/rules?from=40"},
		{"Rule", "/rules/default/rule-7"},
		{"… what it did", "/rules/default/rule-7/activity"},
		{"Rule that was quiet", "/rules/default/" + crowdRare},
		{"Search for a name that many have", "/search?q=silva"},
		{"… a name", "/search?q=zacarias"},
		{"… a phone", "/search?q=999900017"},
		{"… a protocol", fmt.Sprintf("/search?q=ATD-%07d", 1000/8)},
		{"… a text", "/search?q=boleto"},
		{"… a rule", "/search?q=number+77"},
		{"… nothing that is there", "/search?q=xyzzyplugh"},
		{"Opening hours", "/calendars"},
		{"… of a calendar", "/calendars/default/office"},
		{"Health", "/health"},
		{"Audit", "/audit"},
		{"Variables", "/variables"},
		{"Deleted rules", "/deleted"},
		{"What is stopped", "/stopping"},
	}...)
}
