package backtest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// pageSize is how many events are read at once.
const pageSize = 500

// A seenRule is what the record shows of a rule.
type seenRule struct {
	versions map[string]bool // in which it gave verdicts
	absent   bool            // it was not evaluated on an event that matches
	ticks    bool            // its schedule ticked
	triggers map[string]bool // versions in which it ticked
}

// A recorded is what was recorded of a rule's run.
type recorded struct {
	seq   int64     // of the event
	at    time.Time // when it was received
	who   string
	treat Treatment
	late  time.Duration // how old the event was when it was decided
}

// recordedEvents iterates over the events of the workspace in the order of their recording, those
// of the warm-up included.
//
// Look, if given, is called with each page of them first.
func (b *bench) recordedEvents(ctx context.Context, look func(context.Context, []*journal.Event) error) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		f := journal.EventFilter{Workspace: b.Workspace, Since: b.from, Forward: true, Limit: pageSize}
		for {
			page, err := b.Journal.ListEvents(ctx, f)
			if err == nil && look != nil {
				err = look(ctx, page)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page {
				if !e.ReceivedAt.After(b.Until) && !yield(e, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			f.After, f.Since = page[len(page)-1].Seq, time.Time{} // what is behind the first page was received later
		}
	}
}

// survey reads the record once: the evaluations of each rule, their versions, and the effects.
func (b *bench) survey(ctx context.Context, set *rules.Set) error {
	heard := make(map[string]bool)
	for _, r := range set.Rules {
		for _, typ := range r.When.Events {
			heard[typ] = true
		}
	}
	var page []*carriedEvent
	var candidates []*rules.Rule
	for e, err := range b.recordedEvents(ctx, nil) {
		if err != nil {
			return err
		}
		b.total++
		if b.within(e.ReceivedAt) {
			b.events++
		}
		one := &carriedEvent{Event: e}
		if heard[e.Type] || fired(e) {
			if one.facts, _, err = b.carried(ctx, e); err != nil {
				return err
			}
		}
		candidates = candidates[:0]
		if e.Rule == "" && heard[e.Type] {
			candidates = set.Candidates(candidates, e.Type, one.facts)
			b.doubt(set, e, one.facts)
		}
		b.noteVerdicts(e, candidates)
		if fired(e) {
			page = append(page, one)
		}
		if b.total%pageSize == 0 {
			b.Progress("read the journal", b.total, 0)
			if err := b.remember(ctx, page); err != nil {
				return err
			}
			page = page[:0]
		}
	}
	return b.remember(ctx, page)
}

// carried reads what an event carries, or nothing if it cannot be read, which rules see as an
// error.
func (b *bench) carried(ctx context.Context, e *journal.Event) (map[string]any, actions.Subject, error) {
	facts, about, err := b.Desk.Carried(ctx, e.Event)
	if err != nil && actions.IsPermanent(err) {
		return nil, actions.Subject{}, nil
	}
	return facts, about, err
}

// A carriedEvent is an event with what it carries.
type carriedEvent struct {
	*journal.Event
	facts map[string]any
}

// noteVerdicts notes which rules have a verdict on an event, and which should have.
func (b *bench) noteVerdicts(e *journal.Event, candidates []*rules.Rule) {
	for _, v := range e.Verdicts {
		if v.Version == "" {
			continue
		}
		s := b.of(v.Rule)
		s.versions[v.Version] = true
		if e.Type == "schedule" {
			s.ticks = true
			s.triggers[v.Version] = true
		}
	}
	if !e.Decided || undecidable(e) {
		return
	}
	for _, r := range candidates {
		if !slices.ContainsFunc(e.Verdicts, func(v journal.Verdict) bool { return v.Rule == r.ID }) {
			b.of(r.ID).absent = true
		}
	}
}

// doubt adds rules that may match an event whose names are unknown now.
func (b *bench) doubt(set *rules.Set, e *journal.Event, facts map[string]any) {
	kept := maps.Clone(facts)
	for name, fact := range facts {
		if len(unnamed(fact)) > 0 {
			delete(kept, name)
		}
	}
	if len(kept) < len(facts) {
		for _, r := range set.Candidates(nil, e.Type, kept) {
			b.of(r.ID)
		}
	}
}

func (b *bench) of(rule string) *seenRule {
	s := b.seen[rule]
	if s == nil {
		s = &seenRule{versions: make(map[string]bool), triggers: make(map[string]bool)}
		b.seen[rule] = s
	}
	return s
}

// undecidable reports whether the engine gave up on an event: no rule was evaluated.
func undecidable(e *journal.Event) bool {
	return len(e.Verdicts) == 1 && e.Verdicts[0].Outcome == journal.Failed && e.Verdicts[0].Version == ""
}

// remember stores the effects of the runs of events.
func (b *bench) remember(ctx context.Context, page []*carriedEvent) error {
	bySeq := make(map[int64]*carriedEvent, len(page))
	seqs := make([]int64, len(page))
	for i, e := range page {
		bySeq[e.Seq], seqs[i] = e, e.Seq
	}
	runs, err := b.runsOf(ctx, seqs...)
	if err != nil {
		return err
	}
	for _, r := range runs {
		e := bySeq[r.Event]
		t, err := b.treatment(r, e.ID)
		if err != nil {
			return err
		}
		t.Outcome = journal.Fired
		who, err := b.customer(ctx, e.Event, e.facts, r)
		if err != nil {
			return err
		}
		b.pairs[pair{r.Rule, e.ID}] = &recorded{seq: e.Seq, at: e.ReceivedAt, who: who, treat: t}
	}
	return nil
}

// runsOf reads the runs that events started.
func (b *bench) runsOf(ctx context.Context, seqs ...int64) ([]*journal.Run, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	f := journal.RunFilter{Events: seqs, Limit: pageSize}
	var all []*journal.Run
	for {
		runs, err := b.Journal.ListRuns(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("read what was done: %w", err)
		}
		all = append(all, runs...)
		if len(runs) < pageSize {
			return all, nil
		}
		f.Before = runs[len(runs)-1].ID
	}
}

// within reports whether a time is in the window.
func (b *bench) within(t time.Time) bool { return !t.Before(b.Since) && !t.After(b.Until) }
