package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/costtest"
)

// A customer's text is split into words once, however many rules search it.
func TestSaysOfManyRules(t *testing.T) {
	var list []*rules.Rule
	for i := range 100 {
		list = append(list, ruleIf(t, fmt.Sprintf(`says("word %d", "outra coisa")`, i)))
	}
	w := newWorld()
	w.facts["message"] = map[string]any{"text": strings.Repeat("São três, não é? ", 6<<10)}
	cost := func(of []*rules.Rule) uint64 {
		return costtest.Bytes(func() {
			eval := rules.NewEvaluation(t.Context(), of[0], w)
			for _, rule := range of {
				eval.Reset(t.Context(), rule, w)
				if met, err := eval.True(rule.If[0]); met || err != nil {
					t.Error(met, err)
				}
			}
		})
	}
	one, all := cost(list[:1]), cost(list)
	t.Logf("one rule: %d bytes, a hundred: %d", one, all)
	if all > 3*one {
		t.Errorf("one rule allocates %d bytes, and a hundred allocate %d", one, all)
	}
}
