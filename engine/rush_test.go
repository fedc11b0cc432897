package engine

import (
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

// In a rush deliveries come first, until what was recorded has waited for ten seconds; then not again before nothing is left waiting.
func TestRush(t *testing.T) {
	now := time.Now()
	waiting := func(age time.Duration) []*Lane {
		return []*Lane{{}, {Events: []*Event{{Event: rules.Event{ReceivedAt: now.Add(-age)}}}}}
	}
	e := &Engine{}
	if e.rush() {
		t.Error("there is a rush before anything came")
	}
	e.rushed.Store(now.Add(time.Hour).UnixNano()) // it does not end meanwhile
	for _, step := range []struct {
		lanes []*Lane
		rush  bool
	}{{nil, true}, {waiting(9 * time.Second), true}, {waiting(11 * time.Second), false}, {waiting(5 * time.Second), false}, {waiting(time.Second / 2), true}, {waiting(time.Minute), false}, {nil, true}} {
		e.lag(step.lanes, now)
		if e.rush() != step.rush {
			t.Errorf("after %v there is a rush: %v", step.lanes, e.rush())
		}
	}
	e.rushed.Store(now.Add(-time.Second).UnixNano())
	if e.rush() {
		t.Error("a rush does not end")
	}
}
