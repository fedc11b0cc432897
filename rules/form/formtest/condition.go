package formtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Conditions makes up expressions as people write them, together with what they must be read as.
// It shares no code with the printer.
type Conditions struct {
	*rand.Rand
	Plain   bool   // texts are easy
	Gathers bool   // the rule collects messages, and has no card
	item    string // the fact that # is; empty outside of the conditions of items
}

// HardLiterals are texts that expressions could take for something else.
var HardLiterals = []string{
	"", "vip", "Ana", `it's "so"`, `\`, `a\nb`, "one\ntwo", "ünïcode", "日本語 😀", "{{ x }}", "}}", "// no comment", "/* nor */", "\x00\x7f\u2028\ufeff", "`", "'", `"`, "15m", "nil", "true", "#", "a and b",
}

// quote writes a text in one of the ways that there are.
func (m Conditions) quote(s string) string {
	switch m.IntN(3) {
	case 0:
		q := strconv.Quote(s)
		return "'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
	case 1:
		if s != "" && !strings.ContainsAny(s, "`\r\x00") {
			return "`" + s + "`"
		}
	}
	return strconv.Quote(s)
}

// Text returns a text.
func (m Conditions) Text() (string, sentence.Term) {
	s := One(m.Rand, HardLiterals...)
	if m.Plain {
		s = One(m.Rand, plain...)
	}
	return m.quote(s), sentence.Term{Kind: sentence.Text, Text: s}
}

// Number returns a number.
func (m Conditions) Number() (string, sentence.Term) {
	s := One(m.Rand, "0", "1", "3", "-2", "2.5", "18")
	return s, sentence.Term{Kind: sentence.Number, Text: s}
}

// Length returns a length of time.
func (m Conditions) Length() (string, sentence.Term) {
	s := One(m.Rand, "0s", "90s", "15m", "1h30m", "2d", "1w")
	return s, sentence.Term{Kind: sentence.Duration, Text: s}
}

// written returns a literal of a type.
func (m Conditions) written(t vocabulary.Type) (string, sentence.Term) {
	switch t {
	case vocabulary.Number:
		return m.Number()
	case vocabulary.Duration:
		s, term := m.Length()
		return "duration(" + m.quote(s) + ")", term
	case vocabulary.Time:
		s := One(m.Rand, "2026-11-13", "2026-11-14")
		return "date(" + m.quote(s) + ")", sentence.Term{Kind: sentence.Date, Text: s}
	case vocabulary.Flag:
		s := One(m.Rand, "true", "false")
		return s, sentence.Term{Kind: sentence.Flag, Text: s}
	}
	return m.Text()
}

// facts are those that the rule has.
func (m Conditions) facts() []string {
	if m.Gathers {
		return []string{"event", "message", "conversation", "contact", "attendance"}
	}
	return []string{"event", "message", "conversation", "contact", "attendance", "card"}
}

// field returns a field of a type, of a fact or of an item.
func (m Conditions) field(t vocabulary.Type) (string, sentence.Term, bool) {
	for range 20 {
		fact := One(m.Rand, m.facts()...)
		if m.item != "" && m.IntN(2) == 0 {
			fact = "#"
		}
		name := fact
		if fact == "#" {
			name = m.item
		}
		fields := slices.DeleteFunc(slices.Clone(vocabulary.FactOf(name).Fields), func(f vocabulary.Field) bool { return f.Type != t })
		if len(fields) == 0 || t == vocabulary.Text && fact == "#" && m.item == "" {
			continue
		}
		f := One(m.Rand, fields...)
		dot := "."
		if m.IntN(4) == 0 && !slices.Contains([]string{"labels"}, f.Name) {
			dot = "?."
		}
		written := fact + dot + f.Name
		if fact == "#" && dot == "." && m.IntN(2) == 0 {
			written = "." + f.Name
		}
		return written, sentence.Term{Kind: sentence.Name, Text: fact + dot + f.Name}, f.Values == nil
	}
	return "", sentence.Term{}, false
}

// Value returns a value of a type that is no literal.
func (m Conditions) Value(t vocabulary.Type, depth int) (string, sentence.Term) {
	if depth > 0 && m.IntN(3) > 0 {
		if text, term, ok := m.made(t, depth-1); ok {
			return text, term
		}
	}
	if text, term, _ := m.field(t); text != "" && (m.IntN(3) > 0 || t == vocabulary.Texts || t == vocabulary.Flag) {
		return text, term
	}
	switch t {
	case vocabulary.Number:
		return "vars.n", sentence.Term{Kind: sentence.Name, Text: "vars.n"}
	case vocabulary.Duration:
		return "customer_waiting()", call("customer_waiting")
	case vocabulary.Time:
		return "now()", call("now")
	case vocabulary.Texts:
		return "vars.words", sentence.Term{Kind: sentence.Name, Text: "vars.words"}
	case vocabulary.Flag:
		return "vars.on", sentence.Term{Kind: sentence.Name, Text: "vars.on"}
	}
	return "vars.word", sentence.Term{Kind: sentence.Name, Text: "vars.word"}
}

// call returns a value of the catalogue.
func call(key string, blanks ...any) sentence.Term {
	return sentence.Term{Kind: sentence.Value, Value: key, Blanks: filled(blanks)}
}

func filled(blanks []any) map[string]sentence.Term {
	if len(blanks) == 0 {
		return nil
	}
	out := map[string]sentence.Term{}
	for b := range slices.Chunk(blanks, 2) {
		out[b[0].(string)] = b[1].(sentence.Term)
	}
	return out
}

// Wrapped returns a term with one thing more done to it.
func Wrapped(t sentence.Term, key string) sentence.Term {
	t.Wraps = append(slices.Clone(t.Wraps), key)
	return t
}

func quoted(s string) sentence.Term { return sentence.Term{Kind: sentence.Text, Text: s} }

// made returns a value of a type that is made of others.
func (m Conditions) made(t vocabulary.Type, depth int) (string, sentence.Term, bool) {
	switch t {
	case vocabulary.Number:
		return m.madeNumber(depth)
	case vocabulary.Duration:
		switch m.IntN(4) {
		case 0:
			x, at := m.Value(vocabulary.Time, depth)
			if at.Value == "ago" || at.Value == "ahead" {
				break
			}
			return "(now() - " + x + ")", call("since", "time", at), true
		case 1:
			a, from := m.Value(vocabulary.Time, depth)
			b, to := m.Value(vocabulary.Time, depth)
			return fmt.Sprintf("business_time(%s, %s, %s)", m.quote("office"), a, b), call("business_time", "calendar", quoted("office"), "from", from, "to", to), true
		case 2:
			return "duration(vars.sla)", call("duration", "text", sentence.Term{Kind: sentence.Name, Text: "vars.sla"}), true
		}
	case vocabulary.Time:
		d, length := m.written(vocabulary.Duration)
		x, at := m.Value(vocabulary.Time, depth)
		switch m.IntN(6) {
		case 0:
			f := One(m.Rand, "next_open", "next_close")
			return f + "(" + m.quote("office") + ")", call(f, "calendar", quoted("office")), true
		case 1:
			return "(now() - " + d + ")", call("ago", "duration", length), true
		case 2:
			return "(now() + " + d + ")", call("ahead", "duration", length), true
		case 3:
			n, days := m.Number()
			if !strings.Contains(n, ".") && !strings.Contains(x, "?.") {
				zero := sentence.Term{Kind: sentence.Number, Text: "0"}
				return fmt.Sprintf("%s.AddDate(0, 0, %s)", x, n), call("date_after", "time", at, "years", zero, "months", zero, "days", days), true
			}
		}
	case vocabulary.Text:
		return m.madeText(depth)
	}
	return "", sentence.Term{}, false
}

func (m Conditions) madeNumber(depth int) (string, sentence.Term, bool) {
	x, number := m.Value(vocabulary.Number, depth)
	s, text := m.Value(vocabulary.Text, depth)
	at, time := m.Value(vocabulary.Time, depth)
	switch m.IntN(9) {
	case 0:
		return "number(" + s + ")", call("number", "text", text), true
	case 1:
		event := One(m.Rand, vocabulary.EventTypes()...)
		d, length := m.Length()
		return fmt.Sprintf("count_events(%s, %s)", m.quote(event), m.quote(d)), call("count_events", "type", quoted(event), "duration", length), true
	case 2:
		list, of := m.Value(vocabulary.Texts, 0)
		return "len(" + list + ")", call("length", "x", of), true
	case 3:
		y, other := m.Number()
		op, key := "+", "plus"
		if m.IntN(2) == 0 {
			op, key = "*", "times"
		}
		return fmt.Sprintf("(%s %s %s)", x, op, y), call(key, "x", number, "y", other), true
	case 4:
		return "(" + x + " ?? 0)", Wrapped(number, "or_zero"), true
	case 5:
		return fmt.Sprintf("int(trim(%s))", s), Wrapped(Wrapped(text, "trim"), "int"), true
	case 6:
		if !strings.Contains(at, "?.") {
			method := One(m.Rand, "Hour", "Minute")
			return fmt.Sprintf("%s.%s()", at, method), call(strings.ToLower(method), "time", time), true
		}
	case 7:
		if list, of, ok := m.list(); ok {
			c, condition := m.inside(list).Condition(1)
			return fmt.Sprintf("count(%s, %s)", list, c), call("count", "list", of, "condition", Question(condition)), true
		}
	}
	return "", sentence.Term{}, false
}

func (m Conditions) madeText(depth int) (string, sentence.Term, bool) {
	x, text := m.Value(vocabulary.Text, depth)
	at, time := m.Value(vocabulary.Time, depth)
	switch m.IntN(10) {
	case 9:
		f, language := One(m.Rand, "weekday_time", "day_time", "time_until"), One(m.Rand, "pt", "en")
		return fmt.Sprintf("%s(%s, %s)", f, at, m.quote(language)), call(f, "time", time, "language", quoted(language)), true
	case 0:
		return "(" + x + " ?? " + One(m.Rand, `""`, "''") + ")", Wrapped(text, "or_text"), true
	case 1:
		f := One(m.Rand, "trim", "lower")
		return f + "(" + x + ")", Wrapped(text, f), true
	case 2:
		return fmt.Sprintf("extract(%s, %s)", x, m.quote("[0-9]+")), call("extract", "text", text, "pattern", quoted("[0-9]+")), true
	case 3:
		n := One(m.Rand, "-1", "0", "3")
		return fmt.Sprintf("day(%s, %s)", at, n), call("day", "time", time, "n", sentence.Term{Kind: sentence.Number, Text: n}), true
	case 4:
		layout := One(m.Rand, "15:04", "02/01")
		if !strings.Contains(at, "?.") {
			return fmt.Sprintf("%s.Format(%s)", at, m.quote(layout)), call("format", "time", time, "layout", quoted(layout)), true
		}
	case 5:
		if !strings.Contains(at, "?.") {
			return at + ".Weekday().String()", call("weekday", "time", time), true
		}
	case 6:
		y, other := m.Text()
		if other.Text != "" {
			return fmt.Sprintf("(%s ?? %s)", x, y), call("or_else", "x", text, "y", other), true
		}
	case 7:
		y, other := m.Text()
		return fmt.Sprintf("(%s + %s)", x, y), call("plus", "x", text, "y", other), true
	case 8:
		y, other := m.Text()
		c, condition := m.Condition(0)
		return fmt.Sprintf("(%s ? %s : %s)", c, x, y), call("choice", "condition", Question(condition), "x", text, "y", other), true
	}
	return "", sentence.Term{}, false
}

// Question returns the term that is whether a condition is true.
func Question(c sentence.Condition) sentence.Term {
	return sentence.Term{Kind: sentence.Question, Condition: &c}
}

// list returns a list whose items have fields, where there is one.
func (m Conditions) list() (string, sentence.Term, bool) {
	if !m.Gathers || m.item != "" {
		return "", sentence.Term{}, false
	}
	name := One(m.Rand, "messages", "events")
	return name, sentence.Term{Kind: sentence.Name, Text: name}, true
}

func (m Conditions) inside(list string) Conditions {
	m.item = strings.TrimSuffix(list, "s")
	return m
}

// Condition returns an expression that is true or false.
func (m Conditions) Condition(depth int) (string, sentence.Condition) {
	if depth > 0 && m.IntN(3) == 0 {
		return m.group(depth - 1)
	}
	text, c := m.Sentence(depth)
	switch m.IntN(6) {
	case 0:
		return "(" + text + ")", c
	case 1:
		c.Not = !c.Not
		return One(m.Rand, "not ", "!", "not") + "(" + text + ")", c
	}
	return text, c
}

func (m Conditions) group(depth int) (string, sentence.Condition) {
	g := One(m.Rand, sentence.All, sentence.Any, sentence.None)
	out := sentence.Condition{Group: g}
	joined := One(m.Rand, " or ", " || ")
	if g == sentence.All {
		joined = One(m.Rand, " and ", " && ")
	}
	flat := g
	if g == sentence.None {
		flat = sentence.Any
	}
	var parts []string
	for range 2 + m.IntN(2) {
		text, c := m.Condition(depth)
		parts = append(parts, "("+text+")")
		if c.Group == flat {
			out.Of = append(out.Of, c.Of...)
		} else {
			out.Of = append(out.Of, c)
		}
	}
	text := strings.Join(parts, joined)
	if g == sentence.None {
		return "not (" + text + ")", out
	}
	return text, out
}

func said(key string, not bool, blanks ...any) sentence.Condition {
	return sentence.Condition{Sentence: key, Not: not, Blanks: filled(blanks)}
}

var orders = []struct{ op, turned, key string }{{">", "<", "more"}, {">=", "<=", "least"}, {"<", ">", "less"}, {"<=", ">=", "most"}}

// Sentence returns an expression that one sentence says.
func (m Conditions) Sentence(depth int) (string, sentence.Condition) {
	types := []vocabulary.Type{vocabulary.Text, vocabulary.Text, vocabulary.Number, vocabulary.Duration, vocabulary.Time}
	t := One(m.Rand, types...)
	x, left := m.Value(t, depth)
	y, right := m.written(t)
	switch m.IntN(11) {
	case 0:
		op, not := "==", false
		if m.IntN(2) == 0 {
			op, not = "!=", true
		}
		if fixed := fixedOf(left.Text, m.item); fixed != nil && left.Kind == sentence.Name && len(left.Wraps) == 0 {
			right = quoted(One(m.Rand, fixed...))
			y = m.quote(right.Text)
		}
		if m.IntN(4) == 0 {
			return y + " " + op + " " + x, said("is", not, "x", left, "y", right)
		}
		return x + " " + op + " " + y, said("is", not, "x", left, "y", right)
	case 1:
		return x + " == nil", said("known", true, "x", left)
	case 2:
		return "nil != " + x, said("known", false, "x", left)
	case 3, 4:
		o := One(m.Rand, orders...)
		if m.IntN(3) == 0 {
			return y + " " + o.turned + " " + x, said(o.key, false, "x", left, "y", right)
		}
		return x + " " + o.op + " " + y, said(o.key, false, "x", left, "y", right)
	case 5:
		x, left := m.Value(vocabulary.Text, depth)
		s := One(m.Rand, "a", "vip", "Ana", "^[1-3]$")
		o := One(m.Rand, [][3]string{{"contains", "contains", "y"}, {"startsWith", "begins", "y"}, {"endsWith", "ends", "y"}, {"matches", "matches", "pattern"}}...)
		if m.IntN(3) == 0 {
			return x + " not " + o[0] + " " + m.quote(s), said(o[1], true, o[2], quoted(s), "x", left)
		}
		return x + " " + o[0] + " " + m.quote(s), said(o[1], false, o[2], quoted(s), "x", left)
	case 6:
		return m.membership(depth)
	case 7:
		x, left := m.Value(vocabulary.Flag, 0)
		return x, said("yes", false, "x", left)
	case 9:
		x, left := m.Value(vocabulary.Time, depth)
		y, right := m.Value(vocabulary.Time, depth)
		f := One(m.Rand, "Before", "After")
		return fmt.Sprintf("%s.%s(%s)", x, f, y), said(strings.ToLower(f), false, "x", left, "y", right)
	case 8:
		if list, of, ok := m.list(); ok {
			f := One(m.Rand, [][2]string{{"any", "any_item"}, {"all", "every_item"}, {"none", "no_item"}, {"one", "one_item"}}...)
			c, condition := m.inside(list).Condition(1)
			return fmt.Sprintf("%s(%s, %s)", f[0], list, c), said(f[1], false, "list", of, "condition", Question(condition))
		}
	}
	return m.call()
}

// fixedOf returns the only values that a field can have.
func fixedOf(path, item string) []string {
	fact, name, _ := strings.Cut(strings.ReplaceAll(path, "?", ""), ".")
	if fact == "#" {
		fact = item
	}
	if row := vocabulary.FactOf(fact); row != nil {
		for _, f := range row.Fields {
			if f.Name == name {
				return f.Values
			}
		}
	}
	return nil
}

func (m Conditions) membership(depth int) (string, sentence.Condition) {
	not := m.IntN(2) == 0
	in := " in "
	if not {
		in = " not in "
	}
	if m.IntN(2) == 0 {
		list, of := m.Value(vocabulary.Texts, 0)
		item, written := m.Text()
		return item + in + list, said("has", not, "item", written, "list", of)
	}
	t := One(m.Rand, vocabulary.Text, vocabulary.Number)
	x, left := m.Value(t, depth)
	var items []string
	list := sentence.Term{Kind: sentence.List}
	for range 1 + m.IntN(3) {
		text, term := m.written(t)
		if fixed := fixedOf(left.Text, m.item); fixed != nil && left.Kind == sentence.Name && len(left.Wraps) == 0 {
			term = quoted(One(m.Rand, fixed...))
			text = m.quote(term.Text)
		}
		items, list.List = append(items, text), append(list.List, term)
	}
	return x + in + "[" + strings.Join(items, ", ") + "]", said("one_of", not, "x", left, "list", list)
}

// call returns a call of one of the language's questions.
func (m Conditions) call() (string, sentence.Condition) {
	switch m.IntN(6) {
	case 0:
		closed := m.IntN(2) == 0
		return One(m.Rand, map[bool]string{true: "closed(", false: "open("}[closed]) + m.quote("office") + ")", said("open", closed, "calendar", quoted("office"))
	case 1:
		d, length := m.Length()
		if m.IntN(3) == 0 {
			return "human_active(duration(" + m.quote(d) + "))", said("human_active", false, "duration", length)
		}
		return "human_active(" + m.quote(d) + ")", said("human_active", false, "duration", length)
	case 2:
		f := One(m.Rand, "has_label", "contact_has_label")
		name := One(m.Rand, "vip", "late", "new")
		return f + "(" + m.quote(name) + ")", said(f, false, "name", quoted(name))
	case 3:
		return "muted()", said("muted", false)
	case 4:
		f := One(m.Rand, "says", "says_like")
		words := sentence.Term{Kind: sentence.List}
		var texts []string
		for range 1 + m.IntN(3) {
			w := One(m.Rand, "boleto", "segunda via", "oi", "preço")
			texts, words.List = append(texts, m.quote(w)), append(words.List, quoted(w))
		}
		return f + "(" + strings.Join(texts, ", ") + ")", said(f, false, "words", words)
	}
	return "true", said("always", false)
}
