package backtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A replay gives the recorded events to an engine again.
type replay struct {
	*bench
	timeline timeline
	set      *rules.Set // at hand
	engine   *engine.Engine
	journal  *replayJournal
	clock    time.Time
	first    time.Time // of the recorded events
	due      time.Time // when the engine has something to do
	presence teamActivity
	ticks    ticks

	unscheduled map[string]bool // rules whose recorded ticks are not theirs
	nameless    map[pair]string // unknown names that a rule reads
	unknown     map[string]string
	after       map[string]string
	values      map[string]any  // of steps, by their keys
	repeated    map[string]bool // recorded steps that were taken again, by their keys
	counts      bool            // rules count events, whatever they are
	watches     bool            // a rule reads whether the team was active
	wanted      map[string]bool // event types that matter

	*outcomes
}

// outcomes are the results of a replay.
type outcomes struct {
	treated map[pair]*Treatment
	trigger map[string]string // the ids of events, by the keys of runs
	gaps    []Gap
	blind   map[string]bool // rules whose results are unknown
	given   *rules.Set      // the rules, where they are the same throughout
	failed  error           // why the replay cannot continue
}

func newOutcomes(t timeline) *outcomes {
	o := &outcomes{treated: make(map[pair]*Treatment), trigger: make(map[string]string), blind: make(map[string]bool)}
	if t.given {
		o.given = t.set
	}
	return o
}

// replay evaluates rules on the recorded events again.
func (b *bench) replay(ctx context.Context, t timeline, progress func(what string, done, of int)) (*outcomes, error) {
	if len(t.set.Rules) == 0 && t.given {
		return newOutcomes(t), nil
	}
	r := &replay{
		bench: b, timeline: t, set: t.set, presence: make(teamActivity), unscheduled: make(map[string]bool), nameless: make(map[pair]string),
		unknown: make(map[string]string), after: make(map[string]string), values: make(map[string]any), repeated: make(map[string]bool),
		outcomes: newOutcomes(t),
		journal:  newReplayJournal(b),
	}
	return r.outcomes, r.run(ctx, progress)
}

func (r *replay) run(ctx context.Context, progress func(what string, done, of int)) error {
	verbs := make([]actions.Action, len(r.Schemas))
	for i, s := range r.Schemas {
		verbs[i] = &action{replay: r, schema: s}
	}
	registry, err := actions.NewRegistry(verbs...)
	if err != nil {
		return err
	}
	w := engine.Workspace{Name: r.Workspace, Actions: registry, Desk: recordedDesk{r}, Location: r.Location, Safety: engine.Safety{Internal: r.internalChat}}
	if r.engine, err = engine.New(engine.Options{Journal: r.journal, Observer: r}, w); err != nil {
		return err
	}
	if err := r.use(r.set); err != nil {
		return err
	}
	return r.feed(ctx, progress)
}

// internalChat returns whose chat an event was in, as recorded.
func (r *replay) internalChat(ctx context.Context, _ actions.Subject, _ func() (any, error)) (whose string, err error) {
	q, ok := engine.InquiryOf(ctx)
	if !ok {
		return "", nil // nothing bounds the messages of a replay
	}
	p, err := r.past(ctx, q.Event.ID)
	if err != nil {
		return "", r.broken(err)
	}
	if p.event != nil {
		v, _ := engine.AnswerTo(p.event.Answers, journal.AnswerInternal)
		whose, _ = v.(string)
	}
	return whose, nil
}

// broken ends the replay because the record could not be read. The engine would take such an error
// for one of the service, and continue without the fact.
func (r *replay) broken(err error) error {
	r.failed = cmp.Or(r.failed, err)
	return actions.Permanent(err)
}

// use gives the engine its rules.
func (r *replay) use(set *rules.Set) error {
	r.set, r.counts, r.watches, r.wanted = set, false, false, make(map[string]bool)
	for _, rule := range slices.Concat(set.Rules, r.timeline.all) {
		for _, typ := range rule.When.Events {
			r.wanted[typ] = true
		}
		for _, m := range rule.CancelOn {
			r.wanted[m.Event] = true
		}
		for s := range rule.Steps() {
			for _, typ := range s.Events {
				r.wanted[typ] = true
			}
		}
		r.counts = r.counts || strings.Contains(rule.Source(), "count_events")
		r.watches = r.watches || strings.Contains(rule.Source(), "human_active")
	}
	return r.engine.SetRules(r.Workspace, set)
}

// feed passes every event to the engine at its time, and runs what is due in between.
func (r *replay) feed(ctx context.Context, progress func(what string, done, of int)) error {
	next, stop := iter.Pull2(r.recordedEvents(ctx, r.recall))
	defer stop()
	e, err, more := next()
	if more && err == nil {
		r.first = e.ReceivedAt
	}
	if err := r.schedules(ctx); err != nil {
		return err
	}
	for done := 0; ; {
		if err != nil {
			return err
		}
		at, ok := r.moment(e, more)
		if !ok {
			return nil
		}
		if at.After(r.clock) {
			r.clock = at
		}
		var batch []rules.Event
		for more && !e.ReceivedAt.After(r.clock) {
			if r.mayBeOwn(e) && len(batch) > 0 {
				// Whether it was sent depends on the events before it.
				if err := r.work(ctx, batch); err != nil {
					return err
				}
				batch = nil
			}
			given, giveErr := r.isRelevant(ctx, e)
			if giveErr != nil {
				return giveErr
			}
			if given {
				batch = append(batch, e.Event)
				r.journal.coming[e.ID] = e.Seq
			}
			if done++; done%pageSize == 0 && progress != nil {
				progress("let the rules decide again", done, r.total)
			}
			if e, err, more = next(); err != nil {
				return err
			}
		}
		if err := r.work(ctx, append(batch, r.ticks.dueTicks(r.Workspace, r.clock)...)); err != nil {
			return err
		}
	}
}

// moment returns when something happens next: an event, a tick, or a timer of the engine. It is not
// ok if nothing more does.
func (r *replay) moment(e *journal.Event, more bool) (at time.Time, ok bool) {
	for _, t := range []time.Time{r.due, r.ticks.next()} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if more && (at.IsZero() || e.ReceivedAt.Before(at)) {
		at = e.ReceivedAt
	}
	return at, !at.IsZero() && !at.After(r.Until)
}

// work runs the engine until nothing is due.
func (r *replay) work(ctx context.Context, batch []rules.Event) error {
	if len(batch) > 0 {
		if _, err := r.engine.Accept(ctx, batch...); err != nil {
			return err
		}
	} else if r.due.IsZero() || r.due.After(r.clock) {
		return nil
	}
	due, err := r.engine.Tick(ctx, r.clock)
	if r.failed != nil {
		err = r.failed
	}
	if err != nil {
		return fmt.Errorf("at %s: %w", r.clock.Format(time.RFC3339), err)
	}
	if !due.IsZero() && !due.After(r.clock) {
		return errors.New("the rules do not come to rest: they start each other, or themselves, again and again")
	}
	r.due = due
	return nil
}

// isRelevant reports whether an event is for the rules at hand.
func (r *replay) isRelevant(ctx context.Context, e *journal.Event) (bool, error) {
	set, err := r.timeline.at(ctx, e)
	if err != nil {
		return false, err
	}
	if set != nil {
		if err := r.use(set); err != nil {
			return false, err
		}
	}
	if e.Rule != "" {
		rule := r.set.Rule(e.Rule)
		ticks := e.Type == "schedule"
		return rule != nil && !(ticks && (r.unscheduled[e.Rule] || rule.When.Schedule == nil)), nil
	}
	wanted := r.wanted[e.Type] || r.counts
	if !wanted && e.Type != vocabulary.MessageSent || !r.watches && !r.mayBeOwn(e) {
		return wanted, nil
	}
	facts, about, err := r.carried(ctx, e)
	if err != nil {
		return false, err
	}
	if r.watches {
		r.presence.addEvent(e, facts, about.Conversation)
	}
	unsent, err := r.unsent(ctx, e, about.Message)
	return wanted && !unsent, err
}

// mayBeOwn reports whether an event may be a message of a run that would not have sent it.
func (r *replay) mayBeOwn(e *journal.Event) bool {
	return r.timeline.given && e.Type == vocabulary.MessageSent
}

// unsent reports whether an event is a message of a run that would not have sent it.
func (r *replay) unsent(ctx context.Context, e *journal.Event, message string) (bool, error) {
	if !r.mayBeOwn(e) || message == "" {
		return false, nil
	}
	list, err := r.Journal.Caused(ctx, r.Workspace, e.Type, []string{engine.ObjectKey(message)}, time.Time{})
	if err != nil || len(list) == 0 || r.set.Rule(list[0].Rule) == nil {
		return false, err
	}
	key, err := r.journal.keyOf(ctx, list[0].Run)
	if err != nil || key == "" {
		return false, err
	}
	t := r.treated[pair{list[0].Rule, r.trigger[key]}]
	if t == nil {
		return true, nil
	}
	for _, done := range t.Effects {
		if slices.Contains(r.catalog.Verb(done.Verb).Emits, e.Type) {
			return false, nil
		}
	}
	return t.NotRecorded == "", nil
}
