package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

// A customer's text is split into words once, however many rules search it.
func TestSaysOfManyRules(t *testing.T) {
	var list []*rules.Rule
	for i := range 100 {
		list = append(list, ruleIf(t, fmt.Sprintf(`says("word %d", "outra coisa")`, i)))
	}
	w := newWorld()
	w.facts["message"] = map[string]any{"text": strings.Repeat("São três, não é? ", 6<<10)}
	cost := func(of []*rules.Rule) time.Duration {
		took, _ := costs(func() {
			eval := rules.NewEvaluation(t.Context(), of[0], w)
			for _, rule := range of {
				eval.Reset(t.Context(), rule, w)
				if met, err := eval.True(rule.If[0]); met || err != nil {
					t.Error(met, err)
				}
			}
		})
		return took
	}
	one, all := cost(list[:1]), cost(list)
	t.Logf("one rule: %v, a hundred: %v", one, all)
	if all > 10*one+20*time.Millisecond {
		t.Errorf("one rule takes %v of processor time, and a hundred take %v", one, all)
	}
}
