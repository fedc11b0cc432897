package rules

// A ClauseResult says what became of one clause of a rule's conditions.
type ClauseResult string

// The results of a clause.
const (
	ClauseTrue       ClauseResult = "true"
	ClauseFalse      ClauseResult = "false"
	ClauseFailed     ClauseResult = "error"
	ClauseNotReached ClauseResult = "not reached" // one before it was not true
)

// A ClauseVerdict says what became of one clause, and why.
type ClauseVerdict struct {
	Clause string
	Result ClauseResult
	Values []NamedValue // of the names and calls in it
	Words  string       // what was so, for people; empty where the clause says it best itself
	Err    error        // why it could not be evaluated
}

// Explain evaluates the conditions of the rule in order, as Decide does, and tells what became of each of them.
func (e *Evaluation) Explain() []ClauseVerdict {
	verdicts := make([]ClauseVerdict, len(e.rule.If))
	reached := true
	for i, x := range e.rule.If {
		if !reached {
			verdicts[i] = ClauseVerdict{Clause: x.Text, Result: ClauseNotReached}
			continue
		}
		verdicts[i] = e.Clause(x)
		reached = verdicts[i].Result == ClauseTrue
	}
	return verdicts
}

// Clause evaluates one clause, and tells what became of it.
func (e *Evaluation) Clause(x *Expression) ClauseVerdict {
	v := ClauseVerdict{Clause: x.Text, Result: ClauseFalse}
	ok, err := e.True(x)
	v.Values = e.Values(x)
	switch {
	case err != nil:
		v.Result, v.Err = ClauseFailed, err
		return v
	case ok:
		v.Result = ClauseTrue
	}
	v.Words = e.words(x, ok)
	return v
}
