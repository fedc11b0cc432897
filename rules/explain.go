package rules

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// A ClauseResult is the result of one clause of a rule's conditions.
type ClauseResult string

// The results of a clause.
const (
	ClauseTrue       ClauseResult = "true"
	ClauseFalse      ClauseResult = "false"
	ClauseFailed     ClauseResult = "error"
	ClauseNotReached ClauseResult = "not reached" // one before it was not true
)

// A ClauseVerdict is the result of one clause, and the reason.
type ClauseVerdict struct {
	Clause string
	Result ClauseResult
	Values []NamedValue // of the names and calls in it
	Words  string       // why, for people; empty if the clause says it best itself
	Part   string       // of a clause that is false: the part that made it so
	Err    error        // why it could not be evaluated
}

// Explain evaluates the conditions of the rule in order, as Decide does, and returns the result of
// each.
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

// Clause evaluates one clause.
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
	if !ok {
		v.Part = e.falsePart(x)
	}
	return v
}

// Partly is Clause with incomplete facts: unknown identifies the errors that mean a missing fact.
// The known facts may be enough, as when one side of an and is false; else the result is such an
// error.
func (e *Evaluation) Partly(x *Expression, unknown func(error) bool) ClauseVerdict {
	v := e.Clause(x)
	if v.Err == nil || !unknown(v.Err) {
		return v
	}
	node, err := x.env.parse(x.Text)
	if err != nil {
		return v
	}
	met, err := (&wording{e, x.env}).partly(node, unknown)
	v.Values = e.Values(x)
	switch {
	case err != nil:
		v.Err = err
		return v
	case met:
		v.Result = ClauseTrue
	default:
		v.Result, v.Part = ClauseFalse, e.falsePart(x)
	}
	v.Err, v.Words = nil, e.words(x, met)
	return v
}

// partly evaluates a condition by its parts. It is false if one part makes it false whatever the
// unknown parts are.
func (w *wording) partly(node ast.Node, unknown func(error) bool) (bool, error) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			met, err := w.partly(n.Node, unknown)
			return !met, err
		}
	case *ast.BinaryNode:
		all := n.Operator == "and" || n.Operator == "&&"
		if !all && n.Operator != "or" && n.Operator != "||" {
			break
		}
		left, err := w.partly(n.Left, unknown)
		if err == nil && left != all {
			return left, nil
		}
		if err != nil && (!unknown(err) || !all) {
			return false, err
		}
		right, rightErr := w.partly(n.Right, unknown)
		if err != nil && (rightErr != nil || right) {
			return false, err
		}
		return right, rightErr
	}
	x, err := w.compiled(node)
	if err != nil {
		return false, err
	}
	return w.True(x)
}

// Mentions reports whether the expression reads a field of a fact, by its path:
// conversation.sector_name.
func (x *Expression) Mentions(path string) bool {
	return slices.ContainsFunc(x.parts, func(p part) bool { return p.text == path })
}
