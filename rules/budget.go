package rules

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm/runtime"
)

// What one evaluation may cost, in bytes made or read. The virtual machine's own budget counts the items of lists
// only, so everything else whose cost grows with its input goes through a function here that pays for it first.
const (
	evaluationBudget = 16 << 20
	iterationCost    = 2 << 10 // of one item of a predicate: no body is dearer without paying for itself
	matchCost        = 16      // of a byte that a pattern looks at
	wordCost         = 8       // of a byte that is taken apart into words
	maxItems         = 1 << 20 // of all lists together, counted by the virtual machine
)

var errBudget = errors.New("the expression costs too much: its texts or lists are too long")

// scopeName carries the Evaluation to the language's functions. Nobody can write it in an expression.
const scopeName = "the evaluation"

// The names of the functions that instrument calls. Nobody can write them either.
const (
	addFn     = "the operator +"
	matchFn   = "the operator matches"
	iterateFn = "the next item"
)

var (
	anyFunc = reflect.TypeOf(func(...any) any { return nil })
	hidden  = map[string]func(e *Evaluation, args []any) (any, error){addFn: add, matchFn: match, iterateFn: iterate}
)

// pay takes a cost from the evaluation's budget.
func (e *Evaluation) pay(cost int) error {
	if e.spent += cost; e.spent > evaluationBudget {
		return errBudget
	}
	return nil
}

// instrument rewrites a checked tree, so that it passes the Evaluation to the language's functions and meters
// what grows. It also lets comparisons see nil, which expr's typed comparisons do not expect.
func instrument(node *ast.Node) { ast.Walk(node, instrumentation{}) }

type instrumentation struct{}

// Visit is called for the children of a node before the node itself.
func (instrumentation) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && exprFunctions[callee.Value] != nil {
			passEvaluation(n)
		}
	case *ast.BinaryNode:
		t := n.Nature()
		switch {
		case n.Operator == "+" && !t.IsNumber() && !t.IsTime() && !t.IsDuration():
			replace(node, addFn, n.Left, n.Right)
		case n.Operator == "matches":
			if s, ok := n.Right.(*ast.StringNode); ok {
				replace(node, matchFn, n.Left, &ast.ConstantNode{Value: regexp.MustCompile(s.Value)})
			}
		}
	case *ast.PredicateNode:
		replace(&n.Node, iterateFn, n.Node)
	case *ast.MemberNode:
		if t := n.Nature(); t.IsString() || t.IsNumber() || t.IsBool() {
			n.SetNature(nature.Nature{})
		}
	}
}

// replace puts the call of a hidden function where a node stood, with the same type.
func replace(node *ast.Node, name string, args ...ast.Node) {
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	passEvaluation(call)
	t := *(*node).Nature()
	ast.Patch(node, call)
	call.SetNature(t)
}

// passEvaluation makes the Evaluation the first argument of a call.
func passEvaluation(call *ast.CallNode) {
	call.Arguments = append([]ast.Node{&ast.IdentifierNode{Value: scopeName}}, call.Arguments...)
	call.Callee.SetType(anyFunc)
}

// exprFunction makes a function of the language one of expr's.
func exprFunction(name string, types []reflect.Type, call func(e *Evaluation, args []any) (any, error)) *builtin.Function {
	return &builtin.Function{Name: name, Types: types, Func: func(args ...any) (any, error) {
		return call(args[0].(*Evaluation), args[1:])
	}}
}

func add(e *Evaluation, args []any) (any, error) {
	a, aText := args[0].(string)
	b, bText := args[1].(string)
	if !aText || !bText {
		return runtime.Add(args[0], args[1]), nil
	}
	if err := e.pay(len(a) + len(b)); err != nil {
		return nil, err
	}
	return a + b, nil
}

func match(e *Evaluation, args []any) (any, error) {
	switch text := args[0].(type) {
	case nil:
		return false, nil
	case string:
		if err := e.pay(matchCost * len(text)); err != nil {
			return nil, err
		}
		return args[1].(*regexp.Regexp).MatchString(text), nil
	}
	return nil, fmt.Errorf("matches needs a text, not %s", inWords(args[0]))
}

// iterate is called for each item of a list that a predicate looks at.
func iterate(e *Evaluation, args []any) (any, error) {
	return args[0], e.pay(iterationCost)
}

// meteredBuiltins returns those of expr's functions whose cost grows with their input, metered.
func meteredBuiltins() conf.FunctionsTable {
	table := make(conf.FunctionsTable)
	for name, call := range hidden {
		table[name] = exprFunction(name, []reflect.Type{anyFunc}, call)
	}
	for _, b := range builtin.Builtins {
		if b.Predicate || constantCost[b.Name] {
			continue
		}
		table[b.Name] = metered(b)
	}
	return table
}

// constantCost are expr's functions that take the same time whatever they are given.
var constantCost = map[string]bool{
	"len": true, "type": true, "abs": true, "ceil": true, "floor": true, "round": true, "int": true, "float": true, "now": true,
	"duration": true, "date": true, "timezone": true, "first": true, "last": true, "get": true, "hasPrefix": true, "hasSuffix": true,
	"bitand": true, "bitor": true, "bitxor": true, "bitnand": true, "bitshl": true, "bitshr": true, "bitushr": true, "bitnot": true,
}

// metered wraps a function of expr so that what it is about to make is paid for before it runs.
func metered(b *builtin.Function) *builtin.Function {
	run := b.Func
	switch {
	case b.Safe != nil:
		run = func(args ...any) (any, error) {
			out, _, err := b.Safe(args...)
			return out, err
		}
	case b.Fast != nil:
		run = func(args ...any) (any, error) { return b.Fast(args[0]), nil }
	}
	f := exprFunction(b.Name, b.Types, func(e *Evaluation, args []any) (any, error) {
		if err := e.pay(costOf(b.Name, args)); err != nil {
			return nil, err
		}
		return run(args...)
	})
	f.Validate = b.Validate
	return f
}

// costOf says what a call makes or reads, in bytes.
func costOf(name string, args []any) int {
	total := 0
	for _, a := range args {
		total += size(a, 1)
	}
	switch name {
	case "split", "splitAfter":
		if len(args) > 1 {
			text, _ := args[0].(string)
			separator, _ := args[1].(string)
			total += 16 * (strings.Count(text, separator) + 1)
		}
	case "replace":
		if len(args) > 2 {
			text, _ := args[0].(string)
			before, _ := args[1].(string)
			after, _ := args[2].(string)
			total += strings.Count(text, before) * len(after)
		}
	case "join", "toJSON", "string", "flatten", "concat":
		total = 0
		for _, a := range args {
			total += size(a, 64)
		}
	case "fromJSON":
		total *= 64
	case "uniq", "sort", "median", "max", "min", "mean", "reverse", "keys", "values", "toPairs", "fromPairs":
		n := 0
		if len(args) > 0 {
			n = length(args[0])
		}
		if total *= 64; name == "uniq" {
			total += 4 * n * n
		}
	}
	return total
}

// size returns the bytes of a value, down to a depth; it stops counting when the budget is gone.
func size(v any, depth int) int {
	switch v := v.(type) {
	case string:
		return 16 + len(v)
	case []any:
		total := 16 * len(v)
		for i := 0; depth > 0 && i < len(v) && total <= evaluationBudget; i++ {
			total += size(v[i], depth-1)
		}
		return total
	case map[string]any:
		total := 16 * len(v)
		for key, item := range v {
			if depth == 0 || total > evaluationBudget {
				break
			}
			total += len(key) + size(item, depth-1)
		}
		return total
	case []string:
		total := 0
		for _, s := range v {
			total += 16 + len(s)
		}
		return total
	}
	if n := length(v); n > 0 {
		return 16 * n
	}
	return 16
}

func length(v any) int {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return r.Len()
	}
	return 0
}
