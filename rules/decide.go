package rules

import (
	"context"
)

// An Outcome says what became of an event for one rule.
type Outcome string

// The outcomes that a decision can have. The engine has more, for rules that it does not ask.
const (
	Fired  Outcome = "fired"
	False  Outcome = "false"
	Failed Outcome = "error"
)

// A Verdict says whether a rule fired, and if not, why.
type Verdict struct {
	Rule    string
	Outcome Outcome
	Clause  string       // the first clause that was not true
	Values  []NamedValue // of the names and calls in it
	Err     error        // why the clause could not be evaluated
}

// Decide evaluates the conditions of the rule in order and stops at the first that is not true. An expression that fails
// is not false: the outcome is Failed, with the reason.
func (r *Rule) Decide(ctx context.Context, facts Facts) Verdict {
	return NewEvaluation(ctx, r, facts).Decide()
}

// Decide does the same in an evaluation that may already know some of the facts.
func (e *Evaluation) Decide() Verdict {
	v := Verdict{Rule: e.rule.ID, Outcome: Fired}
	for _, x := range e.rule.If {
		ok, err := e.True(x)
		if ok && err == nil {
			continue
		}
		v.Clause, v.Values = x.Text, e.Values(x)
		v.Outcome, v.Err = False, err
		if err != nil {
			v.Outcome = Failed
		}
		break
	}
	return v
}
