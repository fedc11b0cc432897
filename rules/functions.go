package rules

import (
	"fmt"
	"reflect"
	"time"

	"github.com/expr-lang/expr/conf"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
)

// An argumentKind says which arguments of a function the checker inspects.
type argumentKind int

const (
	plainArgument argumentKind = iota
	calendarArgument
	durationArgument
	eventArgument
	patternArgument
	labelArgument
	languageArgument
)

// A function is one of the language's own, beside expr's.
type function struct {
	Name      string
	Signature string
	Doc       string
	arguments []argumentKind
	needs     string // the fact it asks about
	reads     string // the scope of the call that it makes
	asks      bool   // it calls the service or the journal
	mayBeNil  bool   // it gives nil where there is nothing
	result    *Type
	types     []any
	call      func(e *Evaluation, args []any) (any, error)
}

// asksFor returns the fact that the function reads in this environment.
func (f *function) asksFor(env *environment) string {
	if f.needs == "message" && env.gathers {
		return "messages"
	}
	return f.needs
}

func (f *function) argument(i int) argumentKind {
	if i < len(f.arguments) {
		return f.arguments[i]
	}
	return plainArgument
}

// functions are the language's own. `now` replaces expr's, so that tests can move the clock, and
// `duration` replaces expr's, so that days and weeks work everywhere.
var functions = []*function{
	{
		Name: "now", Signature: "now()", Doc: "the engine's clock, in the workspace's zone",
		result: Time, types: []any{new(func() time.Time)},
		call: func(e *Evaluation, _ []any) (any, error) { return e.facts.Now(), nil },
	},
	{
		Name: "duration", Signature: "duration(text)", Doc: "the duration that a text like `\"15m\"` or `\"2d\"` names",
		arguments: []argumentKind{durationArgument}, result: Duration, types: []any{new(func(string) time.Duration)},
		call: func(_ *Evaluation, args []any) (any, error) { return asDuration(args[0]) },
	},
	{
		Name: "open", Signature: "open(calendar)", Doc: "whether the calendar is open now",
		arguments: []argumentKind{calendarArgument}, result: Flag, types: []any{new(func(string) bool)},
		call: func(e *Evaluation, args []any) (any, error) {
			return e.calendar(args[0]).Open(e.facts.Now()), nil
		},
	},
	{
		Name: "closed", Signature: "closed(calendar)", Doc: "whether the calendar is closed now",
		arguments: []argumentKind{calendarArgument}, result: Flag, types: []any{new(func(string) bool)},
		call: func(e *Evaluation, args []any) (any, error) {
			return !e.calendar(args[0]).Open(e.facts.Now()), nil
		},
	},
	{
		Name: "next_open", Signature: "next_open(calendar)", Doc: "when the calendar opens next",
		arguments: []argumentKind{calendarArgument}, result: Time, types: []any{new(func(string) time.Time)},
		call: func(e *Evaluation, args []any) (any, error) {
			t, ok := e.calendar(args[0]).NextOpen(e.facts.Now())
			if !ok {
				return nil, fmt.Errorf("the calendar %q does not open again", args[0])
			}
			return t, nil
		},
	},
	{
		Name: "next_close", Signature: "next_close(calendar)", Doc: "when the calendar closes next",
		arguments: []argumentKind{calendarArgument}, result: Time, types: []any{new(func(string) time.Time)},
		call: func(e *Evaluation, args []any) (any, error) {
			t, ok := e.calendar(args[0]).NextClose(e.facts.Now())
			if !ok {
				return nil, fmt.Errorf("the calendar %q does not close again", args[0])
			}
			return t, nil
		},
	},
	{
		Name: "business_time", Signature: "business_time(calendar, from, to)", Doc: "the opening time between two times",
		arguments: []argumentKind{calendarArgument}, result: Duration, types: []any{new(func(string, time.Time, time.Time) time.Duration)},
		call: func(e *Evaluation, args []any) (any, error) {
			from, err := asTime(args[1])
			if err != nil {
				return nil, err
			}
			to, err := asTime(args[2])
			if err != nil {
				return nil, err
			}
			if err := e.pay(dayCost * int(to.Sub(from).Abs()/(24*time.Hour))); err != nil {
				return nil, err
			}
			return e.calendar(args[0]).Between(from, to), nil
		},
	},
	{
		Name: "day", Signature: "day(time, n)", Doc: "the day of a time, n days on, as YYYY-MM-DD in the workspace's zone",
		result: Text, types: []any{new(func(time.Time) string), new(func(time.Time, int) string), new(func(time.Time, float64) string)},
		call: func(e *Evaluation, args []any) (any, error) {
			t, err := asTime(args[0])
			if err != nil {
				return nil, err
			}
			days := 0
			if len(args) > 1 {
				if days, err = asInt(args[1]); err != nil {
					return nil, err
				}
			}
			y, m, d := t.In(e.facts.Now().Location()).Date()
			return time.Date(y, m, d+days, 12, 0, 0, 0, time.UTC).Format(time.DateOnly), nil
		},
	},
	{
		Name: "weekday_time", Signature: "weekday_time(time, language)", Doc: "a time for people, as `Monday, 8:00` or `segunda, 8:00`, in the workspace's zone; with its date too where it is before today or more than six days ahead",
		arguments: []argumentKind{plainArgument, languageArgument}, result: Text, types: []any{new(func(time.Time, string) string)},
		call: timeText("weekday_time"),
	},
	{
		Name: "day_time", Signature: "day_time(time, language)", Doc: "a time for people, as `tomorrow at 8:00` or `amanhã às 8:00`: yesterday, today, tomorrow, a weekday up to six days ahead, else the date; in the workspace's zone",
		arguments: []argumentKind{plainArgument, languageArgument}, result: Text, types: []any{new(func(time.Time, string) string)},
		call: timeText("day_time"),
	},
	{
		Name: "time_until", Signature: "time_until(time, language)", Doc: "how long it is until a time, as `in 3 h` or `em 3 h`: rounded up to minutes, and to hours from a day on; a day is 24 hours; `now` or `agora` where the time is past",
		arguments: []argumentKind{plainArgument, languageArgument}, result: Text, types: []any{new(func(time.Time, string) string)},
		call: timeText("time_until"),
	},
	{
		Name: "human_active", Signature: "human_active(duration)", Doc: "whether a person of the team wrote in the conversation within the duration. Where the newest thousand messages are all within it, the answer is yes",
		arguments: []argumentKind{durationArgument}, needs: "conversation", reads: "messages:read", asks: true, result: Flag,
		types: []any{new(func(string) bool), new(func(time.Duration) bool)},
		call: func(e *Evaluation, args []any) (any, error) {
			d, err := asDuration(args[0])
			if err != nil {
				return nil, err
			}
			return e.facts.HumanActive(e.ctx, d)
		},
	},
	{
		Name: "customer_waiting", Signature: "customer_waiting()", Doc: "the time since the customer's oldest unanswered message among the newest thousand of the conversation; 0s when there is none",
		needs: "conversation", reads: "messages:read", asks: true, result: Duration, types: []any{new(func() time.Duration)},
		call: func(e *Evaluation, _ []any) (any, error) { return e.facts.CustomerWaiting(e.ctx) },
	},
	{
		Name: "muted", Signature: "muted()", Doc: "whether nothing automatic is sent to the conversation: a rule or a person has muted it",
		needs: "conversation", asks: true, result: Flag, types: []any{new(func() bool)},
		call: func(e *Evaluation, _ []any) (any, error) { return e.facts.Muted(e.ctx) },
	},
	{
		Name: "has_label", Signature: "has_label(name)", Doc: "whether the conversation has the label",
		arguments: []argumentKind{labelArgument}, needs: "conversation", reads: "conversations:read", asks: true, result: Flag, types: []any{new(func(string) bool)},
		call: func(e *Evaluation, args []any) (any, error) {
			name, ok := args[0].(string)
			if !ok {
				return nil, fmt.Errorf("has_label needs a text, not %s", inWords(args[0]))
			}
			return e.facts.HasLabel(e.ctx, vocabulary.Conversation, name)
		},
	},
	{
		Name: "contact_has_label", Signature: "contact_has_label(name)", Doc: "whether the contact has the label",
		arguments: []argumentKind{labelArgument}, needs: "contact", reads: "contacts:read", asks: true, result: Flag, types: []any{new(func(string) bool)},
		call: func(e *Evaluation, args []any) (any, error) {
			name, ok := args[0].(string)
			if !ok {
				return nil, fmt.Errorf("contact_has_label needs a text, not %s", inWords(args[0]))
			}
			return e.facts.HasLabel(e.ctx, vocabulary.Contact, name)
		},
	},
	{
		Name: "says", Signature: "says(words, …)", Doc: "whether the message's text, or with `gather` one of them, has one of the words or phrases (texts or lists of texts), as whole words, ignoring case and accents; ª and º are a and o",
		needs: "message", result: Flag, types: []any{new(func(string, ...string) bool), new(func(...any) bool)},
		call: says,
	},
	{
		Name: "says_like", Signature: "says_like(words, …)", Doc: "as `says`, and forgives a typing mistake in a word of five letters or more, two from nine on, and plurals of Portuguese, English and Spanish",
		needs: "message", result: Flag, types: []any{new(func(string, ...string) bool), new(func(...any) bool)},
		call: saysLike,
	},
	{
		Name: "extract", Signature: "extract(text, pattern)", Doc: "what the first group of a pattern finds in a text, or without a group the whole pattern; nil where it finds nothing",
		arguments: []argumentKind{plainArgument, patternArgument}, mayBeNil: true, result: Text, types: []any{new(func(string, string) string)},
		call: extract,
	},
	{
		Name: "number", Signature: "number(text)", Doc: "the first number in a text, written like `1.234,56` or `1,234.56`; nil where there is none",
		mayBeNil: true, result: Number, types: []any{new(func(string) float64)},
		call: number,
	},
	{
		Name: "count_events", Signature: "count_events(type, duration)", Doc: "how many events of the type the journal has for this lane within the duration",
		arguments: []argumentKind{eventArgument, durationArgument}, asks: true, result: Number,
		types: []any{new(func(string, string) float64), new(func(string, time.Duration) float64)},
		call: func(e *Evaluation, args []any) (any, error) {
			typ, ok := args[0].(string)
			if !ok {
				return nil, fmt.Errorf("count_events needs an event's name, not %s", inWords(args[0]))
			}
			d, err := asDuration(args[1])
			if err != nil {
				return nil, err
			}
			n, err := e.facts.CountEvents(e.ctx, typ, d)
			return float64(n), err
		},
	},
}

var functionByName = func() map[string]*function {
	m := make(map[string]*function, len(functions))
	for _, f := range functions {
		m[f.Name] = f
	}
	return m
}()

func functionNames() []string {
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.Name
	}
	return names
}

func asTime(v any) (time.Time, error) {
	if t, ok := v.(time.Time); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("a time is needed, not %s", inWords(v))
}

func asDuration(v any) (time.Duration, error) {
	switch d := v.(type) {
	case time.Duration:
		return d, nil
	case string:
		return duration.Parse(d)
	}
	return 0, fmt.Errorf("a duration is needed, not %s", inWords(v))
}

func asInt(v any) (int, error) {
	switch n := v.(type) {
	case int:
		return n, nil
	case float64:
		if n == float64(int(n)) {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("a whole number is needed, not %s", inWords(v))
}

// inWords describes a value for messages.
func inWords(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case time.Time, time.Duration, string, bool, int, float64, []any, map[string]any:
		return typeOfValue(v).String()
	}
	return fmt.Sprintf("%T", v)
}

func typeOfValue(v any) *Type {
	switch v.(type) {
	case time.Time:
		return Time
	case time.Duration:
		return Duration
	}
	return typeOf(v)
}

// exprFunctions are the functions of the expression compiler: the language's own, and expr's own in
// their metered form.
var exprFunctions = func() conf.FunctionsTable {
	table := make(conf.FunctionsTable)
	for _, f := range functions {
		call := f.call
		if f.asks {
			call = func(e *Evaluation, args []any) (any, error) { return e.answer(f, args) }
		}
		table[f.Name] = exprFunction(f.Name, funcTypes(f.types), call)
	}
	for name, f := range meteredBuiltins() {
		table[name] = f
	}
	return table
}()

// funcTypes turns new(func(…) …) values into types.
func funcTypes(pointers []any) []reflect.Type {
	ts := make([]reflect.Type, len(pointers))
	for i, p := range pointers {
		ts[i] = reflect.TypeOf(p).Elem()
	}
	return ts
}

// A Function is one of the language's functions, for the documentation and for editors.
type Function struct {
	Name, Signature, Doc string

	Args   []string // what each argument names: calendar, duration, event, pattern, label or language; empty for any value
	Needs  string   // the fact that it asks about
	Result *Type
}

// argumentNames name the kinds of arguments for a program.
var argumentNames = [...]string{
	plainArgument: "", calendarArgument: "calendar", durationArgument: "duration", eventArgument: "event", patternArgument: "pattern", labelArgument: "label", languageArgument: "language",
}

// Functions returns the language's functions.
func Functions() []Function {
	out := make([]Function, len(functions))
	for i, f := range functions {
		out[i] = Function{Name: f.Name, Signature: f.Signature, Doc: f.Doc, Needs: f.needs, Result: f.result}
		for _, kind := range f.arguments {
			out[i].Args = append(out[i].Args, argumentNames[kind])
		}
	}
	return out
}
