package console

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
)

var (
	benchPages   = flag.Int("pages", 20_000, "how many events and runs the journal of BenchmarkPages has")
	benchJournal = flag.String("journal", "", "a file in which that journal is kept for another time, and taken up again")
)

const (
	benchRules = 50
	benchDays  = 30
)

// BenchmarkPages requests every page of a console with a full journal, and reports the slowest too.
func BenchmarkPages(b *testing.B) {
	file := *benchJournal
	if file == "" {
		file = filepath.Join(b.TempDir(), "quando.db")
	}
	j := must(sqlite.Open(b.Context(), file, sqlite.Options{}))
	b.Cleanup(func() { _ = j.Close() })
	fillJournal(b, j, *benchPages)
	var text strings.Builder
	text.WriteString("rules:\n")
	for i := range benchRules {
		fmt.Fprintf(&text, "  - id: rule-%d\n    when: message.received\n    if: [conversation.kind == \"direct\"]\n    do: [{ log: x }]\n", i)
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text.String()))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		b.Fatal(problems)
	}
	c := must(New(Options{
		Journal: j, Now: func() time.Time { return friday }, Access: Access{Listen: "127.0.0.1:8081"},
		Workspaces: []Workspace{{Name: "default", Location: saoPaulo, Rules: func() Book { return Book{Set: set} }}},
	}))
	last := must(j.Extent(b.Context())).Runs
	for _, path := range []string{
		"/", "/rules", "/rules/default/rule-7", "/runs", "/activity", "/activity?day=2026-10-20", "/activity?noise=1&rule=rule-7", "/activity?workspace=default&lane=conversation%3A17", "/runs?rule=rule-7", "/runs?state=waiting", "/runs?state=failed&rule=rule-7", "/runs?state=done&since=7d", "/runs?before=" + itoa(last/2), "/runs/" + itoa(last),
		"/events", "/events?type=attendance.closed", "/events?rule=no-such-rule", "/events?since=24h", "/events?before=" + itoa(last/2), "/events/" + itoa(last),
		"/conversations", "/conversations?q=silva", "/conversations?q=maria+customer+17", "/conversations?q=99990017", "/conversation?workspace=default&lane=conversation%3A17", "/calendars", "/health", "/audit",
		"/search?q=silva", "/search?q=maria+customer+17", "/search?q=99990017", "/search?q=hello+world",
	} {
		b.Run(path, func(b *testing.B) {
			var worst time.Duration
			for b.Loop() {
				began := time.Now()
				r := httptest.NewRequest("GET", path, nil)
				r.Host = "localhost"
				w := httptest.NewRecorder()
				c.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
				worst = max(worst, time.Since(began))
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
		})
	}
}

// fillJournal lets so many events come, each of which starts a run, over a month.
func fillJournal(b *testing.B, j *sqlite.Journal, n int) {
	b.Helper()
	began := time.Now()
	const batch = 2000
	step := benchDays * 24 * time.Hour / time.Duration(n)
	for from := int(must(j.Extent(b.Context())).Events); from < n; from += batch {
		var events []rules.Event
		for i := from; i < min(from+batch, n); i++ {
			events = append(events, benchEvent(i, friday.Add(-time.Duration(n-i)*step)))
		}
		must(j.Accept(b.Context(), events))
		lanes := must(j.Claim(b.Context(), friday, batch, nil))
		var group sync.WaitGroup
		for part := range slices.Chunk(lanes, max(len(lanes)/32, 1)) {
			group.Go(func() {
				for _, l := range part {
					if err := j.Save(b.Context(), l, benchChange(l)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		group.Wait()
	}
	b.Logf("%d events and runs were recorded in %s", n, time.Since(began).Round(time.Second))
	began = time.Now()
	for must(j.Follow(b.Context())) {
	}
	b.Logf("and their mentions were taken up in %s", time.Since(began).Round(time.Millisecond))
}

func benchEvent(i int, at time.Time) rules.Event {
	person := i * 7919 % 20_000
	return rules.Event{
		Workspace: "default", ID: fmt.Sprintf("event-%016x", uint64(i)*0x9e3779b97f4a7c15), Type: "message.received", Lane: fmt.Sprint("conversation:", person), CreatedAt: at, ReceivedAt: at,
		Data: map[string]any{
			"message":      map[string]any{"id": fmt.Sprint("m", i), "text": "good morning, is anybody there?", "direction": "inbound"},
			"conversation": map[string]any{"id": fmt.Sprint(person), "kind": "direct", "label_ids": []any{"a", "b"}},
			"contact":      map[string]any{"id": fmt.Sprint("p", person), "name": fmt.Sprintf("Maria Silva Customer %d", person), "phone": fmt.Sprintf("+55119999%05d", person)},
		},
	}
}

// benchChange decides the events of a lane, as an engine does, and takes what comes of it to its
// end at once.
func benchChange(l *journal.Lane) *journal.Change {
	change := &journal.Change{At: l.Events[len(l.Events)-1].ReceivedAt, Decided: l.Events, Release: true}
	for _, e := range l.Events {
		rule, state := fmt.Sprint("rule-", e.Seq%benchRules), journal.Done
		switch e.Seq % 100 {
		case 1:
			state = journal.FailedRun
		case 2, 3, 4, 5, 6:
			state = journal.Waiting
		case 7:
			state = journal.Cancelled
		}
		e.Verdicts = []journal.Verdict{
			{Rule: rule, Outcome: journal.Fired, Version: "v"},
			{Rule: fmt.Sprint("rule-", (e.Seq+1)%benchRules), Outcome: journal.False, Clause: `conversation.kind == "direct"`, Values: map[string]any{"conversation.kind": "group"}},
			{Rule: fmt.Sprint("rule-", (e.Seq+2)%benchRules), Outcome: journal.Limited, Error: "limit: 1 per 12h"},
		}
		r := &journal.Run{
			Key: "default/" + rule + "/" + e.ID, Workspace: "default", Rule: rule, Version: "v", Event: e.Seq, Home: l.Name, Lane: l.Name, By: e.ID, State: state, Stage: rules.Live, StartedAt: e.ReceivedAt,
			Steps: []*journal.Step{
				{Path: "1", Verb: "send_message", Key: "k1", State: journal.StepDone, Attempts: 1, Record: []byte(`{"at":"2026-11-13T20:50:00Z","ended":"2026-11-13T20:50:01Z","receipts":[{"call":"send","answer":{"id":"m"}}],"sent":[{"call":"send","request":{"text":"we are closed"}}]}`)},
				{N: 1, Path: "2", Verb: "add_labels", Key: "k2", State: journal.StepDone, Attempts: 1},
			},
		}
		if state.Finished() {
			r.FinishedAt = e.ReceivedAt.Add(time.Second)
		} else {
			r.WakeAt = friday.Add(24 * time.Hour)
		}
		change.Starts = append(change.Starts, &journal.Start{Run: r, Mode: rules.Parallel, Source: "source", Verdict: &e.Verdicts[0]})
	}
	return change
}

// longRule is a rule of so many steps, of the kinds that rules mostly have.
func longRule(steps int) string {
	var b strings.Builder
	b.WriteString("rules:\n  - id: long\n    name: A long one\n    when: message.received\n    if: conversation.kind == \"direct\"\n    limit: { times: 1, per: 12h }\n    do:\n")
	for n := 0; n < steps; n += 8 {
		fmt.Fprintf(&b, "      - send_message: \"Hello {{ contact.name }}, this is message %d.\"\n", n)
		b.WriteString("      - add_labels: [vip]\n      - wait: 15m of office\n      - stop_if: attendance.first_response != nil\n      - choose:\n")
		b.WriteString("          - if: contact_has_label(\"vip\")\n            do:\n              - transfer: Supervisors\n          - else:\n              - { log: \"{{ contact.name }}\", if: closed(\"office\") }\n              - send_message: One moment\n")
	}
	return b.String()
}

// BenchmarkEdit changes a text of a rule with 200 steps, as the studio does.
func BenchmarkEdit(b *testing.B) {
	d := newEditorDesk(b)
	text := longRule(200)
	sent := 0
	for n := 0; b.Loop(); n++ {
		edits := fmt.Sprintf(`[{"op":"set","path":"/do/50/args/text/text","value":"changed %d"}]`, n)
		status, body, _ := d.post("/write/edit", "workspace", "default", "file", "", "rule", "long", "was", "", "text", text, "edits", edits)
		if status != http.StatusOK {
			b.Fatal(body)
		}
		sent = len(body)
	}
	b.ReportMetric(float64(sent)/1024, "KiB-answer")
}
