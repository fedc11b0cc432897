package ruletest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// A storyRun is one run of a story: the service, the engine, and their clock.
type storyRun struct {
	*story
	plan    plan
	service *sandbox.Sandbox
	outside *outside
	network *network
	points  crashPoints
	file    string // of the journal

	mu       sync.Mutex // guards what deliveries use too
	process  *process
	accepted int            // events that were taken
	secret   service.Secret // of the webhook

	meanwhile func() // called during an operation of the engine; may be nil

	next      time.Time       // when the engine has something to do; the zero time is never
	seen      int             // effects that were compared
	seenWould map[string]bool // steps in shadow that were compared, by their keys
	crashes   []string
	trace     Trace
}

// run runs the story under a plan. A story whose expectations fail returns a *failure.
func (s *story) run(ctx context.Context, p plan) (t *storyRun, err error) {
	t = &storyRun{story: s, plan: p}
	defer func() {
		t.crashes, s.crashed = t.points.crashes, len(t.points.crashes) > 0
		if err != nil {
			t.trace = t.readTrace(context.WithoutCancel(ctx))
		}
		if err == nil && s.options.Look != nil {
			err = s.options.Look(Told{Fault: p.fault, Journal: t.file, Workspace: workspace, Now: t.now(), Names: readCompany(t.service).snapshot()})
		}
		if err == nil && s.end != nil {
			s.end(ctx, t)
		}
		if closing := t.close(); closing != nil && err == nil {
			err = closing
		}
	}()
	if err := t.open(ctx); err != nil {
		return t, err
	}
	for _, step := range s.test.Steps {
		t.points.line = step.Line
		if err := t.burst(ctx); err != nil {
			return t, err
		}
		if err := t.step(ctx, step); err != nil {
			return t, err
		}
	}
	return t, nil
}

// open builds the world of the story.
func (t *storyRun) open(ctx context.Context) (err error) {
	if t.file, err = t.newJournal(); err != nil {
		return err
	}
	if t.service, err = sandbox.New(sandbox.Options{Frozen: t.start, Seed: 2, AllowLoopback: true, KanbanEvents: true, State: t.stateReader()}); err != nil {
		return failed(t.test.Line, "given: %v", err)
	}
	t.outside = &outside{now: t.service.Now, done: func() int { return len(t.service.Effects()) }, keys: map[string]bool{}}
	receiver, err := webhook.New(webhook.Options{
		Workspace: workspace, Sink: t.accept,
		Secrets: func(time.Time) []service.Secret {
			t.mu.Lock()
			defer t.mu.Unlock()
			return []service.Secret{t.secret}
		},
	})
	if err != nil {
		return err
	}
	if t.network, err = open(ctx, t.plan, t.service, receiver); err != nil {
		return err
	}
	if err := t.subscribe(ctx); err != nil {
		return err
	}
	if err := t.launch(ctx); err != nil {
		return err
	}
	if t.plan.deliver.twice {
		if err := t.service.AddFault(sandbox.Fault{Operation: "delivery", Kind: "duplicate"}); err != nil {
			return err
		}
	}
	if t.plan.deliver.meanwhile {
		t.meanwhile = func() { t.network.meanwhile(receiver) }
	}
	t.seen = len(t.service.Effects())
	return t.settle(ctx)
}

// subscribe registers the engine's receiver at the service.
func (t *storyRun) subscribe(ctx context.Context) error {
	transport := &http.Transport{DisableKeepAlives: true}
	client, err := service.New(service.Options{BaseURL: t.network.base + "/v1", APIKey: service.Secret(t.service.APIKey()), Now: t.service.Now, Transport: transport})
	if err != nil {
		return err
	}
	hook, err := client.RegisterWebhook(ctx, service.NewWebhook{Name: "test", URL: t.network.base + "/hook", Events: vocabulary.EventTypes()})
	if err != nil {
		return fmt.Errorf("register the webhook: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.secret = hook.Secret
	return nil
}

func (t *storyRun) launch(ctx context.Context) error {
	p, err := launch(ctx, t)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.process = p
	return nil
}

// accept passes events to the running engine.
func (t *storyRun) accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	t.mu.Lock()
	p := t.process
	t.mu.Unlock()
	for i := range events {
		events[i].ReceivedAt = t.service.Now()
	}
	fresh, err := p.accept(ctx, events...)
	if err == nil {
		t.mu.Lock()
		t.accepted++
		t.mu.Unlock()
	}
	return fresh, err
}

// heard returns how often something was accepted.
func (t *storyRun) heard() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.accepted
}

// settle runs everything that is due now.
func (t *storyRun) settle(ctx context.Context) error {
	t.process.rested()
	for {
		if err := t.service.Settle(ctx); err != nil {
			return err
		}
		before := t.heard()
		next, err := t.work()
		switch {
		case errors.Is(err, errRestless), t.process.restless():
			return failed(t.points.line, "the rules do not come to rest at %s: the same is done again and again", t.now().Format(time.RFC3339))
		case t.process.over():
			if err := t.restart(ctx); err != nil {
				return err
			}
			continue
		case err != nil && ctx.Err() == nil:
			return failed(t.points.line, "the engine cannot go on: %v", err)
		case err != nil:
			return err
		}
		if err := t.service.Settle(ctx); err != nil {
			return err
		}
		if rude := t.network.calledDuringPause(); rude != "" {
			return failed(t.points.line, "%s", rude)
		}
		if t.heard() == before && !t.process.over() {
			t.next = next
			return nil
		}
	}
}

// work runs the engine until nothing is due, and returns when something is due next.
func (t *storyRun) work() (next time.Time, err error) {
	p, now := t.process, t.service.Now()
	tick, err := p.schedules.Tick(p.ctx, now, t.accept)
	if err != nil {
		return next, err
	}
	next, err = p.engine.Tick(p.ctx, now)
	return earliest(next, tick), err
}

// downtime is how long an engine that was stopped is away.
const downtime = 2 * time.Second

// restart replaces a stopped engine with a new one.
func (t *storyRun) restart(ctx context.Context) error {
	if err := t.service.Settle(ctx); err != nil {
		return err
	}
	if err := t.process.close(); err != nil {
		return fmt.Errorf("stop the engine: %w", err)
	}
	if _, err := t.service.SetClock(ctx, t.service.Now().Add(downtime)); err != nil {
		return err
	}
	return t.launch(ctx)
}

func (t *storyRun) close() error {
	var problems []error
	if t.network != nil {
		t.network.close()
	}
	if t.service != nil {
		problems = append(problems, t.service.Close())
	}
	if t.process != nil {
		problems = append(problems, t.process.close())
	}
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(t.file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// now is the story's time, in its zone.
func (t *storyRun) now() time.Time { return t.service.Now().In(t.options.Location) }

// advance advances the clock to a time, from one due thing to the next.
func (t *storyRun) advance(ctx context.Context, until time.Time) error {
	for {
		if err := t.settle(ctx); err != nil {
			return err
		}
		now := t.service.Now()
		if !now.Before(until) {
			return nil
		}
		at := until
		if t.next.After(now) {
			at = earliest(at, t.next)
		}
		if due, any := t.service.Due(); any && due.After(now) {
			at = earliest(at, due)
		}
		at = earliest(at, t.network.due())
		// A schedule source that has not ticked for a while takes the machine to have been suspended: it
		// ticks a moment before.
		if _, err := t.process.schedules.Tick(t.process.ctx, at.Add(-time.Millisecond), t.accept); err != nil && !t.process.over() {
			return err
		}
		if _, err := t.service.SetClock(ctx, at); err != nil {
			return err
		}
		t.network.runDue()
		if at.Sub(now) >= quiet {
			if err := t.burst(ctx); err != nil {
				return err
			}
		}
		t.network.moved()
	}
}

// quiet is how long nothing must be due for a burst of activity to end.
const quiet = time.Minute

// burst begins a burst of activity, in which every fault of the plan strikes again. A story with
// many bursts, such as the ticks of a day, has each stopped at the same point in one run.
//
// Calls do not fail again while something is still retried because they did: its backoff grows
// until each pause is longer than quiet, and it would never end.
func (t *storyRun) burst(ctx context.Context) error {
	t.points.n, t.points.at = 0, t.plan.crash
	repeats, err := t.process.repeats(ctx)
	if err == nil && !repeats {
		t.network.burst()
	}
	return err
}

// earliest returns the earlier of two times; the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
