package stored

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// What is written for every event and run is written as encoding/json would, which reads it.
func TestWrittenAsJSON(t *testing.T) {
	t.Parallel()
	same := func(got string, v any) {
		t.Helper()
		if want, err := json.Marshal(v); err != nil || got != string(want) {
			t.Errorf("%s\nwant %s, %v", got, want, err)
		}
	}
	odd := "a \"b\" <c> & \\ \x01 \u2028 é \xff"
	for _, v := range []journal.Verdict{
		{}, {Rule: "r", Outcome: journal.Fired, Run: "default/r/1", Version: "v", Stage: rules.Shadow},
		{Rule: odd, Outcome: journal.False, Clause: odd, Values: map[string]any{"b": 1.5, "a": []any{odd, nil, true}}, Error: odd, Run: odd},
		{Rule: "r", Values: map[string]any{}},
	} {
		got, err := appendVerdict(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		same(string(got), v)
	}
	var r journal.Run
	same(subject(&r), r.About)
	r.About.Contact, r.About.Message = odd, "m"
	same(subject(&r), r.About)
	r.About.Conversation, r.About.Attendance, r.About.Card = "1", "2", "3"
	same(subject(&r), r.About)
	got, err := appendVerdict(nil, &journal.Verdict{Rule: "r", Values: map[string]any{"x": math.NaN()}})
	if err != nil || string(got) != `{"rule":"r","outcome":"","values":{"x":"NaN"}}` {
		t.Errorf("%s, %v", got, err)
	}
	answers := journal.Answers{}
	for _, question := range []string{odd, "now()", "has_label(é)", ""} {
		answers[question] = json.RawMessage(`{"$time":"2026-11-13T17:50:00-03:00","zone":"America/Sao_Paulo"}`)
		same(*answersText(answers), answers)
	}
}

// What a journal decides on a start is in the verdicts that are kept and counted, and in the change only when it is recorded.
func TestVerdictsOfStarts(t *testing.T) {
	t.Parallel()
	e := &journal.Event{Verdicts: []journal.Verdict{{Rule: "a", Outcome: journal.False, Clause: "x"}, {Rule: "b", Outcome: journal.Fired, Run: "w/b/1"}}}
	f, err := ChangeOf(&journal.Change{Decided: []*journal.Event{e, {}}, Starts: []*journal.Start{{Verdict: &e.Verdicts[1], Run: &journal.Run{}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		cameOut journal.Verdict
		kept    string
	}{
		{e.Verdicts[1], `{"rule":"b","outcome":"fired","run":"w/b/1"}`},
		{journal.Verdict{Rule: "b", Outcome: journal.Limited, Error: "max", Run: "w/b/1"}, `{"rule":"b","outcome":"limited","error":"max","run":"w/b/1"}`},
		{journal.Verdict{Rule: "b", Outcome: journal.Skipped, Run: "w/b/1"}, `{"rule":"b","outcome":"skipped","run":"w/b/1"}`},
		{journal.Verdict{Rule: "b", Outcome: journal.Fired, Run: "w/b/2"}, `{"rule":"b","outcome":"fired","run":"w/b/2"}`},
		{journal.Verdict{Rule: "b", Outcome: journal.Fired, Error: "e", Run: "w/b/1"}, `{"rule":"b","outcome":"fired","error":"e","run":"w/b/1"}`},
	} {
		kept, given, err := f.Verdicts(0, func(*journal.Verdict) journal.Verdict { return tc.cameOut })
		if want := `[{"rule":"a","outcome":"false","clause":"x"},` + tc.kept + `]`; err != nil || *kept != want {
			t.Errorf("%s, %v\nwant %s", *kept, err, want)
		}
		if diff := cmp.Diff([]journal.Verdict{e.Verdicts[0], tc.cameOut}, given); diff != "" {
			t.Error(diff)
		}
		if e.Verdicts[1].Outcome != journal.Fired || e.Verdicts[1].Run != "w/b/1" {
			t.Fatalf("the change has %v before it is recorded", e.Verdicts[1])
		}
	}
	if kept, given, err := f.Verdicts(1, nil); kept != nil || len(given) > 0 || err != nil {
		t.Errorf("of an event that no rule wanted %v is kept, and %v counted; %v", kept, given, err)
	}
}

func BenchmarkChangeOf(b *testing.B) {
	e := &journal.Event{Decided: true, Verdicts: []journal.Verdict{{Rule: "answer", Outcome: journal.Fired, Run: "default/answer/0192f3a4", Version: "7f63753c2f4b4f5f"}}}
	r := &journal.Run{}
	r.About.Conversation, r.About.Contact = "0192f3a4", "44ebb9f6"
	c := &journal.Change{Decided: []*journal.Event{e}, Starts: []*journal.Start{{Verdict: &e.Verdicts[0], Run: r}}}
	e.Answers = journal.Answers{journal.AnswerNow: json.RawMessage(`{"$time":"2026-11-13T17:50:00.123456-03:00","zone":"America/Sao_Paulo"}`)}
	after := &journal.Change{Runs: []*journal.RunChange{{Run: r}}, Caused: make([]journal.Caused, 2)}
	b.ReportAllocs()
	for b.Loop() {
		f, err := ChangeOf(c)
		if err == nil {
			_, _, err = f.Verdicts(0, func(v *journal.Verdict) journal.Verdict { return *v })
		}
		if err == nil {
			_, err = ChangeOf(after)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
