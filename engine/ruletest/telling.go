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

// A telling is a story being told once: the service, the engine, and the time that both live in.
type telling struct {
	*story
	plan    plan
	service *sandbox.Sandbox
	outside *outside
	network *network
	points  points
	file    string // of the journal

	mu       sync.Mutex // guards what deliveries use too
	process  *process
	accepted int            // events that were taken
	secret   service.Secret // of the webhook

	meanwhile func() // is called in the middle of what the engine does; nil is nothing

	next    time.Time // when the engine has something to do; the zero time is never
	seen    int       // effects that were looked at
	crashes []string
	trace   Trace
}

// tell tells the story under a plan. A story that does not hold is a *failure.
func (s *story) tell(ctx context.Context, p plan) (t *telling, err error) {
	t = &telling{story: s, plan: p}
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
func (t *telling) open(ctx context.Context) (err error) {
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
	return t.rest(ctx)
}

// subscribe registers the engine's receiver at the service.
func (t *telling) subscribe(ctx context.Context) error {
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

func (t *telling) launch(ctx context.Context) error {
	p, err := launch(ctx, t)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.process = p
	return nil
}

// accept hands events to the engine that is running.
func (t *telling) accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
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
func (t *telling) heard() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.accepted
}

// rest lets everything happen that happens at this moment.
func (t *telling) rest(ctx context.Context) error {
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
		if rude := t.network.rudeness(); rude != "" {
			return failed(t.points.line, "%s", rude)
		}
		if t.heard() == before && !t.process.over() {
			t.next = next
			return nil
		}
	}
}

// work lets the engine do what is due, and returns when there is something again.
func (t *telling) work() (next time.Time, err error) {
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

// restart puts a new engine in the place of one that was stopped.
func (t *telling) restart(ctx context.Context) error {
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

func (t *telling) close() error {
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
func (t *telling) now() time.Time { return t.service.Now().In(t.options.Location) }

// pass lets time go by until a moment, from one thing that happens to the next.
func (t *telling) pass(ctx context.Context, until time.Time) error {
	for {
		if err := t.rest(ctx); err != nil {
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
		// A source of ticks that has not looked for a while takes itself to have been asleep: it looks a
		// moment before.
		if _, err := t.process.schedules.Tick(t.process.ctx, at.Add(-time.Millisecond), t.accept); err != nil && !t.process.over() {
			return err
		}
		if _, err := t.service.SetClock(ctx, at); err != nil {
			return err
		}
		t.network.arrive()
		if at.Sub(now) >= quiet {
			if err := t.burst(ctx); err != nil {
				return err
			}
		}
		t.network.moved()
	}
}

// quiet is how long nothing must have been due for a burst of activity to be over.
const quiet = time.Minute

// burst begins a burst of activity, in which everything goes wrong once more that the plan says. A
// story with many of them, such as the ticks of a day, has each stopped at the same point in one
// telling: what was recovered from before has no part in it any more.
//
// Calls do not fail once more while something is still repeated because they did: its pauses grow
// until each is longer than quiet, and it would never end.
func (t *telling) burst(ctx context.Context) error {
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
