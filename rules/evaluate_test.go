package rules_test

import (
	"context"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

// counter counts as many events as the name of the type has letters.
type counter struct{ *world }

func (counter) CountEvents(_ context.Context, typ string, _ time.Duration) (int, error) {
	return len(typ), nil
}

// TestAnswersAreKeptApart holds that a question is not given the answer of another one that reads
// the same when its arguments are written one behind the other.
func TestAnswersAreKeptApart(t *testing.T) {
	w := newWorld()
	w.labels = []string{"3"}
	w.facts["event"].(map[string]any)["data"] = map[string]any{"a": "message.sent", "b": "11h", "c": "message.sent1", "d": "1h", "n": float64(3)}
	eval := rules.NewEvaluation(t.Context(), ruleIf(t, `count_events(event.data.a, event.data.b) == 12 and count_events(event.data.c, event.data.d) == 13`), counter{w})
	if got := eval.Explain(); got[0].Result != rules.ClauseTrue {
		t.Errorf("two counts with different arguments: %s, %v", got[0].Result, got[0].Values)
	}
	eval = rules.NewEvaluation(t.Context(), ruleIf(t, `has_label("3") and has_label(event.data.n)`), w)
	if got := eval.Explain(); got[0].Result != rules.ClauseFailed {
		t.Errorf("a number where a label is needed: %s, want an error", got[0].Result)
	}
}
