package backtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
)

var noRules = &rules.Set{}

// Unfaithful replays every rule of the record as it was, and returns where the result differs from
// the record.
func Unfaithful(ctx context.Context, o Options) ([]string, error) {
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	if err := b.survey(ctx, tried(noRules)); err != nil {
		return nil, err
	}
	all := make(map[string]bool)
	for id := range b.seen {
		all[id] = true
	}
	then, err := b.recordedRules(ctx, all)
	if err != nil {
		return nil, err
	}
	got, err := b.replay(ctx, then, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range b.pairsOf(all, got) {
		was, err := b.recordedPair(ctx, p)
		if err != nil {
			return nil, err
		}
		is := got.of(p)
		if is.NotRecorded != "" || !is.same(&was.treat, time.Hour) {
			out = append(out, fmt.Sprintf("%s on %s: was %s, is %s", p.rule, p.event, sketch(&was.treat), sketch(is)))
		}
	}
	slices.Sort(out)
	return out, nil
}

func sketch(t *Treatment) string {
	s := fmt.Sprintf("%s %s %s %q", t.Outcome, t.State, t.Stage, t.Reason)
	if t.NotRecorded != "" {
		s += " NOT RECORDED " + t.NotRecorded
	}
	for _, e := range t.Effects {
		s += fmt.Sprintf("\n      %s %s", e.Verb, e.args)
	}
	return s
}
