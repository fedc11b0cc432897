package rules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/quandohq/quando/rules/calendar"
)

// Facts provides the facts that expressions read. It is called only when the first expression that
// needs a fact is reached. A fact is a map[string]any with the fields of its type, a list of them,
// or nil if there is none.
type Facts interface {
	Now() time.Time
	Fact(ctx context.Context, name string) (any, error)
	HumanActive(ctx context.Context, within time.Duration) (bool, error)
	Muted(ctx context.Context) (bool, error)
	CustomerWaiting(ctx context.Context) (time.Duration, error)
	// HasLabel reports whether the conversation or the contact, as fact says, has a label.
	HasLabel(ctx context.Context, fact, name string) (bool, error)
	// Labels returns the names of the labels of a fact by its label_ids, without the unknown ones.
	Labels(ctx context.Context, name string, fact map[string]any) ([]any, error)
	CountEvents(ctx context.Context, typ string, within time.Duration) (int, error)
}

// An Evaluation evaluates the expressions of one rule against one set of facts. It caches the
// facts. It is not safe for concurrent use.
type Evaluation struct {
	ctx   context.Context
	facts Facts
	rule  *Rule
	env   map[string]any
	vm    vm.VM
	spent int // of the budget, by the current expression

	gathered   bool              // the current expression sees the gathered messages
	answers    map[string]any    // of functions that call the service or the journal, cached
	spoken     map[string]string // words of texts, cached
	explaining bool              // read no more facts
	language   Language          // of messages to people
	exact      bool              // durations in texts are in the language's own form
}

// NewEvaluation returns an evaluation of a rule's expressions.
func NewEvaluation(ctx context.Context, rule *Rule, facts Facts) *Evaluation {
	e := &Evaluation{env: make(map[string]any, 8)}
	e.vm.MemoryBudget = maxItems
	e.Reset(ctx, rule, facts)
	return e
}

// Reset makes the evaluation one of another rule, or of other facts, and keeps its memory: a worker
// needs only one.
func (e *Evaluation) Reset(ctx context.Context, rule *Rule, facts Facts) {
	clear(e.env)
	e.ctx, e.rule, e.facts, e.answers = ctx, rule, facts, nil
	e.env[scopeName] = e
	e.env["vars"] = rule.vars
}

// Clear drops all references, for an idle worker; it keeps its memory for the next Reset.
func (e *Evaluation) Clear() {
	clear(e.env)
	clear(e.vm.Stack)
	clear(e.vm.Variables)
	clear(e.spoken)
	e.ctx, e.rule, e.facts, e.answers = nil, nil, nil, nil
}

// In sets the language of messages.
func (e *Evaluation) In(l Language) { e.language = l }

// Set gives a name to a value: a step's result, or what `set` and `for_each` name.
func (e *Evaluation) Set(name string, value any) { e.env[name] = value }

// SetFact makes a step's result the fact of a name. It drops cached answers about the old one.
func (e *Evaluation) SetFact(name string, value any) {
	e.env[name] = value
	e.answers = nil
}

// Forget drops the cached facts: after a wait a rule never decides on what was true before it, nor
// after a change on what was true before that.
func (e *Evaluation) Forget() {
	e.answers = nil
	for _, name := range changing {
		delete(e.env, name)
	}
}

// Value evaluates the expression.
func (e *Evaluation) Value(x *Expression) (any, error) {
	for _, name := range x.needs {
		if err := e.load(name); err != nil {
			return nil, err
		}
	}
	for _, name := range x.labels {
		if err := e.nameLabels(name); err != nil {
			return nil, err
		}
	}
	e.spent, e.gathered = 0, x.env.gathers
	out, err := e.vm.Run(x.program, e.env)
	if err != nil {
		return nil, e.runError(x, err)
	}
	return byName(out), nil
}

// byName makes an object of what groupBy gives, since the keys of a value that is recorded are
// texts. Nil is the empty text.
func byName(v any) any {
	groups, ok := v.(map[any][]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(groups))
	for key, list := range groups {
		out[TextOf(key)] = list
	}
	return out
}

// True evaluates a condition.
func (e *Evaluation) True(x *Expression) (bool, error) {
	v, err := e.Value(x)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("the condition gives %s, where true or false is needed", inWords(v))
	}
	return b, nil
}

// Time evaluates an expression that gives a time, as the `until` of a wait does.
func (e *Evaluation) Time(x *Expression) (time.Time, error) {
	v, err := e.Value(x)
	if err != nil {
		return time.Time{}, err
	}
	return asTime(v)
}

func (e *Evaluation) load(fact string) error {
	if _, ok := e.env[fact]; ok {
		return nil
	}
	v, err := e.facts.Fact(e.ctx, fact)
	if err != nil {
		return fmt.Errorf("fetch the %s: %w", fact, err)
	}
	e.env[fact] = v
	return nil
}

// nameLabels adds the names of its labels to a fact that was loaded. They are looked up only for an
// expression that reads them, because that may take a call.
func (e *Evaluation) nameLabels(name string) error {
	fact, ok := e.env[name].(map[string]any)
	if !ok || fact["labels"] != nil {
		return nil
	}
	labels := []any{}
	if ids, _ := fact["label_ids"].([]any); len(ids) > 0 {
		if e.explaining {
			return errNotAsked
		}
		var err error
		if labels, err = e.facts.Labels(e.ctx, name, fact); err != nil {
			return fmt.Errorf("fetch the labels of the %s: %w", name, err)
		}
	}
	fact = maps.Clone(fact) // others share it
	fact["labels"] = labels
	e.env[name] = fact
	return nil
}

// calendar returns a calendar by name. The checker has made sure that it exists.
func (e *Evaluation) calendar(name any) *calendar.Calendar {
	return e.rule.calendars[name.(string)]
}

// messageTexts returns the text of the message, or of all that were gathered. In the condition of a
// wait_for or of a cancel_on it is the arriving message alone.
func (e *Evaluation) messageTexts() ([]string, error) {
	name := "message"
	if e.gathered {
		name = "messages"
	}
	if err := e.load(name); err != nil {
		return nil, err
	}
	messages, ok := e.env[name].([]any)
	if !ok {
		messages = []any{e.env[name]}
	}
	var texts []string
	for _, m := range messages {
		if m, ok := m.(map[string]any); ok {
			if text, ok := m["text"].(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts, nil
}

var errNotAsked = errors.New("not asked")

// answer calls a function that may call the service or the journal.
func (e *Evaluation) answer(f *function, args []any) (any, error) {
	key := f.Name
	for _, a := range args {
		key += fmt.Sprintf(", %T %q", a, fmt.Sprint(a)) // the quotes separate the arguments
	}
	if v, ok := e.answers[key]; ok {
		return v, nil
	}
	if e.explaining {
		return nil, errNotAsked
	}
	v, err := f.call(e, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if e.answers == nil {
		e.answers = make(map[string]any)
	}
	e.answers[key] = v
	return v, nil
}

// An ExpressionError says why an expression failed while it was evaluated.
type ExpressionError struct {
	Message string
	Err     error // what a fact or a function answered, where that was the cause
}

// Error returns the reason.
func (e *ExpressionError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ExpressionError) Unwrap() error { return e.Err }

// What expr says of values that a function or an operator cannot take.
var (
	notANumber = regexp.MustCompile(`^invalid operation: (?:int|float)\((.*)\)$`)
	operation  = regexp.MustCompile(`^invalid operation: (.+)$`)
)

func (e *Evaluation) runError(x *Expression, err error) error {
	var f *file.Error
	if !errors.As(err, &f) {
		return &ExpressionError{Message: plainTypes(err.Error()), Err: err}
	}
	message := f.Message
	wrong := e.fieldOfNoObject(x, f)
	switch {
	case wrong != "":
		message = wrong
	case strings.Contains(message, "memory budget exceeded"):
		message = errBudget.Error()
	case strings.Contains(message, "cannot fetch"):
		message = strings.Replace(message, "from <nil>", "from nothing", 1) + "; use ?. where a value may be missing"
	case strings.Contains(message, "interface conversion: interface {} is nil"):
		message = "a value is missing where the expression needs one; use ?? to give another"
	}
	if m := notANumber.FindStringSubmatch(message); m != nil {
		message = fmt.Sprintf("%q is not a number", m[1])
	} else if m := operation.FindStringSubmatch(message); m != nil {
		message = m[1] + " cannot be worked out"
		if strings.Contains(message, "<nil>") {
			message += "; use ?? to give another value where one is missing"
		}
	}
	message = strings.ReplaceAll(message, "<nil>", "nothing")
	// What a customer wrote may be in it.
	if r := []rune(message[:min(len(message), 4*maxMessage)]); len(r) > maxMessage {
		message = string(r[:maxMessage]) + "…"
	}
	return &ExpressionError{Message: plainTypes(message), Err: f.Prev}
}

var (
	noField = regexp.MustCompile(`^(?:cannot fetch .* from (?:string|bool|int|float64|\[\].*)|invalid operation: int\(string\))$`)
	member  = regexp.MustCompile(`([\pL_][\pL\pN_.?]*?)\??\.$`) // what stands before the name of a field
)

// fieldOfNoObject says what an expression reads a field of, if that is no object: what another
// system answers may be a list, or a text. It returns an empty text for any other failure.
func (e *Evaluation) fieldOfNoObject(x *Expression, f *file.Error) string {
	text := []rune(x.Text)
	if !noField.MatchString(f.Message) || f.From <= 0 || f.From >= f.To || f.To > len(text) {
		return ""
	}
	before := member.FindStringSubmatch(string(text[:f.From]))
	if before == nil {
		return ""
	}
	path := strings.ReplaceAll(before[1], "?", "")
	var is any = e.env
	for _, name := range strings.Split(path, ".") {
		fields, _ := is.(map[string]any)
		is = fields[name]
	}
	what := "no object"
	if is != nil {
		what = inWords(is)
	}
	message := fmt.Sprintf("%s is %s, and %s is a field of an object", path, what, string(text[f.From:f.To]))
	if _, ok := is.([]any); ok {
		message += fmt.Sprintf("; its items are %s[0] and so on, and for_each goes through %s itself", path, path)
	}
	return message
}

// maxMessage bounds the reason of an error, in characters.
const maxMessage = 300

// An Outcome is the result of an event for one rule.
type Outcome string

// The outcomes of a decision. The engine has more, for rules that it does not evaluate.
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

// Decide evaluates the conditions of the rule in order and stops at the first that is not true. An
// expression that fails is not false: the outcome is Failed, with the reason.
func (r *Rule) Decide(ctx context.Context, facts Facts) Verdict {
	return NewEvaluation(ctx, r, facts).Decide()
}

// Decide does the same in an evaluation that may already have some of the facts.
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
