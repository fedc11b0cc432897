package schedule

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
)

// running runs a source in the background and returns how to stop it.
func (s *source) running() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx, s.journal.accept) }()
	return func() {
		s.t.Helper()
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	}
}

func (s *source) saw(want ...string) {
	s.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, s.journal.take()); diff != "" {
		s.t.Errorf("by %s (-want +got)\n%s", time.Now().UTC().Format(time.RFC3339), diff)
	}
}

// TestRun lets four days pass, through a change to summer time, and finds each tick at its second.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(instant(t, "2026-03-27T12:00:00Z")))
		set := ruleSet(t, `daily when: { at: "02:30", timezone: Europe/Berlin }`, "hourly when: { every: 1h }")
		s := start(t, newJournal(), `daily when: { at: "02:30", timezone: Europe/Berlin }`, "hourly when: { every: 1h }")
		stop := s.running()
		begin := time.Now()
		time.Sleep(4 * 24 * time.Hour)
		synctest.Wait()
		stop()
		want := 0
		for _, r := range set.Rules {
			for at := r.When.Schedule.Next(begin, time.UTC); !at.After(begin.Add(4 * 24 * time.Hour)); at = r.When.Schedule.Next(at, time.UTC) {
				want++
				id := r.ID + "/" + at.UTC().Format(time.RFC3339)
				if e, ok := s.journal.events[id]; !ok {
					t.Errorf("%s did not come", id)
				} else if late := e.ReceivedAt.Sub(at); late < 0 || late > 10*time.Millisecond {
					t.Errorf("%s came after %v", id, late)
				}
			}
		}
		if len(s.journal.events) != want || s.journal.given != want {
			t.Errorf("%d events, given %d, want %d", len(s.journal.events), s.journal.given, want)
		}
	})
}

// TestRunReloads shows that a schedule that is added while running ticks at its first time, and one
// that is removed stops.
func TestRunReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(instant(t, "2026-11-13T12:00:01Z")))
		s := start(t, newJournal(), "message when: message.received")
		stop := s.running()
		defer stop()
		time.Sleep(3 * time.Second)
		s.SetRules(ruleSet(t, "fast when: { every: 2s }"))
		synctest.Wait()
		time.Sleep(4 * time.Second)
		s.saw("fast/2026-11-13T12:00:06Z", "fast/2026-11-13T12:00:08Z")
		s.SetRules(&rules.Set{})
		time.Sleep(time.Hour)
		s.saw()
	})
}

// TestRunAfterFullDisk shows that ticks that could not be recorded are within a second of the disk
// having room again.
func TestRunAfterFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(instant(t, "2026-11-13T12:00:01Z")))
		s := start(t, newJournal(), "r when: { every: 10s }")
		stop := s.running()
		defer stop()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		full := func(err error) {
			s.journal.mu.Lock()
			defer s.journal.mu.Unlock()
			s.journal.fail = err
		}
		full(errors.New("disk full"))
		time.Sleep(20 * time.Second)
		s.saw()
		full(nil)
		time.Sleep(1100 * time.Millisecond)
		s.saw("r/2026-11-13T12:00:10Z", "r/2026-11-13T12:00:20Z")
	})
}
