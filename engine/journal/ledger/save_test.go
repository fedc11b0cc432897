package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
)

// The journal's decision on a start is in the verdicts that are stored and counted, and in the
// change only after the commit.
func TestVerdictsOfStarts(t *testing.T) {
	t.Parallel()
	e := &journal.Event{Verdicts: []journal.Verdict{{Rule: "a", Outcome: journal.False, Clause: "x"}, {Rule: "b", Outcome: journal.Fired, Run: "w/b/1"}}}
	c := &journal.Change{Decided: []*journal.Event{e, {Seq: 2}}, Starts: []*journal.Start{{Verdict: &e.Verdicts[1], Run: &journal.Run{}}}}
	s := NewSave(&journal.Lane{}, c)
	if err := s.Encode(); err != nil {
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
		s.started = []startResult{{verdict: tc.cameOut}}
		l := &Ledger{}
		s.decideEvents(l)
		d := l.Decided[0]
		if want := `[{"rule":"a","outcome":"false","clause":"x"},` + tc.kept + `]`; *d.VerdictsText != want {
			t.Errorf("%s\nwant %s", *d.VerdictsText, want)
		}
		if diff := cmp.Diff([]journal.Verdict{e.Verdicts[0], tc.cameOut}, d.Verdicts); diff != "" {
			t.Error(diff)
		}
		if e.Verdicts[1].Outcome != journal.Fired || e.Verdicts[1].Run != "w/b/1" {
			t.Fatalf("the change has %v before it is recorded", e.Verdicts[1])
		}
		if none := l.Decided[2]; none.VerdictsText != nil || len(none.Verdicts) > 0 {
			t.Errorf("of an event that no rule wanted %v is kept", none)
		}
	}
}
