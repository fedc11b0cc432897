package engine

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/memory"
)

// TestNoTracerCostsNothing shows that the engine keeps nothing for a tracer, and does not read the
// clock for it, if there is none.
func TestNoTracerCostsNothing(t *testing.T) {
	asked := 0
	e := &Engine{journal: memory.New()}
	k := &walk{visit: e.newVisit(&journal.Lane{}, func() time.Time { asked++; return time.Time{} }, nil), run: &journal.Run{}, facts: &facts{event: &journal.Event{}}}
	step := &journal.Step{}
	c := &journal.Change{Decided: []*journal.Event{{}}, Starts: []*journal.Start{{Run: k.run, Begun: true}}, Runs: []*journal.RunChange{{Run: k.run, Steps: []*journal.Step{step}}}}
	n := testing.AllocsPerRun(100, func() {
		began := k.traceTime()
		k.recordMatch(k.facts.event, began)
		k.traceCall(PartCall, step, "send", began, nil)
		k.traceSaved(t.Context(), c)
	})
	if n != 0 || asked != 0 {
		t.Errorf("%v allocations, and the time was asked %d times", n, asked)
	}
}
