package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// Bounds of a trial: a person waits for it, and the engine shares the machine.
const (
	tryTime  = 20 * time.Second
	tryShown = 100
	tryMost  = 2               // concurrent trials, of different persons
	tryWait  = 5 * time.Second // for one of these
)

// tryView is what a trial found.
type tryView struct {
	Since    time.Time
	Until    time.Time
	Events   int
	Effects  []effectView
	More     int // effects that are not shown
	People   int // customers affected
	Messages int
	Unknown  int // events with an unknown result, because a fact that the rule reads was not recorded
	Waiting  int
	Wrong    string // why it could not be tried

	Bounded   bool // there were too many events for all the days
	Used      bool // there is a version in use
	Unchanged bool // from the version in use
	Groups    []fateView
	NotKnown  int // events that are not compared
}

// A fateView is what becomes of some customers: the same, new, gone or other.
type fateView struct {
	Fate      string
	N         int
	Customers []customerView
	More      int // customers that are not shown
}

// A customerView is a customer with what the version in use and the present text would have done.
type customerView struct {
	Name       string
	Was, Would []effectView
}

// tried returns a set with only the rule to try, or says in a language why it cannot be tried.
func (f *draftFile) tried(ctx context.Context, l rules.Language) (*rules.Set, error) {
	set, problems, err := f.check(ctx)
	if err != nil {
		return nil, err
	}
	r := set.Rule(f.rule)
	if r == nil {
		reason := ""
		for _, p := range problems.In(l) {
			if p.Severity == "error" {
				reason = engine.Harmless(p.Message)
				break
			}
		}
		return nil, problem(http.StatusConflict, "try.wrong", reason)
	}
	return (&rules.Set{Calendars: set.Calendars}).With(r), nil
}

// trial runs a slow operation, after the person's other trials and if not too many others run,
// within a timeout. It ends with the request: a page that asks anew gives up what it asked before.
func (c *Console) trial(q *request, do func(ctx context.Context) error) error {
	leave, err := c.tried.enter(q.ctx(), q.person())
	if err != nil {
		return err
	}
	defer leave()
	select {
	case c.trying <- struct{}{}:
		defer func() { <-c.trying }()
	case <-time.After(c.patience):
		return problem(http.StatusServiceUnavailable, "try.busy")
	case <-q.ctx().Done():
		return q.ctx().Err()
	}
	ctx, cancel := context.WithTimeout(q.ctx(), tryTime)
	defer cancel()
	err = do(ctx)
	if errors.Is(err, context.DeadlineExceeded) && q.ctx().Err() == nil {
		return problem(http.StatusConflict, "try.long")
	}
	return err
}

// An effectView is what a rule would do, in words.
type effectView struct {
	At            time.Time
	Words, Quoted string // what, and what would be written
}

func (q *request) effect(at time.Time, e actions.Effect) effectView {
	words, quoted := e.Would(q.words().RulesLanguage())
	return effectView{at, engine.Harmless(words), engine.Harmless(quoted)}
}

// try tries a rule, and shows the result.
func (c *Console) try(q *request, do func(ctx context.Context, f *draftFile, set *rules.Set) (*tryView, error)) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	view := &tryView{}
	err = c.trial(q, func(ctx context.Context) error {
		set, err := f.tried(ctx, q.words().RulesLanguage())
		if err == nil {
			view, err = do(ctx, f, set)
		}
		return err
	})
	if told, ok := errors.AsType[*pageError](err); ok && told.status == http.StatusConflict {
		view, err = &tryView{Wrong: q.words().T(told.key, told.args...)}, nil
	}
	if err != nil {
		return err
	}
	text, err := q.renderPart("write", "tried", view)
	if err != nil {
		return err
	}
	return q.json(map[string]string{"html": text})
}

// writePast tries a rule on the last events that were recorded, and compares it with the version
// in use on the same events.
func (c *Console) writePast(q *request) error {
	return c.try(q, func(ctx context.Context, f *draftFile, set *rules.Set) (*tryView, error) {
		return c.past(ctx, q, f, set)
	})
}

// past says what a rule would have done on the last events, beside the version in use.
func (c *Console) past(ctx context.Context, q *request, f *draftFile, set *rules.Set) (*tryView, error) {
	e := f.space.Editing
	if e.Desk == nil {
		return nil, problem(http.StatusConflict, "try.nopast")
	}
	desk, err := e.Desk(ctx)
	if err != nil {
		return nil, err
	}
	used := f.inUse()
	before := (&rules.Set{}).With()
	if unchanged := used.Rule(f.rule) != nil && used.Rule(f.rule).Version == set.Rule(f.rule).Version; !unchanged {
		before = used
	}
	o := backtest.Options{Journal: c.options.Journal, Desk: desk, Schemas: e.Schemas, Workspace: f.space.Name, Location: f.space.Location}
	r, bounded, err := proof.Past(ctx, o, q.now, before, set)
	if err != nil {
		return nil, err
	}
	v := c.pastView(q, f, r)
	v.Bounded, v.Used = bounded, len(used.Rules) > 0
	v.Unchanged = v.Used && len(before.Rules) == 0
	if v.Used && !v.Unchanged {
		c.compareView(q, f, v, proof.Compare(r))
	}
	return v, nil
}

// inUse returns a set with only the rule as it is in use, live or in shadow; none if it is not.
func (f *draftFile) inUse() *rules.Set {
	standing := f.space.book().Set
	set := &rules.Set{Calendars: standing.Calendars}
	if r := standing.Rule(f.rule); r != nil && r.Stage != rules.Draft && f.file != "" && r.File == f.path() {
		return set.With(r)
	}
	return set.With()
}

// pastView describes what a rule would have done.
func (c *Console) pastView(q *request, f *draftFile, r *backtest.Result) *tryView {
	v := &tryView{Since: c.at(f.space.Name, r.Since), Until: c.at(f.space.Name, r.Until), Events: r.Events}
	people := map[string]bool{}
	for _, e := range r.Effects {
		people[proof.CustomerKey(e)] = true
		if e.Verb == vocabulary.SendMessage {
			v.Messages++
		}
		if len(v.Effects) == tryShown {
			v.More++
			continue
		}
		v.Effects = append(v.Effects, c.pastEffect(q, f, e))
	}
	v.People = len(people)
	unknown := map[string]bool{} // both versions may ask for it
	for _, g := range r.NotRecorded {
		unknown[g.Event] = true
	}
	v.Unknown = len(unknown)
	for _, note := range r.Rules {
		v.Waiting += note.Waiting
	}
	return v
}

func (c *Console) pastEffect(q *request, f *draftFile, e backtest.Effect) effectView {
	return q.effect(c.at(f.space.Name, e.At), actions.Effect{Verb: e.Verb, Who: e.Who, Args: e.Arguments})
}

// compareView describes for whom the version in use would have done something else.
func (c *Console) compareView(q *request, f *draftFile, v *tryView, d proof.Difference) {
	v.NotKnown = d.Unknown
	effects := func(list []backtest.Effect) (out []effectView) {
		for _, e := range list {
			out = append(out, c.pastEffect(q, f, e))
		}
		return out
	}
	for _, group := range []struct {
		fate string
		list []proof.Reached
	}{{"same", d.Same}, {"new", d.New}, {"gone", d.Gone}, {"other", d.Other}} {
		g := fateView{Fate: group.fate, N: len(group.list)}
		for _, one := range group.list[:min(len(group.list), tryShown)] {
			shown := customerView{Name: cmp.Or(engine.Harmless(one.Name), q.words().T("verb.somebody")), Would: effects(one.Would)}
			if group.fate == "gone" || group.fate == "other" {
				shown.Was = effects(one.Was)
			}
			g.Customers = append(g.Customers, shown)
		}
		g.More = g.N - len(g.Customers)
		if g.N > 0 || g.Fate == "same" {
			v.Groups = append(v.Groups, g)
		}
	}
}
