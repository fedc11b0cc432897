package rules

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm/runtime"
)

// What one evaluation may cost, in bytes made or read. The virtual machine's own budget counts the
// items of lists only, so everything else whose cost grows with its input goes through a function
// here that pays for it first.
const (
	evaluationBudget = 16 << 20
	iterationCost    = 2 << 10 // of one item of a predicate: no body is dearer without paying for itself
	literalCost      = 128     // of an entry of a list or object that a predicate's body writes out
	itemCost         = 16      // per list item examined
	objectCost       = 512     // per object compared, which allocates
	matchCost        = 8       // per byte a pattern examines; more for a larger pattern
	zoneCost         = 1 << 16 // of loading a time zone
	dayCost          = 64      // of a day of business time
	wordCost         = 16      // per byte split into words
	editCost         = 8       // per byte of two words compared for typing mistakes
	maxItems         = 1 << 20 // of all lists together, counted by the virtual machine
)

var errBudget = errors.New("the expression costs too much: its texts or lists are too long")

// scopeName passes the Evaluation to the language's functions. It cannot be written in an
// expression.
const scopeName = "the evaluation"

// The metered operators. Their names cannot be written as functions in an expression.
const (
	addFn     = "the operator +"
	matchFn   = "the operator matches"
	iterateFn = "the next item"
	operator  = "the operator "
	inZoneFn  = "in the workspace's zone"
)

var (
	anyFunc = reflect.TypeOf(func(...any) any { return nil })
	hidden  = map[string]func(e *Evaluation, args []any) (any, error){
		addFn: add, matchFn: match, iterateFn: iterate,
		operator + "in":         in,
		operator + "==":         equal,
		operator + "!=":         func(e *Evaluation, args []any) (any, error) { return not(equal(e, args)) },
		operator + "<":          paid(func(a, b any) any { return runtime.Less(a, b) }),
		operator + ">":          paid(func(a, b any) any { return runtime.More(a, b) }),
		operator + "<=":         paid(func(a, b any) any { return runtime.LessOrEqual(a, b) }),
		operator + ">=":         paid(func(a, b any) any { return runtime.MoreOrEqual(a, b) }),
		operator + "contains":   paid(textOperator("contains", strings.Contains)),
		operator + "startsWith": paid(textOperator("startsWith", strings.HasPrefix)),
		operator + "endsWith":   paid(textOperator("endsWith", strings.HasSuffix)),
	}
)

// paid charges an operator for the operand that it examines.
func paid(run func(a, b any) any) func(e *Evaluation, args []any) (any, error) {
	return func(e *Evaluation, args []any) (any, error) {
		if err := e.pay(looks(args[0]) + looks(args[1])); err != nil {
			return nil, err
		}
		return run(args[0], args[1]), nil
	}
}

// equal pays for the comparison before it is made.
func equal(e *Evaluation, args []any) (any, error) {
	if err := e.payComparison(args[0], args[1]); err != nil {
		return nil, err
	}
	return runtime.Equal(args[0], args[1]), nil
}

func not(v any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return !v.(bool), nil
}

// in pays for a comparison with each item.
func in(e *Evaluation, args []any) (any, error) {
	if err := e.pay(looks(args[0]) + looks(args[1])); err != nil {
		return nil, err
	}
	if list, ok := args[1].([]any); ok && length(args[0]) > 0 {
		for _, item := range list {
			if err := e.payComparison(args[0], item); err != nil {
				return nil, err
			}
		}
	}
	return runtime.In(args[0], args[1]), nil
}

// payComparison pays for comparing two values at every depth. It stops where their shapes differ,
// as the comparison does.
func (e *Evaluation) payComparison(a, b any) error {
	cost := itemCost
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok && len(x) == len(y) {
			cost += len(x)
		}
	case []any:
		y, ok := b.([]any)
		if !ok {
			cost += min(looks(a), looks(b)) // lists of other types are compared item by item
			break
		}
		if len(x) != len(y) {
			break
		}
		for i := range x {
			if err := e.payComparison(x[i], y[i]); err != nil {
				return err
			}
		}
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			break
		}
		for key, item := range x {
			other, ok := y[key]
			if !ok {
				break
			}
			if err := e.payComparison(item, other); err != nil {
				return err
			}
			cost += len(key)
		}
		cost += objectCost
	default:
		cost += min(looks(a), looks(b))
	}
	return e.pay(cost)
}

// looks is what an operator may examine of a value: all of a text, every item of a list.
func looks(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return itemCost * len(v)
	}
	return itemCost * length(v)
}

// textOperator is an operator on two texts; like expr's own it is false if one of them is nil.
func textOperator(name string, run func(a, b string) bool) func(a, b any) any {
	return func(a, b any) any {
		if a == nil || b == nil {
			return false
		}
		x, ok := a.(string)
		y, ok2 := b.(string)
		if !ok || !ok2 {
			panic(fmt.Errorf("%s needs texts, not %s and %s", name, inWords(a), inWords(b)))
		}
		return run(x, y)
	}
}

// pay takes a cost from the evaluation's budget.
func (e *Evaluation) pay(cost int) error {
	if e.spent += cost; e.spent > evaluationBudget {
		return errBudget
	}
	return nil
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
		p := args[1].(pattern)
		if err := e.pay(p.cost * len(text)); err != nil {
			return nil, err
		}
		return p.MatchString(text), nil
	}
	return nil, fmt.Errorf("matches needs a text, not %s", inWords(args[0]))
}

// iterate is called for each item that a predicate examines, with what its body allocates.
func iterate(e *Evaluation, args []any) (any, error) {
	return args[0], e.pay(args[1].(int))
}

// meteredBuiltins returns those of expr's functions whose cost grows with their input, metered.
func meteredBuiltins() conf.FunctionsTable {
	table := make(conf.FunctionsTable)
	for name, call := range hidden {
		table[name] = exprFunction(name, []reflect.Type{anyFunc}, call)
	}
	table[inZoneFn] = &builtin.Function{Name: inZoneFn, Types: []reflect.Type{anyFunc}, Func: func(args ...any) (any, error) {
		if t, ok := args[0].(time.Time); ok {
			return t.In(args[1].(*Evaluation).facts.Now().Location()), nil
		}
		return args[0], nil
	}}
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
	"type": true, "abs": true, "ceil": true, "floor": true, "round": true, "now": true, "duration": true,
	"first": true, "last": true, "get": true,
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
		total += looks(a)
	}
	text := func(i int) string {
		if i < len(args) {
			s, _ := args[i].(string)
			return s
		}
		return ""
	}
	switch name {
	case "len":
		return len(text(0)) // of a list it is known
	case "timezone":
		return zoneCost
	case "split", "splitAfter":
		total += itemCost * (strings.Count(text(0), text(1)) + 1)
	case "replace":
		total += strings.Count(text(0), text(1)) * len(text(2))
	case "join":
		total = size(args[0], 2) + length(args[0])*len(text(1))
	case "toJSON":
		total = 0
		for _, a := range args {
			total += jsonSize(a, 0)
		}
	case "string", "flatten", "concat":
		total = sizes(args)
	case "fromJSON":
		total *= 64
	case "uniq":
		// Each item is compared with all before it, as deep as they are.
		if total *= 4; len(args) > 0 {
			total += length(args[0]) * min(sizes(args), evaluationBudget) / 4
		}
	case "sort", "median", "max", "min", "mean":
		total = 4 * sizes(args) // some examine nested lists
	case "reverse", "keys", "values", "toPairs", "fromPairs":
		total *= 4
	}
	return total
}

// sizes returns the bytes of values, as deep as they are.
func sizes(args []any) int {
	total := 0
	for _, a := range args {
		total += size(a, deepest)
	}
	return total
}

// deepest is more levels than the JSON of an event may have.
const deepest = 1 << 20

// jsonSize returns the bytes that a value may take as indented JSON.
func jsonSize(v any, indent int) int {
	total := itemCost + indent
	switch v := v.(type) {
	case string:
		total += 6 * len(v) // a character may become an escape
	case []any:
		for i := 0; i < len(v) && total <= evaluationBudget; i++ {
			total += jsonSize(v[i], indent+2)
		}
	case map[string]any:
		for key, item := range v {
			if total > evaluationBudget {
				break
			}
			total += 6*len(key) + jsonSize(item, indent+2)
		}
	default:
		total += length(v) * (itemCost + indent)
	}
	return total
}

// size returns the bytes of a value, down to a depth; it stops when the budget is spent.
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
