package sentence

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/phrases"
)

// A Part is a stretch of a text: plain, or a chip.
type Part struct {
	Text string `json:"text,omitempty"`
	Chip *Term  `json:"chip,omitempty"`
}

// ReadText reads a text with {{ }} in it. A {{ that is never closed is plain text.
func ReadText(text string) []Part {
	parts, _ := readText(text)
	return parts
}

// readText returns the parts of a text, with the bytes of each.
func readText(text string) (parts []Part, bytes []string) {
	segments, unclosed := template.Split(text)
	at := 0
	add := func(p Part, until int) {
		parts, bytes = append(parts, p), append(bytes, text[at:until])
		at = until
	}
	for _, s := range segments {
		if !s.Expression {
			add(Part{Text: s.Text}, s.Offset+len(s.Text))
			continue
		}
		end := s.Offset + len(s.Text)
		end += strings.Index(text[end:], "}}") + len("}}")
		chip := ReadValue(s.Text)
		add(Part{Chip: &chip}, end)
	}
	if unclosed >= 0 {
		add(Part{Text: text[unclosed:]}, len(text))
	}
	return parts, bytes
}

// Expressions returns what stands between {{ and }} in a text, in its order.
func Expressions(text string) (list []string) {
	segments, _ := template.Split(text)
	for _, s := range segments {
		if s.Expression {
			list = append(list, strings.TrimSpace(s.Text))
		}
	}
	return list
}

// PrintText returns the text of parts.
func PrintText(parts []Part) string { return WriteText("", parts) }

// WriteText returns the text of parts that were read from another one and perhaps changed. A chip
// that was there keeps its bytes.
func WriteText(was string, parts []Part) string {
	old, bytes := readText(was)
	var b strings.Builder
	for _, p := range parts {
		if p.Chip == nil {
			b.WriteString(p.Text)
			continue
		}
		kept := ""
		for i, o := range old {
			if o.Chip != nil && o.Chip.Same(*p.Chip) {
				kept = bytes[i]
				old[i].Chip = nil // the next one may be written otherwise
				break
			}
		}
		if kept == "" {
			kept = "{{ " + PrintChip(*p.Chip) + " }}"
		}
		b.WriteString(kept)
	}
	return b.String()
}

// Chip returns what a chip in a text says: its words without an article.
func (s Scope) Chip(l phrases.Language, t Term) string {
	words := s.SayValue(l, t)
	for _, article := range [...][]string{phrases.English: {"the "}, phrases.Portuguese: {"o ", "a ", "os ", "as "}}[l] {
		if rest, ok := strings.CutPrefix(words, article); ok && !strings.HasPrefix(rest, "que ") {
			return rest
		}
	}
	return words
}

// A Format is a way to write a time in a text: by a layout, or by one of the language's functions.
type Format struct {
	Layout   string `json:"layout,omitempty"` // of both empty is the usual one
	Function string `json:"function,omitempty"`
	Example  string `json:"example"` // of 17 November, eight o'clock

	language string // of the function
}

// timeFunctions write a time for people. Each has a phrase with its example.
var timeFunctions = []string{"day_time", "weekday_time", "time_until"}

// Formats returns the ways to write a time in a text in a language, the usual one first.
func Formats(l phrases.Language) []Format {
	layouts := [...][]string{
		phrases.English:    {"15:04", "02/01", "02/01/2006", "02/01 15:04", "Jan 2, 15:04"},
		phrases.Portuguese: {"15:04", "02/01", "02/01/2006", "02/01 às 15:04", "02/01/2006 às 15:04"},
	}[l]
	out := []Format{{Example: example("2006-01-02 15:04")}}
	language := [...]string{phrases.English: "en", phrases.Portuguese: "pt"}[l]
	for _, name := range timeFunctions {
		_, words, _ := strings.Cut(phrases.Say(l, phrases.Code("called."+name+"."+language)), " · ")
		out = append(out, Format{Function: name, Example: words, language: language})
	}
	for _, layout := range layouts {
		out = append(out, Format{Layout: layout, Example: example(layout)})
	}
	return out
}

// On returns a time as the format writes it at a moment.
func (f Format) On(t, now time.Time) string {
	if f.Function != "" {
		return rules.TimeText(f.Function, t, now, f.language)
	}
	return t.Format(cmp.Or(f.Layout, "2006-01-02 15:04"))
}

// In returns a time in a format, which replaces the one that it has.
func (f Format) In(t Term) Term {
	t = Unformatted(t)
	switch {
	case f.Function != "":
		return Term{Kind: Value, Value: f.Function, Blanks: map[string]Term{"time": t, "language": {Kind: Text, Text: f.language}}}
	case f.Layout != "":
		return Term{Kind: Value, Value: "format", Blanks: map[string]Term{"time": t, "layout": {Kind: Text, Text: f.Layout}}}
	}
	return t
}

// Unformatted returns the time that a term writes, or the term.
func Unformatted(t Term) Term {
	if t.Kind == Value && len(t.Wraps) == 0 && (t.Value == "format" || slices.Contains(timeFunctions, t.Value)) {
		return t.Blanks["time"]
	}
	return t
}

// PrintChip returns the expression of a chip in a text.
func PrintChip(t Term) string { return printer{single: true}.term(t, "value", loosest) }

// Recalls reports whether a term has something in it that a step has given, or a loop.
func (s Scope) Recalls(t Term) bool {
	switch t.Kind {
	case Name:
		return s.given(partsOf(t.Text)[0])
	case Hand:
		return slices.ContainsFunc(identifier.FindAllString(t.Text, -1), s.given)
	case Question:
		return t.Condition != nil && (s.recalls(t.Condition.Blanks) || slices.ContainsFunc(t.Condition.Of, func(c Condition) bool { return s.recalls(c.Blanks) }))
	}
	return slices.ContainsFunc(t.List, s.Recalls) || s.recalls(t.Blanks)
}

func (s Scope) recalls(blanks map[string]Term) bool {
	for _, t := range blanks {
		if s.Recalls(t) {
			return true
		}
	}
	return false
}

// identifier matches the names in an expression.
var identifier = regexp.MustCompile(`[\p{L}_][\p{L}\p{N}_]*`)

// given reports whether a name is what a step gives.
func (s Scope) given(name string) bool {
	return name == "steps" || name == "error" || slices.ContainsFunc(s.names, func(k known) bool { return k.name == name && k.verb != variables })
}

// IsTime reports whether a term is a time.
func (s Scope) IsTime(t Term) bool { return s.typeOf(t, "").typ == rules.Time }
