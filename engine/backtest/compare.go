package backtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// compareWithRecord collects what would have been done, and how that differs from what was done.
func (b *bench) compareWithRecord(ctx context.Context, set *rules.Set, changed map[string]bool, base, cand *outcomes) (*Result, error) {
	r := b.newResult(set, changed)
	for p, was := range b.pairs {
		if !changed[p.rule] && set.Rule(p.rule) != nil {
			r.addEffects(b, p, was, &was.treat)
		}
	}
	if len(changed) == 0 {
		return r.sorted(), nil
	}
	r.NotRecorded = append(r.NotRecorded, cand.gaps...)
	for _, p := range b.pairsOf(changed, cand) {
		was, err := b.recordedPair(ctx, p)
		if err != nil {
			return nil, err
		}
		would := cand.of(p)
		before := base.of(p)
		if !b.unreadable[p.rule] && was.treat.Outcome != "" {
			would = besides(was, before, would, set.Rule(p.rule))
		}
		r.compare(b, p, was, would, roughly)
	}
	return r.sorted(), nil
}

// besides accounts for outside causes. If the recorded rules would have had the same result, the
// recorded result stands. What a person had paused or cancelled, and what was decided too late,
// would have been so with other rules too.
func besides(was *recorded, before, would *Treatment, rule *rules.Rule) *Treatment {
	if before.NotRecorded != "" || would.NotRecorded != "" {
		return would
	}
	late := was.treat.Outcome == journal.Late && before.Outcome != journal.Late && rule != nil && rule.Late.SkipAfter > 0 && was.late > rule.Late.SkipAfter
	if before.same(would, exactly) || was.treat.Outcome == journal.Paused || late {
		return &was.treat
	}
	if was.treat.State == journal.Cancelled && before.State != journal.Cancelled && !was.treat.ended.IsZero() {
		cut := *would
		cut.State, cut.Reason = journal.Cancelled, was.treat.Reason
		late := func(e Effect) bool { return e.At.After(was.treat.ended) }
		// The event that ended the run came before the engine got to what was due: that step was not
		// taken, nor any after it.
		if n := len(was.treat.Effects); n < len(before.Effects) && !late(before.Effects[n]) {
			undone := before.Effects[n].At
			late = func(e Effect) bool { return !e.At.Before(undone) }
		}
		cut.Effects = slices.DeleteFunc(slices.Clone(would.Effects), late)
		return &cut
	}
	return would
}

// compareReplays collects the differences between two rule sets.
func (b *bench) compareReplays(ctx context.Context, changed map[string]bool, after *rules.Set, old, fresh *outcomes) (*Result, error) {
	r := b.newResult(after, changed)
	r.NotRecorded = append(append(r.NotRecorded, old.gaps...), fresh.gaps...)
	for _, p := range b.pairsOf(changed, old, fresh) {
		of, err := b.recordedPair(ctx, p)
		if err != nil {
			return nil, err
		}
		was := &recorded{seq: of.seq, at: of.at, who: of.who, treat: *old.of(p)}
		if was.treat.NotRecorded != "" {
			r.gap(b, p, was.at, was.treat.NotRecorded)
			r.addEffects(b, p, was, fresh.of(p))
			continue
		}
		r.compare(b, p, was, fresh.of(p), exactly)
	}
	return r.sorted(), nil
}

// pairsOf lists what to compare. It skips pairs without an effect, recorded or replayed: most
// evaluations are of this kind, and each would cost a lookup in the journal.
func (b *bench) pairsOf(changed map[string]bool, replays ...*outcomes) []pair {
	all := make(map[pair]bool)
	for p := range b.pairs {
		if changed[p.rule] && len(replays) == 1 {
			all[p] = true
		}
	}
	for _, o := range replays {
		for p, t := range o.treated {
			if !t.isEmpty() {
				all[p] = true
			}
		}
	}
	list := make([]pair, 0, len(all))
	for p := range all {
		if !slices.ContainsFunc(replays, func(o *outcomes) bool { return o.blind[p.rule] }) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b pair) int { return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.rule, b.rule)) })
	return list
}

// of returns the treatment of an event by a rule, or an empty one.
func (o *outcomes) of(p pair) *Treatment {
	if t := o.treated[p]; t != nil {
		return t
	}
	if o.given != nil && o.given.Rule(p.rule) == nil {
		return &Treatment{}
	}
	return &Treatment{Outcome: journal.False}
}

// recordedPair returns what was recorded of an event for a rule.
func (b *bench) recordedPair(ctx context.Context, p pair) (*recorded, error) {
	if r := b.pairs[p]; r != nil {
		return r, nil
	}
	r := &recorded{}
	e, err := b.Journal.FindEvent(ctx, b.Workspace, p.event)
	if errors.Is(err, journal.ErrNoEvent) {
		if at, err := time.Parse(time.RFC3339, p.event[min(len(p.event), len(p.rule)+1):]); err == nil {
			r.at = at // a tick that was computed
		}
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.seq, r.at = e.Seq, e.ReceivedAt
	if !e.Decided {
		r.treat.Reason = "it is not decided yet"
	}
	if decided, _ := engine.AnswerTo(e.Answers, journal.AnswerNow); decided != nil {
		if at, ok := decided.(time.Time); ok {
			r.late = at.Sub(e.CreatedAt)
		}
	}
	for _, v := range e.Verdicts {
		if v.Rule == p.rule {
			r.treat.Outcome, r.treat.Reason = v.Outcome, reasonOf(v)
		}
	}
	facts, _, err := b.carried(ctx, e)
	if err != nil {
		return nil, err
	}
	r.who, err = b.customer(ctx, e, facts)
	return r, err
}

func (b *bench) newResult(set *rules.Set, changed map[string]bool) *Result {
	r := &Result{Since: b.Since, Until: b.Until, Events: b.events}
	for _, rule := range set.Rules {
		r.Rules = append(r.Rules, RuleNote{ID: rule.ID, Stage: rule.Stage, Changed: changed[rule.ID]})
	}
	for id := range changed {
		if set.Rule(id) == nil {
			r.Rules = append(r.Rules, RuleNote{ID: id, Changed: true, Removed: true})
		}
	}
	return r
}

// compare notes what would have been done, and the difference if there is one.
func (r *Result) compare(b *bench, p pair, was *recorded, would *Treatment, slack time.Duration) {
	r.addEffects(b, p, was, would)
	differs := !would.same(&was.treat, slack)
	if would.NotRecorded != "" {
		differs = !would.begins(&was.treat)
	}
	if !differs || !b.told(was.at, &was.treat, would) {
		return
	}
	for i := range was.treat.Effects {
		was.treat.Effects[i].concerns(was)
	}
	d := Difference{Rule: p.rule, Event: p.event, At: was.at, Who: was.who, Was: was.treat, Would: *would, seq: was.seq}
	r.Differences = append(r.Differences, d)
}

// concerns names the customer of an effect: that of the event, unless a step took up another
// conversation.
func (e *Effect) concerns(of *recorded) {
	if !e.elsewhere {
		e.Who = of.who
	}
}

// told reports whether any of it lies in the window.
func (b *bench) told(at time.Time, list ...*Treatment) bool {
	if b.within(at) {
		return true
	}
	for _, t := range list {
		if slices.ContainsFunc(t.Effects, func(e Effect) bool { return b.within(e.At) }) {
			return true
		}
	}
	return false
}

// addEffects notes the effects of a treatment, and its gaps.
func (r *Result) addEffects(b *bench, p pair, of *recorded, t *Treatment) {
	for i := range t.Effects {
		t.Effects[i].concerns(of)
		t.Effects[i].seq = of.seq
		if b.within(t.Effects[i].At) {
			r.Effects = append(r.Effects, t.Effects[i])
		}
	}
	if t.NotRecorded != "" {
		r.gap(b, p, of.at, t.NotRecorded)
	}
	if i := slices.IndexFunc(r.Rules, func(n RuleNote) bool { return n.ID == p.rule }); i >= 0 && t.pending() && t.NotRecorded == "" {
		r.Rules[i].Waiting++
	}
}

func (r *Result) gap(b *bench, p pair, at time.Time, question string) {
	if b.within(at) {
		r.NotRecorded = append(r.NotRecorded, Gap{Rule: p.rule, Event: p.event, At: at, Question: question})
	}
}

// sorted puts everything into the order of time.
func (r *Result) sorted() *Result {
	slices.SortStableFunc(r.Effects, func(a, b Effect) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.seq, b.seq), cmp.Compare(a.Rule, b.Rule))
	})
	slices.SortStableFunc(r.Differences, func(a, b Difference) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.seq, b.seq), cmp.Compare(a.Rule, b.Rule))
	})
	slices.SortStableFunc(r.NotRecorded, func(a, b Gap) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Event, b.Event))
	})
	slices.SortFunc(r.Rules, func(a, b RuleNote) int { return cmp.Compare(a.ID, b.ID) })
	return r
}
