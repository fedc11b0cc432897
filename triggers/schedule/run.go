package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/quandohq/quando/triggers"
)

// The clock is looked at no more seldom than this. A timer counts the time that the machine is
// awake, and knows nothing of a clock that was set.
const heartbeat = 15 * time.Second

// Run ticks until ctx ends.
//
// gocron is the ticker; when to tick is the schedules' own affair, because they are exact across
// changes to summer time. So there is one job, which is set anew after each look for the time until
// the next tick. It is one of a duration: a one-time job whose time passes while it is being added
// never ends in gocron 2.21. Its task only rings: gocron spins until a task has ended when it shuts
// down.
func (s *Source) Run(ctx context.Context, to triggers.Sink) error {
	scheduler, err := gocron.NewScheduler(gocron.WithLocation(time.UTC))
	if err != nil {
		return fmt.Errorf("schedules: %w", err)
	}
	defer func() { _ = scheduler.Shutdown() }() // the one job does nothing that could be cut off
	ring := make(chan struct{}, 1)
	task := gocron.NewTask(func() {
		select {
		case ring <- struct{}{}:
		default:
		}
	})
	job, err := scheduler.NewJob(gocron.DurationJob(heartbeat), task)
	if err != nil {
		return fmt.Errorf("schedules: %w", err)
	}
	scheduler.Start()
	for failing := false; ; {
		next, err := s.Tick(ctx, time.Now(), to)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !failing {
			s.log.Error("ticks wait until they can be recorded", "workspace", s.options.Workspace, "error", err)
		}
		failing = err != nil
		wait := heartbeat
		if !next.IsZero() {
			wait = max(min(time.Until(next), heartbeat), time.Millisecond)
		}
		if _, err := scheduler.Update(job.ID(), gocron.DurationJob(wait), task); err != nil {
			return fmt.Errorf("schedules: %w", err)
		}
		select {
		case <-ring:
		case <-s.changed:
		case <-ctx.Done():
			return nil
		}
	}
}
