package engine

import (
	"testing"
	"time"
)

// Where nobody traces, nothing is kept for it, and no time is asked.
func TestNoTracerCostsNothing(t *testing.T) {
	asked := 0
	e := &Engine{}
	k := &walk{visit: e.newVisit(&Lane{}, func() time.Time { asked++; return time.Time{} }, nil), run: &Run{}, facts: &facts{event: &Event{}}}
	step := &Step{}
	c := &Change{Decided: []*Event{{}}, Starts: []*Start{{Run: k.run, Begun: true}}, Runs: []*RunChange{{Run: k.run, Steps: []*Step{step}}}}
	n := testing.AllocsPerRun(100, func() {
		began := k.moment()
		k.matched(k.facts.event, began)
		k.traceCall(PartCall, step, "send", began, nil)
		k.traceSaved(t.Context(), c)
	})
	if n != 0 || asked != 0 {
		t.Errorf("%v allocations, and the time was asked %d times", n, asked)
	}
}
