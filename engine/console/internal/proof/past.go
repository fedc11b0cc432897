// Package proof shows what a rule does before it is in use: what its present text changes for
// customers of the last days, a made-up conversation with it, and its tests.
package proof

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Reached is a customer whom a rule would have reached, and what it would have done.
type Reached struct {
	Name       string // empty if it is not known
	Was, Would []backtest.Effect
}

// A Difference says for whom a rule would have done something else than the version in use.
type Difference struct {
	Same    []Reached
	New     []Reached // only the present text reaches them
	Gone    []Reached // only the version in use reaches them
	Other   []Reached // both reach them, with something else or at another time
	Unknown int       // events of which the record does not say what one of the two would have done
}

// Bounds of what is looked at of the past: a person waits, and the engine shares the machine.
const (
	pastDays   = 14
	pastEvents = 2000
)

// LastEvents returns since when recorded events are looked at: the last days, or fewer if there are
// too many events in them.
func LastEvents(ctx context.Context, j journal.Reader, workspace string, now time.Time) (since time.Time, bounded bool, err error) {
	since = now.Add(-pastDays * 24 * time.Hour)
	list, err := j.ListEvents(ctx, journal.EventFilter{Workspace: workspace, Since: since, Limit: pastEvents})
	if err != nil || len(list) < pastEvents {
		return since, false, err
	}
	return list[len(list)-1].ReceivedAt, true, nil
}

// Past works out what a rule would have done on the last events, beside what another version of it
// would have done.
func Past(ctx context.Context, o backtest.Options, now time.Time, before, rule *rules.Set) (r *backtest.Result, bounded bool, err error) {
	o.Until, o.Only = now, true
	if o.Since, bounded, err = LastEvents(ctx, o.Journal, o.Workspace, now); err != nil {
		return nil, false, err
	}
	r, err = backtest.Diff(ctx, o, before, rule)
	return r, bounded, err
}

// sameMoment is how far apart two effects are that count as one moment.
const sameMoment = time.Minute

// Compare takes the differences between two versions of a rule apart by customer.
func Compare(r *backtest.Result) Difference {
	type pair struct{ rule, event string }
	differs, unknown := map[pair]bool{}, map[pair]bool{}
	for _, d := range r.Differences {
		differs[pair{d.Rule, d.Event}] = true
	}
	for _, g := range r.NotRecorded {
		unknown[pair{g.Rule, g.Event}] = true
	}
	var keys []string
	customers := map[string]*Reached{}
	of := func(e backtest.Effect) *Reached {
		key := CustomerKey(e)
		if customers[key] == nil {
			keys = append(keys, key)
			customers[key] = &Reached{Name: e.Who}
		}
		return customers[key]
	}
	for _, e := range r.Effects {
		at := pair{e.Rule, e.Event}
		if unknown[at] {
			continue
		}
		c := of(e)
		c.Would = append(c.Would, e)
		if !differs[at] {
			c.Was = append(c.Was, e)
		}
	}
	for _, d := range r.Differences {
		if unknown[pair{d.Rule, d.Event}] {
			continue
		}
		for _, e := range d.Was.Effects {
			if !e.At.Before(r.Since) && !e.At.After(r.Until) {
				c := of(e)
				c.Was = append(c.Was, e)
			}
		}
	}
	out := Difference{Unknown: len(unknown)}
	for _, key := range keys {
		c := customers[key]
		slices.SortStableFunc(c.Was, func(a, b backtest.Effect) int { return a.At.Compare(b.At) })
		switch {
		case len(c.Was) == 0:
			out.New = append(out.New, *c)
		case len(c.Would) == 0:
			out.Gone = append(out.Gone, *c)
		case slices.EqualFunc(c.Was, c.Would, sameEffect):
			out.Same = append(out.Same, *c)
		default:
			out.Other = append(out.Other, *c)
		}
	}
	return out
}

// CustomerKey tells apart customers of one name.
func CustomerKey(e backtest.Effect) string { return e.Who + "\x00" + e.About.Conversation }

// sameEffect reports whether a customer would not notice which of two effects it was.
func sameEffect(a, b backtest.Effect) bool {
	x, err := json.Marshal(a.Arguments)
	y, err2 := json.Marshal(b.Arguments)
	return err == nil && err2 == nil && a.Verb == b.Verb && string(x) == string(y) && a.At.Sub(b.At).Abs() <= sameMoment
}
