package sentence

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Piece is a part of a sentence: words, or a chip.
type Piece struct {
	Words string `json:"words"`

	// Blank is where the chip's term stands: the names of the blanks that lead to it, such as y, or
	// x.calendar. It is empty for words.
	Blank  string   `json:"blank,omitempty"`
	Picker string   `json:"picker,omitempty"` // what the chip is chosen with: label, duration, choice, …
	Values []Choice `json:"values,omitempty"` // what can be chosen, where that is a fixed set
	Empty  bool     `json:"empty,omitempty"`  // nothing is chosen yet

	literal bool // the words are those of a person
}

// A Choice is one value of a fixed set.
type Choice struct {
	Value string `json:"value"`
	Words string `json:"words"`
}

// Pieces returns a condition as words and chips. A group, whose conditions are shown one by one, is
// words alone.
func (s Scope) Pieces(l phrases.Language, c Condition) []Piece {
	return wording{scope: s, language: l}.condition(c, "")
}

// Say returns a condition in words alone.
func (s Scope) Say(l phrases.Language, c Condition) string {
	return wording{scope: s, language: l, flat: true}.say(c)
}

// SayPast returns what a condition found when it was asked, in words alone. What has no words for
// the past is said as Say does.
func (s Scope) SayPast(l phrases.Language, c Condition) string {
	return wording{scope: s, language: l, flat: true, past: true}.say(c)
}

// SayValue returns a term in words alone.
func (s Scope) SayValue(l phrases.Language, t Term) string {
	w := wording{scope: s, language: l, flat: true}
	return join(w.fill("{x}", []slot{{"x", t, "x"}}, nil))
}

// A wording puts conditions and terms into the words of a language.
type wording struct {
	scope    Scope
	language phrases.Language
	item     string // the fact that # is
	flat     bool   // texts are put in quotes
	past     bool   // it was so
}

// tense returns the code of a sentence in the tense that is wanted, as far as it is known in that.
func (w wording) tense(code phrases.Code) phrases.Code {
	if was := "was." + code; w.past && phrases.Knows(was) {
		return was
	}
	return code
}

func (w wording) t(code phrases.Code, args ...any) string {
	return phrases.Say(w.language, code, args...)
}

func join(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Words)
	}
	return b.String()
}

func (w wording) say(c Condition) string { return join(w.condition(c, "")) }

func (w wording) condition(c Condition, at string) []Piece {
	switch {
	case c.Group != "":
		return []Piece{{Words: w.group(c)}}
	case c.Hand != "" && w.flat:
		return []Piece{{Words: w.t("say.by_hand", c.Hand)}}
	case c.Hand != "":
		return []Piece{{Words: c.Hand, Blank: at + handBlank, Picker: "expression"}}
	}
	form := whole().byKey[0][c.Sentence]
	if form == nil {
		return nil
	}
	if code, ok := w.resultSaying(c); ok {
		return w.fill(w.t(code), nil, nil)
	}
	for _, s := range sayingsOf(0, c.Sentence) {
		if slots, ok := w.fitsCondition(s.condition, c, at); ok {
			return w.fill(w.t(w.tense(contrary(s.code, c.Not != s.condition.Not))), slots, nil)
		}
	}
	code := phrases.Code("say." + c.Sentence)
	if typ := w.comparedType(c); (typ == rules.Time || typ == rules.Text) && phrases.Knows(code+".time") {
		code += ".time"
	}
	return w.fill(w.t(w.tense(contrary(code, c.Not))), slotsOf(c.Blanks, at), form.form)
}

// group returns the conditions of a group, joined.
func (w wording) group(c Condition) string {
	w.flat = true
	var parts []string
	for _, part := range c.Of {
		text := w.say(part)
		if part.Group != "" {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	switch c.Group {
	case All:
		return strings.Join(parts, w.t("say.and"))
	case Any:
		return strings.Join(parts, w.t("say.or"))
	}
	return w.t("say.none_of", strings.Join(parts, "; "))
}

func contrary(code phrases.Code, not bool) phrases.Code {
	if not {
		return code + ".not"
	}
	return code
}

// comparedType returns the type of what a sentence compares.
func (w wording) comparedType(c Condition) *Type {
	for _, name := range []string{"x", "y"} {
		if t := w.scope.typeOf(c.Blanks[name], w.item).typ; t != nil && t != rules.Anything {
			return t
		}
	}
	return nil
}

// resultSaying returns the words for a result that is there, or not, by the step that gives it.
func (w wording) resultSaying(c Condition) (phrases.Code, bool) {
	x := c.Blanks["x"]
	if c.Sentence != "known" || x.Kind != Name {
		return "", false
	}
	switch k, _ := w.scope.lookup(x.Text); {
	case k.verb == "wait_for":
		return contrary("saying.answer.there", c.Not), true
	case k.card:
		return contrary("saying.found.there", c.Not), true
	}
	return "", false
}

func slotsOf(blanks map[string]Term, at string) (slots []slot) {
	for _, name := range blankNames(blanks) {
		slots = append(slots, slot{name, blanks[name], at + name})
	}
	return slots
}

// fill puts the terms of slots into words. The form is the one whose blanks they are; without one
// the name of a slot says what it is chosen with.
func (w wording) fill(words string, slots []slot, form *Form) []Piece {
	if i := slices.IndexFunc(slots, func(s slot) bool { return s.name == "list" && w.itemOf(s.term) != "" }); i >= 0 {
		w.item = w.itemOf(slots[i].term)
	}
	var out []Piece
	at := 0
	for _, m := range blankName.FindAllStringSubmatchIndex(words, -1) {
		name := words[m[2]:m[3]]
		i := slices.IndexFunc(slots, func(s slot) bool { return s.name == name })
		out = append(out, Piece{Words: words[at:m[0]]})
		at = m[1]
		if i >= 0 {
			out = append(out, w.chip(slots[i], slots, form)...)
		}
	}
	out = append(out, Piece{Words: words[at:]})
	if w.language == phrases.Portuguese {
		contract(out)
	}
	return merge(out)
}

// itemOf returns the fact that the items of a list are.
func (w wording) itemOf(list Term) string {
	if t := w.scope.typeOf(list, w.item).typ; t != nil && t.Elem() != nil {
		return factOf(t.Elem())
	}
	return ""
}

// merge joins words that stand beside each other, and leaves out empty ones.
func merge(pieces []Piece) []Piece {
	var out []Piece
	for _, p := range pieces {
		last := len(out) - 1
		switch {
		case p.Words == "" && p.Blank == "":
		case last >= 0 && p.Blank == "" && out[last].Blank == "":
			out[last].Words += p.Words
		default:
			out = append(out, p)
		}
	}
	return out
}

// contractions are the prepositions that Portuguese makes one word of with an article.
var (
	contractions = map[string]string{"de": "d", "em": "n", "por": "pel", "a": "a"}
	preposition  = regexp.MustCompile(`(^|.* )(de|em|por|a) $`)
	article      = regexp.MustCompile(`^(os?|as?) `)
)

// contracted matches a preposition and an article inside of words.
var contracted = regexp.MustCompile(`\b(de|em|por) (os?|as?) `)

// contractAll makes one word of each preposition and the article behind it.
func contractAll(words string) string {
	return contracted.ReplaceAllStringFunc(words, func(m string) string {
		before, behind, _ := strings.Cut(m, " ")
		return contractions[before] + behind
	})
}

// contract joins the preposition that words end with to the article of the chip behind them.
func contract(pieces []Piece) {
	for i := 1; i < len(pieces); i++ {
		before, behind := preposition.FindStringSubmatch(pieces[i-1].Words), article.FindString(pieces[i].Words)
		if before == nil || behind == "" || before[2] == "a" && behind[0] == 'a' || pieces[i].literal {
			continue
		}
		pieces[i-1].Words = before[1] + contractions[before[2]] + behind
		pieces[i].Words = pieces[i].Words[len(behind):]
	}
}

// chip returns a term as the pieces that fill a blank: of a value of the catalogue, its own words
// and chips.
func (w wording) chip(s slot, all []slot, form *Form) []Piece {
	picker, field := w.picker(s.name, all, form)
	t := s.term
	if t.Kind == Value {
		for _, c := range sayingsOf(1, t.Value) {
			if slots, ok := w.fits(c.value, t, s.at); ok {
				return w.called(c.code, slots)
			}
		}
		if of := whole().byKey[1][t.Value]; of != nil {
			code := phrases.Code("term." + t.Value)
			if x := w.scope.typeOf(t.Blanks["x"], w.item).typ; x == rules.Text && phrases.Knows(code+".text") {
				code += ".text"
			}
			if len(t.Blanks) > 0 {
				return w.fill(w.t(code), slotsOf(t.Blanks, s.at+"."), of.form)
			}
			return []Piece{{Words: w.t(code), Blank: s.at, Picker: picker}}
		}
	}
	p := Piece{Words: w.term(t, picker, field), Blank: s.at, Picker: picker, Values: w.choices(picker, field)}
	p.literal = t.Kind == Text && p.Words == t.Text
	if t.Kind == "" {
		p.Words, p.Empty = w.t(phrases.Code("blank."+picker)), true
	}
	return []Piece{p}
}

// called returns the words of a value. Where a number in them is below zero, there may be others.
func (w wording) called(code phrases.Code, slots []slot) []Piece {
	for i, s := range slots {
		if below, ok := strings.CutPrefix(s.term.Text, "-"); ok && s.term.Kind == Number && phrases.Knows(code+".minus") {
			code += ".minus"
			slots[i].term.Text = below
		}
	}
	return w.fill(w.t(code), slots, nil)
}

// several are the pickers that choose more than one.
var several = map[string]string{"text": "texts", "choice": "choices", "value": "list"}

// picker returns what a blank is chosen with, and the field whose values it has.
func (w wording) picker(name string, all []slot, form *Form) (string, *rules.Field) {
	if form == nil {
		return name, nil // of a saying
	}
	switch kind := form.kindOf(name); kind {
	case "value":
	case "span":
		return "duration", nil
	default:
		return kind, nil
	}
	other := func(name string) (string, *rules.Field) {
		i := slices.IndexFunc(all, func(s slot) bool { return s.name == name })
		if i < 0 {
			return "value", nil
		}
		return w.pickerOf(all[i].term)
	}
	switch {
	case form.Key == "contains" || form.Key == "begins" || form.Key == "ends":
		return map[string]string{"x": "value", "y": "text"}[name], nil
	case (form.Key == "before" || form.Key == "after") && (name == "x" || name == "y"):
		return "time", nil
	case name == "y" && form.Key != "choice" && form.Key != "joined":
		return other("x")
	case name == "list" && form.Key == "one_of":
		one, field := other("x")
		if many, ok := several[one]; ok {
			return many, field
		}
		return one + "s", field
	case name == "item" && form.Key == "has":
		return other("list")
	case name == "time" || name == "duration" || name == "list":
		return name, nil
	case name == "n" || name == "years" || name == "months" || name == "days":
		return "number", nil
	}
	return "value", nil
}

// pickerOf returns what a value is chosen with that is compared with a term, or is one of a list.
func (w wording) pickerOf(t Term) (string, *rules.Field) {
	if n := len(t.Wraps); n > 0 && (t.Wraps[n-1] == "int" || t.Wraps[n-1] == "float") && t.Value != "weekday_number" && t.Value != "month" {
		return "number", nil // whatever text it was made of
	}
	known := w.scope.typeOf(t, w.item)
	if t.Kind == Name && known.typ == nil {
		parts := partsOf(t.Text)
		if refers := rules.RefersOf(parts[len(parts)-1]); refers != "" {
			return refers, nil
		}
	}
	if f := known.field; f != nil && len(t.Wraps) == 0 {
		switch refers := rules.RefersOf(f.Name); {
		case refers != "" && known.fact != "":
			return refers, nil
		case f.Name == "type" && known.fact == vocabulary.Happening:
			return "event", nil
		case f.Values != nil:
			return "choice", f
		}
	}
	if t.Kind == Value {
		switch {
		case t.Value == "weekday" || t.Value == "weekday_number" && slices.Equal(t.Wraps, []string{"string"}):
			return "weekday", nil
		case t.Value == "weekday_number", t.Value == "month":
			return t.Value, nil
		case t.Value == "format" && t.Blanks["layout"].Text == "15:04":
			return "clock", nil
		}
	}
	typ := known.typ
	if typ != nil && typ.Elem() != nil {
		typ = typ.Elem()
	}
	if kind, ok := typePickers[typ]; ok {
		return kind, nil
	}
	return "value", nil
}

var typePickers = map[*Type]string{
	rules.Text: "text", rules.Number: "number", rules.Duration: "duration", rules.Time: "time", rules.Flag: "flag",
}

// choices returns the values of a fixed set.
func (w wording) choices(picker string, field *rules.Field) (list []Choice) {
	var values []string
	switch picker {
	case "choice", "choices":
		if field != nil {
			values = field.Values
		}
	case "weekday", "weekdays":
		values = weekdays
	case "weekday_number", "weekday_numbers":
		values = []string{"1", "2", "3", "4", "5", "6", "0"}
	case "month", "months":
		for m := time.January; m <= time.December; m++ {
			values = append(values, m.String())
		}
	case "event":
		values = vocabulary.EventTypes()
	case "language":
		values = []string{"pt", "en"}
	case "flag":
		values = []string{"true", "false"}
	}
	for _, v := range values {
		list = append(list, Choice{v, w.literal(Term{Kind: Text, Text: v}, picker, field)})
	}
	return list
}

var weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
