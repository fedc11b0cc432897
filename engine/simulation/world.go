package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"

	_ "time/tzdata" // desks are in a zone, also on machines without any
)

// workspace is the name of the one workspace that a desk has.
const workspace = "desk"

// Options say how a desk is played.
type Options struct {
	Journal Kind // SQLite unless given
	Calm    bool // no troubles
	Store   *Store

	sets *[2]*rules.Set // the scenario's, where they are compiled already
}

// An Outcome is the result of playing a scenario.
type Outcome struct {
	History
	Journal  string // all that the engine recorded, in one canonical form for every kind of journal
	Failure  string // why the desk could not be played to its end; empty if it was
	Crashes  int
	Coverage Coverage
}

// Coverage counts what went wrong with what: a verb or a write, and the trouble that struck it.
type Coverage map[[2]string]int

// A world is a scenario being played: the service, the engines, and their clock. One goroutine is
// in control; everything concurrent is idle before it continues, so a scenario has one history.
type world struct {
	scenario *Scenario
	options  Options
	zone     *time.Location
	set      *rules.Set // the rules in use
	other    *rules.Set // those after a reload

	now     time.Time // the service's
	skew    time.Duration
	skewed  time.Time // until when
	desk    *desk
	store   JournalStore
	engines []*process
	tasks   []*task
	current *task

	points    int // where an engine could be stopped, so far
	waiting   []*delivery
	inbox     int // deliveries, so far
	timed     []timedAct
	holds     []hold // that are to be placed or lifted
	activity  int    // counts whatever happens
	stops     map[string]int
	fired     int
	outcome   Outcome
	switching map[int]bool
	crashing  map[int]time.Duration
	ticks     int                   // points while schedules ticked, so far
	begun     int                   // calls that were about to begin, so far
	ticked    map[int]time.Duration // those at which an engine crashes
	stealing  map[int]int           // the call, and for how many points another engine goes first; 0 is until it has nothing to do
	stopping  map[int]Trouble       // what persons do while an engine is at work
	finding   bool                  // the backfill searches for lost events
}

// A timedAct is an act or a trouble at its time.
type timedAct struct {
	at time.Time
	do func(context.Context) error
}

// A hold is a person's hold or, with lift, its end.
type hold struct {
	rule string
	lift bool
}

// Play plays a scenario. The error is that of a desk that could not be set up; what the engine does
// wrong is in the outcome.
func Play(ctx context.Context, s *Scenario, o Options) (_ *Outcome, err error) {
	w := &world{
		scenario: s, options: o, now: s.Start, stops: map[string]int{}, switching: map[int]bool{}, crashing: map[int]time.Duration{}, ticked: map[int]time.Duration{}, stealing: map[int]int{}, stopping: map[int]Trouble{},
		outcome: Outcome{Coverage: Coverage{}},
	}
	if w.zone, err = time.LoadLocation("America/Sao_Paulo"); err != nil {
		return nil, err
	}
	if o.sets == nil {
		if o.sets, err = s.compile(); err != nil {
			return nil, err
		}
	}
	w.set, w.other = o.sets[0], o.sets[1]
	if w.desk, err = openDesk(w); err != nil {
		return nil, fmt.Errorf("seed %d: %w", s.Seed, err)
	}
	defer func() { err = errors.Join(err, w.desk.close()) }()
	if w.store, err = o.Store.Open(ctx, o.Journal); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	w.plan()
	defer w.stopAll()
	if err := w.play(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.outcome.Failure = err.Error()
	}
	w.outcome.History = w.desk.history()
	if w.outcome.Journal, err = w.record(ctx); err != nil {
		return nil, err
	}
	return &w.outcome, nil
}

// plan puts acts and troubles where they strike.
func (w *world) plan() {
	s := w.scenario
	for _, a := range s.Story {
		w.timed = append(w.timed, timedAct{s.Start.Add(a.At), func(ctx context.Context) error { return w.act(ctx, a) }})
	}
	engines := 1
	if !w.options.Calm {
		for _, t := range s.Troubles {
			switch t.Kind {
			case TroubleCrash:
				for i := range max(1, t.More) {
					w.crashing[t.N+7*i] = t.For
				}
			case TroubleTick:
				w.ticked[t.N] = t.For
			case TroubleSwitch:
				w.switching[t.N] = true
			case TroubleEngines:
				if w.options.Journal == Postgres {
					engines = max(engines, min(t.More, 3))
				}
			case TroubleEarly:
				w.stealing[t.N] = t.More
			case TroubleStop, TroubleReload:
				w.stopping[t.N] = t
			case TroubleJump, TroublePrune, TroubleCopy, TroubleDown:
				w.finding = w.finding || t.Kind == TroubleDown && t.For > 2*time.Minute && w.options.Journal != Memory
				w.timed = append(w.timed, timedAct{s.Start.Add(t.At), func(ctx context.Context) error { return w.trouble(ctx, t) }})
			case TroubleLost, TroubleLate:
				w.finding = w.finding || w.options.Journal != Memory && (t.Kind == TroubleLost || t.For >= 20*time.Minute)
				w.desk.troubles = append(w.desk.troubles, t)
			default:
				w.desk.troubles = append(w.desk.troubles, t)
			}
		}
	}
	slices.SortStableFunc(w.timed, func(a, b timedAct) int { return a.at.Compare(b.at) })
	for n := range engines {
		w.engines = append(w.engines, &process{world: w, n: n})
	}
}

// play advances the clock, from one due thing to the next.
func (w *world) play(ctx context.Context) error {
	end := w.scenario.Start.Add(w.scenario.Length)
	if !w.options.Calm {
		end = end.Add(afterEnd)
	}
	if err := w.settle(ctx); err != nil { // the engines start before the story
		return err
	}
	for {
		for len(w.timed) > 0 && !w.timed[0].at.After(w.now) {
			do := w.timed[0].do
			w.timed = w.timed[1:]
			if err := do(ctx); err != nil {
				return err
			}
		}
		if err := w.settle(ctx); err != nil {
			return err
		}
		if !w.now.Before(end) {
			return nil
		}
		if err := w.advance(ctx, w.next(end)); err != nil {
			return err
		}
	}
}

// afterEnd is how much longer a scenario with troubles is played: an effect may come that much
// later.
const afterEnd = 100 * time.Second

// next is when something happens next.
func (w *world) next(end time.Time) time.Time {
	at := end
	sooner := func(t time.Time) {
		if !t.IsZero() && t.After(w.now) && t.Before(at) {
			at = t
		}
	}
	if len(w.timed) > 0 {
		sooner(w.timed[0].at)
	}
	for _, d := range w.waiting {
		sooner(d.due)
	}
	sooner(w.desk.due())
	sooner(w.skewed)
	for _, p := range w.engines {
		if !p.up() {
			sooner(p.again)
			continue
		}
		if !p.next.IsZero() {
			sooner(p.next.Add(-w.skew))
		}
		if w.finding {
			sooner(p.look.Add(-w.skew))
		}
	}
	return at
}

// advance moves the clock.
func (w *world) advance(ctx context.Context, to time.Time) error {
	// A schedule source that has not ticked for a while takes the machine to have been suspended: it
	// ticks a moment before.
	for _, p := range w.engines {
		if p.up() {
			p.lookAhead(to.Add(w.skew - time.Millisecond))
		}
	}
	w.now = to
	if !w.skewed.IsZero() && !w.now.Before(w.skewed) {
		w.skew, w.skewed = 0, time.Time{}
	}
	return w.desk.setClock(ctx, to)
}

// clock is the engines' time.
func (w *world) clock() time.Time { return w.now.Add(w.skew) }

// restless bounds the rounds while the clock stands still.
const restless = 400

// settle runs everything that is due now.
func (w *world) settle(ctx context.Context) error {
	for round := 0; ; round++ {
		if round > restless {
			return fmt.Errorf("the desk does not come to rest at %s", w.now.Format(time.RFC3339))
		}
		if err := w.desk.collect(ctx); err != nil {
			return err
		}
		for _, p := range w.engines {
			if !p.up() && !w.now.Before(p.again) {
				if err := p.launch(ctx); err != nil {
					return err
				}
			}
		}
		w.missed()
		before := w.activity
		w.run(w.bodies(ctx)...)
		if err := w.bury(); err != nil {
			return err
		}
		if err := w.desk.collect(ctx); err != nil {
			return err
		}
		if w.activity == before && !w.deliverable() && len(w.holds) == 0 {
			return nil
		}
	}
}

// bodies are the tasks of this moment, to run concurrently.
func (w *world) bodies(ctx context.Context) (list []func()) {
	holds := w.holds
	w.holds = nil
	if len(holds) > 0 {
		list = append(list, func() { w.hold(ctx, holds) })
	}
	if w.deliverable() {
		list = append(list, w.deliver)
	}
	workers := 1
	if len(w.switching) > 0 {
		workers = 2
	}
	for _, p := range w.engines {
		p.next = time.Time{} // its workers set it
		for n := range workers {
			if p.up() {
				list = append(list, func() { p.tick(n == 0) })
			}
		}
	}
	if len(holds) > 0 && w.scenario.Seed%2 == 0 {
		list = append(list[1:], list[0]) // what is stopped is stopped while the engine is at work
	}
	return list
}

// bury removes engines that were stopped in the middle of something.
func (w *world) bury() error {
	for _, p := range w.engines {
		if p.up() && p.dead {
			if err := p.close(true); err != nil {
				return err
			}
		}
		if p.failure != "" {
			return errors.New(p.failure)
		}
	}
	if w.outcome.Failure != "" {
		return errors.New(w.outcome.Failure)
	}
	return nil
}

// stopAll ends what is left.
func (w *world) stopAll() {
	for _, p := range w.engines {
		if p.up() {
			_ = p.close(false) // the desk is over
		}
	}
}

// compile reads the scenario's rules, and those after a reload.
func (s *Scenario) compile() (*[2]*rules.Set, error) {
	verbs, err := catalog()
	if err != nil {
		return nil, err
	}
	var sets [2]*rules.Set
	for i, list := range [][]Rule{s.Rules, s.Other} {
		if i > 0 && list == nil {
			continue
		}
		text := s.YAML(list)
		set, problems := rules.Compile([]*rules.File{rules.Parse("desk.yaml", text)}, rules.Options{Catalog: verbs})
		if err := problems.Err(); err != nil {
			return nil, fmt.Errorf("seed %d: %w in\n%s", s.Seed, err, text)
		}
		sets[i] = set
	}
	return &sets, nil
}

// catalog returns the verbs that ship with the binary.
func catalog() (*rules.Catalog, error) {
	client, err := service.New(service.Options{BaseURL: "http://127.0.0.1/v1", APIKey: "unused"})
	if err != nil {
		return nil, err
	}
	verbs, err := builtin.New(builtin.Options{Client: client, Directory: service.NewDirectory(client)})
	if err != nil {
		return nil, err
	}
	registry, err := actions.NewRegistry(verbs...)
	if err != nil {
		return nil, err
	}
	return registry.Catalog()
}

// ruleOfStep returns the rule of a step's key.
func ruleOfStep(key string) string {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}
