package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/schedule"
	"github.com/quandohq/quando/triggers/webhook"
)

// errDead is what an engine hears from its journal and its actions once it has been stopped.
var errDead = errors.New("the engine was stopped here")

// errAwake is what a caller hears that would sleep until a pause is over that the service asked
// for: the clock stands still while anything works, so the caller gives up, and tries again later.
var errAwake = errors.New("nothing sleeps while the clock stands still")

// A process is an engine with its memory. After a stop the same process is launched again, and
// knows only its journal.
type process struct {
	world   *world
	n       int
	again   time.Time // when it is launched; the zero time is at once
	dead    bool      // it was stopped in the middle of something
	failure string

	ctx       context.Context
	end       context.CancelFunc
	journal   Journal
	engine    *engine.Engine
	receiver  *webhook.Receiver
	schedules *schedule.Source
	backfill  *backfill.Source

	unscheduled bool // the schedules still have the old rules
	ticking     bool // they are at work

	next time.Time // when it has something to do
	look time.Time // when the backfill has
	idle int       // claims at one moment
	at   time.Time
}

func (p *process) up() bool { return p.engine != nil }

// launch starts the engine on the journal.
func (p *process) launch(ctx context.Context) (err error) {
	w := p.world
	p.dead, p.next, p.look = false, time.Time{}, time.Time{}
	w.activity++
	p.ctx, p.end = context.WithCancel(ctx)
	if p.journal, err = w.store.Launch(ctx, p.n); err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	kept := crashingJournal{p.journal, p}
	client, err := service.New(service.Options{
		BaseURL: "http://127.0.0.1/v1", APIKey: service.Secret(w.desk.sandbox.APIKey()), MaxWait: -1, Now: w.clock, Transport: w.desk,
		Sleep: func(context.Context, time.Duration) error { return errAwake },
	})
	if err != nil {
		return err
	}
	o := builtin.Options{
		Client: client, Directory: service.NewDirectory(client), Location: w.zone,
		Own: func(ctx context.Context, m service.Message) (bool, error) {
			return p.engine.Owns(ctx, workspace, m.ID, m.ClientID)
		},
	}
	verbs, err := builtin.New(o)
	if err != nil {
		return err
	}
	for i, v := range verbs {
		verbs[i] = crashingAction{v, p}
	}
	registry, err := actions.NewRegistry(verbs...)
	if err != nil {
		return err
	}
	desk, err := builtin.NewDesk(o)
	if err != nil {
		return err
	}
	s := w.scenario.Safety
	p.engine, err = engine.New(engine.Options{Journal: kept}, engine.Workspace{
		Name: workspace, Actions: registry, Desk: desk, Location: w.zone, Recovery: w.recovery(), Ahead: client.Ahead,
		Away: func() {
			if p.backfill != nil {
				p.backfill.Missed("no engine was there")
			}
		},
		Safety: engine.Safety{
			PerConversation: duration.Rate{Times: s.PerConversation.Times, Per: s.PerConversation.Per}, Messages: duration.Rate{Times: s.Messages.Times, Per: s.Messages.Per},
		},
	})
	if err != nil {
		return err
	}
	if p.schedules, err = schedule.New(schedule.Options{Workspace: workspace, Location: w.zone, Cursors: kept}); err != nil {
		return err
	}
	if p.receiver, err = webhook.New(webhook.Options{
		Workspace: workspace, Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} }, Sink: p.accept,
	}); err != nil {
		return err
	}
	p.backfill = nil
	if finder, ok := p.journal.(finderJournal); ok && w.finding {
		p.backfill, err = backfill.New(backfill.Options{
			Workspace: workspace, Client: client, Journal: foundJournal{finder, p}, Every: 15 * time.Minute, Fresh: time.Minute,
			Needs: func() []string { return w.set.Listens() }, Alone: w.options.Journal == SQLite, Holder: fmt.Sprint(p.n), Now: w.clock,
			Sleep:  func(context.Context, time.Duration) error { return nil },
			Looked: func(ctx context.Context, until time.Time) { p.recovered(ctx, until) },
		})
		if err != nil {
			return err
		}
	}
	if err := p.setRules(); err != nil {
		return err
	}
	return p.signIn()
}

// recovery is how long waits are held that ended while no engine was there: of an exact scenario,
// not for so long that it comes near anything else.
func (w *world) recovery() time.Duration {
	switch {
	case w.finding:
		return 5 * time.Minute
	case w.scenario.Exact && !w.scenario.Away:
		return 30 * time.Second
	}
	return 3 * time.Minute
}

// signIn lets the engine detect a gap without any engine. A real one records every few seconds that
// it is up; a simulated one is idle in between, so this is recorded for it when it stops, or when
// another starts.
func (p *process) signIn() error {
	if slices.ContainsFunc(p.world.engines, func(other *process) bool { return other != p && other.up() }) {
		if err := p.wasThere(); err != nil {
			return err
		}
	}
	return p.engine.SignIn(p.ctx, p.world.clock())
}

// wasThere records that an engine is up.
func (p *process) wasThere() error {
	const name = "present/" + workspace
	ctx := context.WithoutCancel(p.ctx)
	old, err := p.journal.Cursor(ctx, name)
	if err != nil {
		return err
	}
	known := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(old), &known) // empty at first
	if known["seen"], err = json.Marshal(p.world.clock().UTC()); err != nil {
		return err
	}
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return p.journal.SetCursor(ctx, name, string(text))
}

// recovered is called after a complete pass of the backfill.
func (p *process) recovered(ctx context.Context, until time.Time) {
	if err := p.engine.Recovered(ctx, workspace, until); err != nil && !p.dead {
		p.failure = fmt.Sprintf("what was found is not known: %v", err)
	}
}

// A finderJournal is a journal that takes what a backfill has found.
type finderJournal interface {
	journal.Journal
	journal.Finder
}

// A foundJournal passes findings to the engine, and reads what is recorded.
type foundJournal struct {
	finderJournal
	process *process
}

// Known returns recorded events of a lane.
func (j foundJournal) Known(ctx context.Context, workspace, lane string, types []string, since time.Time) (list []rules.Event, err error) {
	happened, err := j.Happened(ctx, workspace, lane, types, since, 10_000)
	for _, e := range happened {
		list = append(list, e.Event)
	}
	return list, err
}

// CreatedIn returns the stage in which the engine itself created a card.
func (j foundJournal) CreatedIn(ctx context.Context, workspace, card string) (string, error) {
	own, err := j.Caused(ctx, workspace, vocabulary.CardCreated, []string{engine.ObjectKey(card)}, time.Time{})
	for _, c := range own {
		if c.Stage != "" {
			return c.Stage, err
		}
	}
	return "", err
}

func (j foundJournal) AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error) {
	p := j.process
	if err := p.point("before", "AcceptFound"); err != nil {
		return nil, err
	}
	for i := range found {
		found[i].ReceivedAt = p.world.clock()
	}
	fresh, err := p.engine.AcceptFound(ctx, found...)
	for i, f := range fresh {
		if f {
			p.world.activity++
			p.world.desk.found(found[i].Event)
		}
	}
	if err := p.point("after", "AcceptFound"); err != nil {
		return nil, err
	}
	return fresh, err
}

func (p *process) setRules() error {
	p.schedules.SetRules(p.world.set)
	return p.engine.SetRules(workspace, p.world.set)
}

// close takes from a process what the system would take from it.
func (p *process) close(crashed bool) error {
	p.end()
	p.engine = nil
	p.world.activity++
	if crashed {
		p.world.outcome.Crashes++
		p.world.desk.rest = time.Time{} // nobody knows of it: the answer that asked for it may not be recorded
	}
	if err := p.wasThere(); err != nil {
		return err
	}
	return p.world.store.Leave(p.n)
}

// accept records what happens.
func (p *process) accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	if p.dead {
		return nil, errDead
	}
	for i := range events {
		events[i].ReceivedAt = p.world.clock()
	}
	fresh, err := p.engine.Accept(ctx, events...)
	for i := range fresh {
		if fresh[i] {
			p.world.activity++
		}
		if fresh[i] && events[i].Type == "schedule" {
			p.world.desk.fired = append(p.world.desk.fired, Firing{Rule: events[i].Rule, At: events[i].CreatedAt})
		}
	}
	return fresh, err
}

// lookAhead ticks the schedules, so that they see no gap.
func (p *process) lookAhead(at time.Time) {
	_, _ = p.schedules.Tick(p.ctx, at, p.accept) // what fails is tried again
}

// tick runs what is due in the engine. The first of its workers runs schedules too.
func (p *process) tick(first bool) {
	if p.dead || !p.up() {
		return
	}
	now := p.world.clock()
	if !now.Equal(p.at) {
		p.idle, p.at = 0, now
	}
	next := time.Time{}
	if first && p.unscheduled {
		p.unscheduled = false
		p.schedules.SetRules(p.world.set)
	}
	if first {
		if p.backfill != nil && !now.Before(p.look) {
			p.look = p.backfill.Tick(p.ctx)
		}
		p.ticking = true
		tick, err := p.schedules.Tick(p.ctx, now, p.accept)
		p.ticking = false
		if err != nil && !p.dead {
			p.failure = fmt.Sprintf("the schedules cannot go on: %v", err)
			return
		}
		next = tick
	}
	due, err := p.engine.Tick(p.ctx, now)
	if p.dead {
		return
	}
	if err != nil {
		p.failure = fmt.Sprintf("the engine cannot go on: %v", err)
		return
	}
	for _, at := range []time.Time{due, next} {
		if !at.IsZero() && (p.next.IsZero() || at.Before(p.next)) {
			p.next = at
		}
	}
}

// point passes a point at which the engine could be stopped, or another worker could go first.
func (p *process) point(when, what string) error {
	if p.dead {
		return errDead
	}
	w := p.world
	w.points++
	n := w.points // others may pass points while this one gives way
	if w.switching[n] {
		w.outcome.Coverage[[2]string{when + " " + what, TroubleSwitch}]++
		w.giveWay()
		if p.dead {
			return errDead
		}
	}
	if t, ok := w.stopping[n]; ok {
		w.outcome.Coverage[[2]string{when + " " + what, t.Kind}]++
		if err := w.intervene(context.WithoutCancel(p.ctx), t); err != nil {
			w.outcome.Failure = fmt.Sprintf("%s: %v", t.Kind, err)
		}
	}
	down, ok := w.crashing[n]
	kind := TroubleCrash
	if p.ticking {
		w.ticks++
		if later, now := w.ticked[w.ticks]; now {
			down, ok, kind = later, true, TroubleTick
		}
	}
	if !ok {
		return nil
	}
	w.outcome.Coverage[[2]string{when + " " + what, kind}]++
	p.dead, p.again = true, w.now.Add(down)
	p.end()
	return errDead
}

// A crashingJournal stops its engine right before or right after a write.
type crashingJournal struct {
	Journal
	process *process
}

func (j crashingJournal) around(what string, write func() error) error {
	if err := j.process.point("before", what); err != nil {
		return err
	}
	err := write()
	if dead := j.process.point("after", what); dead != nil {
		return dead
	}
	return err
}

func (j crashingJournal) Accept(ctx context.Context, events []rules.Event) (fresh []bool, err error) {
	err = j.around("Accept", func() error {
		fresh, err = j.Journal.Accept(ctx, events)
		return err
	})
	return fresh, err
}

// AcceptFound is what Engine.AcceptFound requires.
func (j crashingJournal) AcceptFound(ctx context.Context, found []rules.Finding) ([]bool, error) {
	return j.Journal.(journal.Finder).AcceptFound(ctx, found)
}

func (j crashingJournal) CountFound(ctx context.Context, workspace string, since time.Time) (map[string]int, error) {
	return j.Journal.(journal.Finder).CountFound(ctx, workspace, since)
}

func (j crashingJournal) Seen(ctx context.Context, workspace, kind string) (map[string]string, error) {
	return j.Journal.(journal.Finder).Seen(ctx, workspace, kind)
}

func (j crashingJournal) SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error {
	return j.Journal.(journal.Finder).SetSeen(ctx, now, workspace, kind, values)
}

func (j crashingJournal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	if change.Call != nil {
		if err := j.process.early(ctx); err != nil {
			return err
		}
	}
	return j.around("Save", func() error { return j.Journal.Save(ctx, lane, change) })
}

// early lets the leases run out right before a call begins, and another engine go first: until its
// visit is over, or for as many points as the scenario says.
func (p *process) early(ctx context.Context) error {
	w := p.world
	w.begun++
	on, ok := w.stealing[w.begun]
	if !ok || p.dead {
		return nil
	}
	stolen, err := w.store.Steal(ctx)
	if !stolen {
		return err
	}
	w.outcome.Coverage[[2]string{"before Save", TroubleEarly}]++
	if on > 0 {
		w.switching[w.points+on] = true
	}
	w.giveWay()
	return nil
}

func (j crashingJournal) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	if j.process.dead {
		return false, errDead
	}
	return j.Journal.SwapCursor(ctx, name, old, value)
}

func (j crashingJournal) SetCursor(ctx context.Context, name, value string) error {
	if j.process.dead {
		return errDead
	}
	return j.Journal.SetCursor(ctx, name, value)
}

// maxClaims bounds the claims of an engine while the clock stands still.
const maxClaims = 2000

func (j crashingJournal) Claim(ctx context.Context, now time.Time, most int, except []string) ([]*journal.Lane, error) {
	p := j.process
	if p.idle++; p.idle > maxClaims {
		return nil, fmt.Errorf("work is looked for %d times at one moment: the same is done again and again", maxClaims)
	}
	if p.dead {
		return nil, errDead
	}
	lanes, err := j.Journal.Claim(ctx, now, most, except)
	p.world.activity += len(lanes)
	return lanes, err
}

// A crashingAction is an action whose every call may be the last thing that the engine does.
type crashingAction struct {
	actions.Action
	process *process
}

// Do makes a call of a step.
func (a crashingAction) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	p, d := a.process, a.process.world.desk
	what := "call of " + a.Schema().Verb
	if err := p.point("before", what); err != nil {
		return actions.Receipt{}, err
	}
	d.begin(s.Key, a.Schema().Verb)
	receipt, err := a.Action.Do(ctx, s, i)
	d.finish()
	if dead := p.point("after", what); dead != nil {
		return actions.Receipt{}, dead
	}
	return receipt, err
}
