package engine

import (
	"github.com/quandohq/quando/engine/journal"
	"runtime"
	"testing"
	"time"
)

// TestShares shows that a workspace may have as many lanes in progress as keep one worker per
// processor busy, and more when they wait for its service.
func TestShares(t *testing.T) {
	s := &shares{byWorkspace: map[string]*share{"flooding": {}, "quiet": {}}}
	each := runtime.GOMAXPROCS(0)
	lane := []*journal.Lane{{Workspace: "flooding"}}
	takes := func() (n int) {
		for ; n < 1000; n++ {
			most, full := s.claimLimit(64)
			if most < 1 {
				t.Fatal("nothing may be claimed")
			}
			if len(full) > 0 {
				if full[0] != "flooding" || len(full) > 1 {
					t.Fatalf("%v have had their share", full)
				}
				return n
			}
			s.begin(lane)
		}
		return n
	}
	if got := takes(); got != each {
		t.Errorf("%d lanes are under way of a workspace that keeps %d processors busy", got, each)
	}
	for range each {
		s.end("flooding", 10*time.Millisecond, 9*time.Millisecond)
	}
	if got := takes(); got < 9*each || got > 11*each {
		t.Errorf("%d lanes are under way of a workspace that waits for its service nine tenths of the time, on %d processors", got, each)
	}
	alone := &shares{}
	alone.begin(lane)
	if most, full := alone.claimLimit(64); most != 64 || full != nil {
		t.Errorf("a workspace that is alone may claim %d of 64 lanes, and %v have had their share", most, full)
	}
	alone.end("flooding", 1, 0)
}
