package backtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// changed names the rules that differ from the recorded ones at any time, removed ones included.
func (b *bench) changed(set *rules.Set) map[string]bool {
	out := make(map[string]bool)
	for _, r := range set.Rules {
		s := b.seen[r.ID]
		switch {
		case s == nil:
			if r.When.Schedule != nil {
				out[r.ID] = true // it never ticked
			}
		case s.absent, len(s.versions) != 1, !s.versions[r.Version]:
			out[r.ID] = true
		}
	}
	if !b.Only {
		for id := range b.seen {
			if set.Rule(id) == nil {
				out[id] = true
			}
		}
	}
	return out
}

// compareSets names the rules that differ.
func compareSets(before, after *rules.Set) map[string]bool {
	out := make(map[string]bool)
	for _, r := range slices.Concat(before.Rules, after.Rules) {
		x, y := before.Rule(r.ID), after.Rule(r.ID)
		if x == nil || y == nil || x.Version != y.Version || !x.SameSample(y) {
			out[r.ID] = true
		}
	}
	return out
}

// A timeline says which rules a replay has at an event.
type timeline struct {
	set *rules.Set    // those that it begins with
	all []*rules.Rule // including later ones: what they listen to counts from the beginning

	// at returns the rules from an event on; nil leaves them as they are.
	at func(ctx context.Context, e *journal.Event) (*rules.Set, error)

	// given says that the rules are not the recorded ones: what their effects caused may not have
	// happened, and ticks may differ.
	given bool
}

// givenRules are the same from the beginning to the end.
func (b *bench) givenRules(set *rules.Set, only map[string]bool) timeline {
	var list []*rules.Rule
	for _, r := range set.Rules {
		if only[r.ID] {
			list = append(list, r)
		}
	}
	return timeline{
		set:   (&rules.Set{Calendars: set.Calendars}).With(list...),
		at:    func(context.Context, *journal.Event) (*rules.Set, error) { return nil, nil },
		given: true,
	}
}

// recordedRules are at each event what they were then.
func (b *bench) recordedRules(ctx context.Context, only map[string]bool) (timeline, error) {
	var all []*rules.Rule
	for id := range only {
		if b.seen[id] == nil {
			continue
		}
		for version := range b.seen[id].versions {
			rule, err := b.version(ctx, id, version)
			if err != nil {
				return timeline{}, err
			}
			if rule != nil {
				all = append(all, rule)
			}
		}
	}
	now := make(map[string]*rules.Rule)
	return timeline{
		set: (&rules.Set{}).With(),
		all: all,
		at: func(ctx context.Context, e *journal.Event) (*rules.Set, error) {
			news := false
			for _, v := range e.Verdicts {
				if !only[v.Rule] || v.Version == "" || now[v.Rule] != nil && now[v.Rule].Version == v.Version {
					continue
				}
				rule, err := b.version(ctx, v.Rule, v.Version)
				if err != nil {
					return nil, err
				}
				if rule == nil {
					delete(now, v.Rule)
				} else {
					now[v.Rule] = rule
				}
				news = true
			}
			if !news {
				return nil, nil
			}
			return (&rules.Set{}).With(slices.Collect(maps.Values(now))...), nil
		},
	}, nil
}

// version returns a rule as it was, or nil if that is not recorded, as for a rule that never fired,
// or cannot be read any more.
func (b *bench) version(ctx context.Context, id, hash string) (*rules.Rule, error) {
	b.compiling.Lock()
	defer b.compiling.Unlock()
	if rule, ok := b.versions[hash]; ok {
		return rule, nil
	}
	source, err := b.Journal.Version(ctx, hash)
	if err != nil && !errors.Is(err, journal.ErrNoVersion) {
		return nil, err
	}
	var rule *rules.Rule
	if err == nil {
		set, _ := rules.Compile([]*rules.File{rules.Parse(id+".yaml", []byte(source))}, rules.Options{Catalog: b.catalog, ReadFile: noFiles})
		rule = set.Rule(id)
	}
	if rule != nil && rule.Version != hash {
		rule = nil
	}
	b.unreadable[id] = b.unreadable[id] || err == nil && rule == nil
	b.versions[hash] = rule
	return rule, nil
}

// noFiles refuses to read files: a recorded rule is self-contained.
func noFiles(_, name string) ([]byte, error) { return nil, fmt.Errorf("%s is not recorded", name) }
