package stored

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// The hand-written encoders of events and runs write the same as encoding/json, which reads it.
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
		{Rule: "r", Error: "x", Why: phrases.New(phrases.StepFailed, odd, 3, phrases.New(phrases.Else))},
	} {
		same(string(appendVerdict(nil, &v)), v)
	}
	var r journal.Run
	same(aboutText(&r), r.About)
	r.About.Contact, r.About.Message = odd, "m"
	same(aboutText(&r), r.About)
	r.About.Conversation, r.About.Attendance, r.About.Card = "1", "2", "3"
	same(aboutText(&r), r.About)
	if got := appendVerdict(nil, &journal.Verdict{Rule: "r", Values: map[string]any{"x": math.NaN()}}); string(got) != `{"rule":"r","outcome":"","values":{"x":"NaN"}}` {
		t.Errorf("%s", got)
	}
	answers := journal.Answers{}
	for _, question := range []string{odd, "now()", "has_label(é)", ""} {
		answers[question] = json.RawMessage(`{"$time":"2026-11-13T17:50:00-03:00","zone":"America/Sao_Paulo"}`)
		same(*answersText(answers), answers)
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
			f.Verdicts(0, false, nil)
			_, err = ChangeOf(after)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
