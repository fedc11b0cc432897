package sentence

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// term returns a term that is one chip.
func (w wording) term(t Term, picker string, field *rules.Field) string {
	switch t.Kind {
	case Name:
		return w.name(t.Text)
	case List:
		one := strings.TrimSuffix(picker, "s")
		if picker == "words" {
			one = "text"
		}
		var items []string
		for _, item := range t.List {
			items = append(items, w.term(item, one, field))
		}
		if len(items) == 0 {
			return w.t("literal.none")
		}
		last := len(items) - 1
		if picker == "words" && last > 0 {
			return strings.Join(items[:last], ", ") + w.t("say.or") + items[last]
		}
		return strings.Join(items, ", ")
	case Question:
		inside := w
		inside.flat = true
		if t.Condition == nil {
			return ""
		}
		return inside.say(*t.Condition)
	case Value:
		inside := w
		inside.flat = true
		return join(inside.chip(slot{"x", t, "x"}, nil, nil))
	case Hand:
		return t.Text
	}
	return w.literal(t, picker, field)
}

// literal returns a value that is written out.
func (w wording) literal(t Term, picker string, field *rules.Field) string {
	switch {
	case t.Kind == Duration:
		return w.duration(t.Text)
	case picker == "weekday_number":
		if n, err := strconv.Atoi(t.Text); err == nil && n >= 0 && n <= 6 {
			return w.t(phrases.Code("fixed.weekday." + time.Weekday(n).String()))
		}
		return t.Text
	case picker == "month" && phrases.Knows(phrases.Code("fixed.month."+t.Text)):
		return w.t(phrases.Code("fixed.month." + t.Text))
	case t.Kind == Flag, picker == "flag":
		return w.t(phrases.Code("value." + t.Text))
	case t.Kind == Date:
		if day, err := time.Parse(time.DateOnly, t.Text); err == nil {
			return day.Format(w.t("literal.date"))
		}
		return t.Text
	case t.Kind == Number && picker == "hour":
		return w.t("literal.hour", t.Text)
	case t.Kind == Number:
		return strings.Replace(t.Text, ".", w.t("literal.decimals"), 1)
	case picker == "language" && phrases.Knows(phrases.Code("fixed.language."+t.Text)):
		return w.t(phrases.Code("fixed.language." + t.Text))
	case picker == "weekday" && phrases.Knows(phrases.Code("fixed.weekday."+t.Text)):
		return w.t(phrases.Code("fixed.weekday." + t.Text))
	case picker == "event" && phrases.Knows(phrases.Code("event."+t.Text)):
		name := w.t(phrases.Code("event." + t.Text))
		if w.flat {
			return "“" + name + "”"
		}
		return name
	case picker == "choice" && field != nil && phrases.Knows(phrases.Code("fixed."+field.Name+"."+t.Text)):
		return w.t(phrases.Code("fixed." + field.Name + "." + t.Text))
	case picker == "pattern":
		return w.pattern(t.Text)
	case picker == "layout":
		return example(t.Text)
	case t.Text == "":
		return w.t("literal.empty")
	case w.flat && (picker == "text" || picker == "value" || picker == "texts" || picker == "list"):
		return "“" + t.Text + "”"
	}
	return t.Text
}

// lengthPart matches a number and its unit in a duration.
var lengthPart = regexp.MustCompile(`(\d+(?:\.\d+)?)(ms|[wdhms])`)

// duration returns a length of time with its units written out.
func (w wording) duration(text string) string {
	var parts []string
	for _, m := range lengthPart.FindAllStringSubmatch(text, -1) {
		if m[2] == "ms" {
			return text
		}
		form := ".many"
		if m[1] == "1" {
			form = ".one"
		}
		parts = append(parts, w.t(phrases.Code("unit."+m[2]+form), strings.Replace(m[1], ".", w.t("literal.decimals"), 1)))
	}
	return strings.Join(parts, w.t("say.and"))
}

// Patterns that have words.
var (
	aDigit     = regexp.MustCompile(`^\^ ?\*?\[(\d)-(\d)\] ?\*?\$$`)
	manyDigits = regexp.MustCompile(`^(?:\[0-9\]|\\d)\{(\d+),\}$`)
	anyDigits  = regexp.MustCompile(`^(?:\[0-9\]|\\d)\+$`)
)

func (w wording) pattern(text string) string {
	if m := aDigit.FindStringSubmatch(text); m != nil {
		return w.t("pattern.digit", m[1], m[2])
	}
	if m := manyDigits.FindStringSubmatch(text); m != nil {
		return w.t("pattern.digits", m[1])
	}
	if anyDigits.MatchString(text) {
		return w.t("pattern.number")
	}
	return w.t("pattern.of", text)
}

// example writes a time as a layout does.
func example(layout string) string {
	return time.Date(2026, 11, 17, 8, 0, 0, 0, time.UTC).Format(layout)
}

// name returns what a fact, a variable or a result is called.
func (w wording) name(path string) string {
	if words, ok := w.fact(strings.Split(w.plainName(path), ".")); ok {
		return words
	}
	parts := partsOf(path)
	root, rest := parts[0], parts[1:]
	if root == "steps" && len(rest) > 0 {
		root, rest = rest[0], rest[1:]
	}
	switch {
	case root == "vars" && len(rest) > 0:
		return pretty(strings.Join(rest, " "))
	case root == "error":
		return w.t("fact.error")
	case root == "event" && len(rest) > 1 && rest[0] == "data":
		return w.t("name.data", pretty(strings.Join(rest[1:], " ")))
	}
	owner := pretty(root)
	known, _ := w.scope.lookup(root)
	switch {
	case root == "#":
		owner = w.t("name.item")
	case known.verb == "wait_for":
		owner = w.t("name.answer")
		if strings.Join(rest, ".") == "message.text" {
			return w.t("name.answer_text")
		}
	}
	return w.fieldOf(root, owner, rest)
}

// fieldOf names what stands behind a root: by the fact that it is a field of, by the words for
// results, or as it is written.
func (w wording) fieldOf(root, owner string, rest []string) string {
	path := root
	var names []string
	for _, part := range rest {
		if n, err := strconv.Atoi(part); err == nil {
			owner = w.t("name.nth", owner, n+1)
			path += "[" + part + "]"
			continue
		}
		path += "." + part
		names = append(names, part)
	}
	if len(names) == 0 {
		return owner
	}
	last := names[len(names)-1]
	found := w.scope.typeOfName(path, w.item)
	if words, ok := w.fact([]string{found.fact, last}); ok && found.field != nil {
		return w.t("name.of", words, owner)
	}
	if len(names) > 1 {
		if words, ok := w.fact(names[len(names)-2:]); ok {
			return w.t("name.of", words, owner)
		}
	}
	if k, _ := w.scope.lookup(root); last == "items" && len(names) == 1 && phrases.Knows(phrases.Code("found."+k.verb)) {
		return w.t("name.of", w.t(phrases.Code("found."+k.verb)), owner)
	}
	if code := phrases.Code("result." + last); phrases.Knows(code) && (found.field != nil || last == "items" || last == "total") {
		return w.t("name.of", w.t(code), owner)
	}
	words := pretty(strings.TrimPrefix(strings.Join(names, " "), "json "))
	if code := phrases.Code("common." + last); phrases.Knows(code) {
		words = w.t(code)
	} else if refers := rules.RefersOf(last); refers != "" {
		words = w.t(phrases.Code("blank." + refers))
	}
	words = w.t("name.field", words, owner)
	if w.language == phrases.Portuguese {
		words = contractAll(words)
	}
	return words
}

// fact returns the words for a fact or one of its fields, also behind another object.
func (w wording) fact(parts []string) (string, bool) {
	if vocabulary.FactOf(parts[0]) == nil || len(parts) > 3 {
		return "", false
	}
	if len(parts) == 3 {
		outer, ok := w.fact(parts[:2])
		inner, known := w.fact([]string{factOf(factTypes[parts[0]].Field(parts[1])), parts[2]})
		return w.t("name.of", inner, outer), ok && known
	}
	code := phrases.Code("fact." + strings.Join(parts, "."))
	return w.t(code), phrases.Knows(code)
}

// pretty writes a name for people.
func pretty(name string) string {
	return strings.TrimSpace(strings.NewReplacer("_", " ", "-", " ").Replace(name))
}
