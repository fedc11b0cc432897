package explain_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
)

// This file is an evaluator of its own for conditions: plain Go, without the expression library. It
// makes up conditions, writes them as rules have them, and says what they come to and with which
// values.

var (
	errFails   = errors.New("fails")
	errUnknown = errors.New("not known")
)

// A world is what is true when an event is decided.
type world struct {
	now     time.Time
	office  bool           // is open
	facts   map[string]any // by name; nil is that there is none
	carried map[string]bool
	labels  []string
	human   map[string]bool // by the length of time
	waiting time.Duration
	counts  map[string]int // by type and length of time
}

// A knowledge is the facts for evaluating a rule: all, by calls, or only the recorded ones.
type knowledge struct {
	*world
	recorded map[string]bool // questions; nil is that everything can be asked
	asked    map[string]bool // questions that came up, with those of the desk
	patient  bool            // what fails is passed over, too, where something else is false for sure
}

func (k *knowledge) ask(question string) error {
	if k.recorded != nil && !k.recorded[question] {
		return errUnknown
	}
	k.asked[question] = true
	return nil
}

func (k *knowledge) fact(name string) error {
	if k.carried[name] {
		return nil
	}
	return k.ask(name)
}

// A term is a part of a condition.
type term struct {
	text  string
	facts []string // that it reads by name
	eval  func(k *knowledge) (any, error)
	parts []*term // in it
	shown bool    // it is a name or a call, so that its value is shown
	asks  string  // the fact that must have been read for its value to be shown
}

func literal(v any) *term {
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if v == nil {
		text = "nil"
	}
	return &term{text: text, eval: func(*knowledge) (any, error) { return v, nil }}
}

// path reads a field of a fact. Optional is with ?. behind the fact.
func path(text string) *term {
	optional := strings.Contains(text, "?.")
	names := strings.Split(strings.ReplaceAll(text, "?.", "."), ".")
	return &term{text: text, facts: names[:1], shown: true, eval: func(k *knowledge) (any, error) {
		if err := k.fact(names[0]); err != nil {
			return nil, err
		}
		v := k.facts[names[0]]
		for _, name := range names[1:] {
			object, ok := v.(map[string]any)
			if !ok {
				if optional && v == nil {
					return nil, nil
				}
				return nil, errFails
			}
			v = object[name]
		}
		return v, nil
	}}
}

func call(text, asks string, eval func(k *knowledge) (any, error)) *term {
	return &term{text: text, shown: true, asks: asks, eval: func(k *knowledge) (any, error) {
		if asks != "" {
			if err := k.ask(asks); err != nil {
				return nil, err
			}
		}
		return eval(k)
	}}
}

func not(t *term) *term {
	return &term{text: "not (" + t.text + ")", parts: []*term{t}, eval: func(k *knowledge) (any, error) {
		v, err := t.eval(k)
		if err != nil {
			return nil, err
		}
		return !v.(bool), nil
	}}
}

func join(a *term, operator string, b *term) *term {
	return &term{text: fmt.Sprintf("(%s) %s (%s)", a.text, operator, b.text), parts: []*term{a, b}, eval: func(k *knowledge) (any, error) {
		v, err := a.eval(k)
		if (errors.Is(err, errUnknown) || err != nil && k.patient) && operator == "and" {
			if w, err := b.eval(k); err == nil && w == false {
				return false, nil // whatever the other one was
			}
		}
		if err != nil || v.(bool) == (operator == "or") {
			return v, err
		}
		return b.eval(k)
	}}
}

// compare joins two values with an operator.
func compare(a *term, operator string, b *term) *term {
	return &term{text: a.text + " " + operator + " " + b.text, parts: []*term{a, b}, eval: func(k *knowledge) (any, error) {
		x, err := a.eval(k)
		if err != nil {
			return nil, err
		}
		y, err := b.eval(k)
		if err != nil {
			return nil, err
		}
		return operate(x, operator, y)
	}}
}

func operate(x any, operator string, y any) (any, error) {
	switch operator {
	case "==":
		return number(x) == number(y), nil
	case "!=":
		return number(x) != number(y), nil
	case "contains", "startsWith", "endsWith", "matches":
		text, ok := x.(string)
		switch {
		case x == nil:
			return false, nil
		case !ok:
			return nil, errFails
		case operator == "contains":
			return strings.Contains(text, y.(string)), nil
		case operator == "startsWith":
			return strings.HasPrefix(text, y.(string)), nil
		case operator == "endsWith":
			return strings.HasSuffix(text, y.(string)), nil
		}
		return regexp.MustCompile(y.(string)).MatchString(text), nil
	}
	p, ok := number(x).(float64)
	q, ok2 := number(y).(float64)
	if !ok || !ok2 {
		return nil, errFails
	}
	return map[string]bool{"<": p < q, "<=": p <= q, ">": p > q, ">=": p >= q}[operator], nil
}

// number makes all numbers and lengths of time comparable.
func number(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case time.Duration:
		return float64(v)
	}
	return v
}

func among(a *term, list ...string) *term {
	quoted := make([]string, len(list))
	for i := range list {
		quoted[i] = fmt.Sprintf("%q", list[i])
	}
	return &term{text: a.text + " in [" + strings.Join(quoted, ", ") + "]", parts: []*term{a}, eval: func(k *knowledge) (any, error) {
		v, err := a.eval(k)
		if err != nil {
			return nil, err
		}
		s, ok := v.(string)
		return ok && slices.Contains(list, s), nil
	}}
}

// needs are the facts that must be there before a condition is evaluated.
func (t *term) needs() []string {
	list := slices.Clone(t.facts)
	for _, p := range t.parts {
		list = append(list, p.needs()...)
	}
	return list
}

// result evaluates a condition, with the values of the names and calls in it.
func (t *term) result(k *knowledge) (result bool, values map[string]any, err error) {
	values = map[string]any{}
	if k.recorded == nil {
		for _, name := range t.needs() {
			_ = k.fact(name) // the engine asks for all of them before it evaluates
		}
	}
	v, err := t.eval(k)
	t.tell(k, values)
	if err != nil {
		return false, values, err
	}
	return v.(bool), values, nil
}

func (t *term) tell(k *knowledge, values map[string]any) {
	if t.shown && (t.asks == "" || k.asked[t.asks]) {
		if v, err := t.eval(k); err == nil {
			values[t.text] = told(v)
		}
	}
	for _, p := range t.parts {
		p.tell(k, values)
	}
}

// told is a value in the form of a verdict.
func told(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return duration.Format(v)
	case int:
		return float64(v)
	case map[string]any:
		return fmt.Sprintf("%d fields", len(v))
	case []any:
		return fmt.Sprintf("%d items", len(v))
	}
	return v
}

// condition makes one up.
func condition(r *rand.Rand, depth int) *term {
	if depth > 0 && r.IntN(3) == 0 {
		switch r.IntN(3) {
		case 0:
			return not(condition(r, depth-1))
		case 1:
			return join(condition(r, depth-1), "and", condition(r, depth-1))
		}
		return join(condition(r, depth-1), "or", condition(r, depth-1))
	}
	return simple(r)
}

func one[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

var orders = []string{"<", "<=", ">", ">="}

// simple makes up a comparison or a question.
func simple(r *rand.Rand) *term {
	length := one(r, "5m", "15m", "1h")
	count := r.IntN(6)
	switch r.IntN(22) {
	case 0:
		return compare(path("conversation.kind"), one(r, "==", "!="), literal(one(r, "direct", "group")))
	case 1:
		return among(path(one(r, "conversation.name", "conversation.assignee", "contact.city", "attendance.protocol")), one(r, "Rosa", "ana"), one(r, "Recife", "P1"))
	case 2:
		return path(one(r, "conversation.archived", "contact.blocked", "conversation.unread"))
	case 3:
		return not(path(one(r, "conversation.archived", "contact.blocked")))
	case 4:
		return compare(path(one(r, "message.text", "conversation.name", "contact.city")), one(r, "contains", "startsWith", "endsWith"), literal(one(r, "he", "o", "R")))
	case 5:
		return compare(path(one(r, "message.text", "contact.city")), "matches", literal(one(r, "^h", "[0-9]", "o$")))
	case 6:
		return compare(path("event.data.n"), one(r, append(orders, "==", "!=")...), literal(count))
	case 7:
		return compare(path(one(r, "conversation.assignee", "contact.city", "attendance", "message.media_id", "event.data.tag")), one(r, "==", "!="), literal(nil))
	case 8:
		return compare(path("attendance.status"), one(r, "==", "!="), literal(one(r, "open", "closed")))
	case 9:
		return compare(path("attendance?.status"), "==", literal(one(r, "open", "closed")))
	case 10:
		return compare(path("event.data.deep.flag"), "==", literal(one(r, true, false)))
	case 11, 12:
		return call(fmt.Sprintf("human_active(%q)", length), "human_active("+length+")", func(k *knowledge) (any, error) { return k.human[length], nil })
	case 13, 14:
		label := one(r, "vip", "late", "new")
		return call(fmt.Sprintf("has_label(%q)", label), "has_label("+label+")", func(k *knowledge) (any, error) { return slices.Contains(k.labels, label), nil })
	case 15:
		waiting := call("customer_waiting()", "customer_waiting()", func(k *knowledge) (any, error) { return k.waiting, nil })
		d, _ := time.ParseDuration(length)
		return compare(waiting, one(r, orders...), call(fmt.Sprintf("duration(%q)", length), "", func(*knowledge) (any, error) { return d, nil }))
	case 16:
		word := one(r, "hello", "human", "price")
		return call(fmt.Sprintf("says(%q)", word), "", func(k *knowledge) (any, error) {
			m, _ := k.facts["message"].(map[string]any)
			return slices.Contains(strings.Fields(m["text"].(string)), word), nil
		})
	case 17:
		open := one(r, "open", "closed")
		return call(open+`("office")`, "", func(k *knowledge) (any, error) { return k.office == (open == "open"), nil })
	case 18:
		typ := one(r, "message.received", "message.sent")
		events := call(fmt.Sprintf("count_events(%q, %q)", typ, length), "count_events("+typ+", "+length+")", func(k *knowledge) (any, error) { return k.counts[typ+length], nil })
		return compare(events, one(r, orders...), literal(count))
	case 19:
		text := path("message.text")
		size := &term{text: "len(message.text)", shown: true, parts: []*term{text}, eval: func(k *knowledge) (any, error) {
			v, err := text.eval(k)
			return len(v.(string)), err
		}}
		return compare(size, one(r, orders...), literal(3*count))
	case 20:
		return compare(call("now().Hour()", "", func(k *knowledge) (any, error) { return k.now.Hour(), nil }), one(r, orders...), literal(4*count))
	}
	field := one(r, [2]string{"event.type", "message.received"}, [2]string{"message.by", "customer"}, [2]string{"event.data.tag", "a"})
	return compare(path(field[0]), one(r, "==", "!="), literal(field[1]))
}
