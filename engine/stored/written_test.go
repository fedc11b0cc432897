package stored

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/quandohq/quando/engine"
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
	for _, v := range []engine.Verdict{
		{}, {Rule: "r", Outcome: engine.Fired, Run: "default/r/1", Version: "v", Stage: rules.Shadow},
		{Rule: odd, Outcome: engine.False, Clause: odd, Values: map[string]any{"b": 1.5, "a": []any{odd, nil, true}}, Error: odd, Run: odd},
		{Rule: "r", Values: map[string]any{}},
	} {
		got, err := verdict(v)
		if err != nil {
			t.Fatal(err)
		}
		same(string(got), v)
	}
	var r engine.Run
	same(subject(&r), r.About)
	r.About.Contact, r.About.Message = odd, "m"
	same(subject(&r), r.About)
	r.About.Conversation, r.About.Attendance, r.About.Card = "1", "2", "3"
	same(subject(&r), r.About)
	got, err := verdict(engine.Verdict{Rule: "r", Values: map[string]any{"x": math.NaN()}})
	if err != nil || string(got) != `{"rule":"r","outcome":"","values":{"x":"NaN"}}` {
		t.Errorf("%s, %v", got, err)
	}
}

func BenchmarkChangeOf(b *testing.B) {
	e := &engine.Event{Decided: true, Verdicts: []engine.Verdict{{Rule: "answer", Outcome: engine.Fired, Run: "default/answer/0192f3a4", Version: "7f63753c2f4b4f5f"}}}
	r := &engine.Run{}
	r.About.Conversation, r.About.Contact = "0192f3a4", "44ebb9f6"
	c := &engine.Change{Decided: []*engine.Event{e}, Starts: []*engine.Start{{Verdict: &e.Verdicts[0], Run: r}}}
	b.ReportAllocs()
	for b.Loop() {
		f, err := ChangeOf(c)
		if err == nil {
			_, _, err = f.Verdicts(0, func(v *engine.Verdict) engine.Verdict { return *v })
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
