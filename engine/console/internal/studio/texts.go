package studio

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A TextChip is an expression of a text in words.
type TextChip struct {
	Expression string `json:"expression"`
	Words      string `json:"words"`
	Label      string `json:"label,omitempty"` // in the menu, where it is shorter
	Group      string `json:"group,omitempty"`
	Hand       bool   `json:"hand,omitempty"`
	Text       string `json:"text,omitempty"` // is inserted instead, with chips in it
}

// Chips returns the chips of a text for the page's script.
func (t Text) Chips() string {
	list := []TextChip{}
	for _, p := range t.Parts {
		if p.Chip {
			list = append(list, TextChip{Expression: p.Expression, Words: p.Words, Hand: p.Hand})
		}
	}
	return asJSON(list)
}

// TextChips returns the words of the chips of a text at a place of a rule.
func (m *Maker) TextChips(f form.Form, path, text string) []TextChip {
	w := &writer{Maker: m, form: f}
	scope := w.scope(before(f, path))
	list := []TextChip{}
	for _, x := range sentence.Expressions(text) {
		list = append(list, w.textChip(scope, x))
	}
	return list
}

func (w *writer) textChip(scope sentence.Scope, expression string) TextChip {
	t := sentence.ReadValue(expression)
	return TextChip{Expression: expression, Words: scope.Chip(w.RulesLanguage(), t), Hand: len(t.ByHand()) > 0}
}

// insertOrder is the order in which the menu of a text has its groups; others follow.
var insertOrder = []string{vocabulary.Contact, "steps", "vars", "clock", vocabulary.Attendance, vocabulary.Card}

// someDays are the days from today on that a text can have the date of.
var someDays = []string{"2", "3", "7", "30"}

// Insertable returns what can be put into a text at a place of a rule. A time is written as people
// say it; an opening is there for each calendar, and a number for each sector.
func (m *Maker) Insertable(f form.Form, path string, calendars, sectors []string) []TextChip {
	w := &writer{Maker: m, form: f}
	scope := w.scope(before(f, path))
	inserts, spoken := scope.Inserts(w.RulesLanguage()), sentence.Formats(w.RulesLanguage())[1]
	rank := func(group string) int {
		if i := slices.Index(insertOrder, group); i >= 0 {
			return i
		}
		return len(insertOrder)
	}
	slices.SortStableFunc(inserts, func(a, b sentence.Insert) int { return cmp.Compare(rank(a.Group), rank(b.Group)) })
	list, seen := []TextChip{}, map[string]bool{}
	for _, i := range inserts {
		if i.ID || i.Fixed || i.Type == "flag" || i.Group == vocabulary.Happening {
			continue
		}
		if each, ok := w.bySector(scope, i, sectors); ok {
			list = append(list, each)
		}
		for _, t := range fillBlanks(i.Term, calendars, sectors) {
			label := scope.Chip(w.RulesLanguage(), t)
			if scope.IsTime(t) {
				t = spoken.In(t)
			}
			chip := w.textChip(scope, sentence.PrintChip(t))
			chip.Label, chip.Group = label, w.group(i.Group)
			if !seen[label] {
				seen[label] = true
				list = append(list, chip)
			}
		}
	}
	return list
}

// bySector returns lines with the number of each sector, where a value is the number of one.
func (w *writer) bySector(scope sentence.Scope, i sentence.Insert, sectors []string) (TextChip, bool) {
	question := i.Term.Blanks["condition"].Condition
	if i.Term.Value != "count" || question == nil || question.IsComplete() || len(sectors) == 0 {
		return TextChip{}, false
	}
	var lines []string
	for n, t := range fillBlanks(i.Term, nil, sectors) {
		lines = append(lines, sectors[n]+": {{ "+sentence.PrintChip(t)+" }}")
	}
	none := *question
	none.Sentence, none.Not, none.Blanks = "known", true, map[string]sentence.Term{"x": question.Blanks["x"]}
	t := i.Term
	t.Blanks = maps.Clone(t.Blanks)
	t.Blanks["condition"] = sentence.Term{Kind: sentence.Question, Condition: &none}
	lines = append(lines, w.T("text.no_sector")+": {{ "+sentence.PrintChip(t)+" }}")
	label := w.T("text.by_sector", scope.Chip(w.RulesLanguage(), t.Blanks["list"]))
	return TextChip{Words: label, Label: label, Group: w.group(i.Group), Text: strings.Join(lines, "\n")}, true
}

// fillBlanks returns a value with each calendar, number of days or sector in its blank.
func fillBlanks(t sentence.Term, calendars, sectors []string) []sentence.Term {
	if t.IsComplete() {
		return []sentence.Term{t}
	}
	var out []sentence.Term
	for _, name := range calendars {
		if c := fillBlank(t, "calendar", sentence.Term{Kind: sentence.Text, Text: name}); c.IsComplete() {
			out = append(out, c)
		}
	}
	for _, n := range someDays {
		if c := fillBlank(t, "n", sentence.Term{Kind: sentence.Number, Text: n}); c.IsComplete() {
			out = append(out, c)
		}
	}
	for _, name := range sectors {
		if c := fillBlank(t, "y", sentence.Term{Kind: sentence.Text, Text: name}); c.IsComplete() {
			out = append(out, c)
		}
	}
	return out
}

// fillBlank returns a value with another one in its empty blanks of a name.
func fillBlank(t sentence.Term, name string, with sentence.Term) sentence.Term {
	blanks := make(map[string]sentence.Term, len(t.Blanks))
	for n, inner := range t.Blanks {
		switch {
		case inner.Condition != nil:
			c := *inner.Condition
			c.Blanks = fillBlank(sentence.Term{Blanks: c.Blanks}, name, with).Blanks
			inner.Condition = &c
		case inner.Kind != "":
			inner = fillBlank(inner, name, with)
		case n == name:
			inner = with
		}
		blanks[n] = inner
	}
	if len(blanks) > 0 {
		t.Blanks = blanks
	}
	return t
}

// A Way is another way to write a chip of a text.
type Way struct {
	Expression string `json:"expression"`
	Words      string `json:"words"` // of the chip
	Example    string `json:"example"`
	Chosen     bool   `json:"chosen,omitempty"`
}

// Ways returns the ways to write the chip of a text: those of a time, each with tomorrow morning as
// it would be written now, or the parts of a name.
func (m *Maker) Ways(f form.Form, path, expression string, now time.Time) []Way {
	w := &writer{Maker: m, form: f}
	scope := w.scope(before(f, path))
	t := sentence.ReadValue(expression)
	list := []Way{}
	if at := sentence.Unformatted(t); scope.IsTime(at) {
		formats := sentence.Formats(w.RulesLanguage())
		for _, format := range append(formats[1:], formats[0]) {
			way := format.In(at)
			list = append(list, Way{Expression: sentence.PrintChip(way), Words: scope.Chip(w.RulesLanguage(), way), Example: format.On(time.Date(now.Year(), now.Month(), now.Day()+1, 8, 0, 0, 0, now.Location()), now), Chosen: way.Same(t)})
		}
		return list
	}
	names := []string{"contact.name", `first(split(trim(contact.name ?? ""), " "))`}
	if !slices.ContainsFunc(names, func(x string) bool { return sentence.ReadValue(x).Same(t) }) {
		return list
	}
	for _, x := range names {
		name := sentence.ReadValue(x)
		words := scope.Chip(w.RulesLanguage(), name)
		list = append(list, Way{Expression: sentence.PrintChip(name), Words: words, Example: words, Chosen: name.Same(t)})
	}
	return list
}

// The signs around words in a text that stand for what is not known before the rule runs.
const unknownOpen, unknownClose = "\ue000", "\ue001"

// Example returns a rule that does nothing but send a text, for what starts the rule; always also
// where its conditions do not hold. What steps before would have given stands there as words.
func (m *Maker) Example(f form.Form, path, text string, always bool) form.Form {
	w := &writer{Maker: m, form: f}
	scope := w.scope(before(f, path))
	parts := sentence.ReadText(text)
	for i, p := range parts {
		if p.Chip != nil && scope.Recalls(*p.Chip) {
			words := strings.NewReplacer("{", "", "}", "").Replace(scope.Chip(w.RulesLanguage(), *p.Chip))
			parts[i] = sentence.Part{Text: unknownOpen + words + unknownClose}
		}
	}
	out := form.Form{ID: f.ID, Name: f.Name, Stage: "draft", When: f.When, Gather: f.Gather, If: f.If}
	if always {
		out.If = nil
	}
	if len(out.When.Events) == 0 {
		out.When, out.If = form.When{Events: []string{vocabulary.MessageReceived}}, nil
	}
	out.Do = []form.Step{{Verb: vocabulary.SendMessage, Args: []form.Arg{{Name: "text", As: form.AsText, Text: sentence.WriteText(text, parts)}}}}
	return out
}

// ExampleParts returns the text of an example that was filled in: what is not known is a chip.
func ExampleParts(text string) (parts []TextPart) {
	for text != "" {
		words, rest, _ := strings.Cut(text, unknownOpen)
		if words != "" {
			parts = append(parts, TextPart{Words: words})
		}
		if words, text, _ = strings.Cut(rest, unknownClose); words != "" {
			parts = append(parts, TextPart{Words: words, Chip: true})
		}
	}
	return parts
}
