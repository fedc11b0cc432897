package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/quandohq/quando/triggers"
)

// heartbeat is the longest sleep between two looks at the clock. A timer counts only the time that
// the machine is awake, and does not notice when the clock is set.
const heartbeat = 15 * time.Second

// Run ticks until ctx ends.
//
// gocron is the timer; the schedules compute when to tick, because they are exact across changes to
// summer time. So there is one job, which is replaced after each tick by one for the time until the
// next. It is a duration job: a one-time job whose time passes while it is being added never ends
// in gocron 2.21. Its task only signals: on shutdown gocron spins until a task has ended.
func (s *Source) Run(ctx context.Context, to triggers.Sink) error {
	scheduler, err := gocron.NewScheduler(gocron.WithLocation(time.UTC))
	if err != nil {
		return fmt.Errorf("schedules: %w", err)
	}
	defer func() { _ = scheduler.Shutdown() }() // the job does nothing that could be cut off
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
