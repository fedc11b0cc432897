package studio

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
)

// A View is a rule on the rail: what starts it, its conditions, its steps and its bounds, each a
// sentence whose variable parts are chips.
type View struct {
	Rules       []Option // of the file; more than one can be chosen from
	ID, Name    string
	Stage       string
	Description string
	When        Card
	If          *Condition // nil is always
	Clock       []Option   // the ways to let the clock start it, with the edits
	Do          Steps
	Cancel      []Ending
	Bounds      []Bound
	MoreBounds  []Option // with the edits that add them
	OnError     Steps
	Hand        []Chip // keys of the rule that have no sentence
	Problems    []Problem
	IfProblems  []Problem
	EndProblems []Problem // of what ends it early
	Unbound     []Problem // of bounds that are not there
	DoProblems  []Problem // of the list of steps
	Scope       sentence.Scope
}

// An Option is something to choose.
type Option struct {
	Value  string `json:"value"`
	Label  string `json:"label"`
	Group  string `json:"group,omitempty"`
	Chosen bool   `json:"-"`
}

// A Piece is words, or a chip.
type Piece struct {
	Words string
	Chip  *Chip
}

// A Chip is a part of a sentence that can be changed.
type Chip struct {
	Path   string        `json:"path"`
	Picker string        `json:"picker"`         // one, several, choice, choices, number, duration, span, time, text, value, times, days, target or hand
	From   string        `json:"from,omitempty"` // what it is chosen from, such as label
	Label  string        `json:"label"`          // what it is
	Words  string        `json:"-"`
	Value  any           `json:"value,omitempty"`
	Term   sentence.Kind `json:"term,omitempty"`   // the kind of term that a value becomes; empty for a plain value
	Values []Option      `json:"values,omitempty"` // of a choice
	Bare   bool          `json:"-"`                // nothing is chosen yet
	Hand   bool          `json:"-"`                // an expression that no sentence says
	Wrong  bool          `json:"-"`                // a problem is about it
	Clear  bool          `json:"clear,omitempty"`  // it can be taken away
	Others []Chip        `json:"others,omitempty"` // what can be chosen instead, such as a person for a sector
}

// A Card is one thing on the rail.
type Card struct {
	Path, Icon string
	Verb       string
	Pieces     []Piece
	More       []Chip // what is given besides
	Add        []Chip // what could be given besides
	Text       *Text
	Question   *Condition // of stop_if and wait_for
	If         *Condition
	Branches   []Branch
	BranchPath string
	Loop       *Steps
	Hand       *Chip  // the whole step, by hand
	Off        bool   // it is switched off
	Block      string // what the building block is called that begins here
	InBlock    bool
	Problems   []Problem
	N          int
	Into       string // the end of the way above, where there is one
	Out        string // the place behind the step that this one is inside of
}

// A Text is what is written to somebody.
type Text struct {
	Path, Label string
	Value       string
	Parts       []TextPart
}

// A TextPart is plain text, or a chip in it.
type TextPart struct {
	Words string `json:"words"`
	Chip  bool   `json:"chip,omitempty"`
	Hand  bool   `json:"hand,omitempty"`

	Expression string `json:"expression,omitempty"` // of a chip
}

// Steps are a list of steps.
type Steps struct {
	Path  string
	Cards []Card
}

// A Branch is one way of a choice.
type Branch struct {
	Path string
	Else bool
	If   *Condition
	Do   Steps
}

// An Ending is events that end a run early.
type Ending struct {
	Path     string
	Events   Chip
	If       *Condition
	Problems []Problem
}

// A Bound is a sentence about when and how often a rule runs.
type Bound struct {
	Path     string // what is removed with it
	Pieces   []Piece
	Problems []Problem
}

// A Maker shows rules in a language.
type Maker struct {
	words.Language
	Catalog   *rules.Catalog
	Catalogue form.Catalogue
	Vars      map[string]any
}

// A writer shows one rule.
type writer struct {
	*Maker
	form     form.Form
	problems map[string][]Problem
}

// View shows a rule, with its problems at the cards that they are about.
func (m *Maker) View(f form.Form, problems []Problem) View {
	w := &writer{m, f, map[string][]Problem{}}
	for _, p := range problems {
		if p.here {
			w.problems[p.Path] = append(w.problems[p.Path], p)
		}
	}
	scope := w.scope(nil)
	v := View{ID: f.ID, Name: f.Name, Stage: f.Stage, Description: f.Description, Scope: scope}
	if v.Stage == "" {
		v.Stage = string(rules.Live)
	}
	v.When, v.Clock = w.when(scope), w.clock()
	v.If = w.conditions("/if/~if", sentence.ReadAll(f.If), scope)
	v.Do = w.steps("/do", f.Do, nil, "")
	for i, match := range f.CancelOn {
		at := fmt.Sprintf("/cancel_on/%d", i)
		e := Ending{Path: at, Events: w.events(at+"/events", match.Events), Problems: w.take(at)}
		e.If = w.conditions(at+"/if/~if", sentence.Read(match.If), scope)
		v.Cancel = append(v.Cancel, e)
	}
	v.Bounds, v.MoreBounds = w.bounds(scope)
	v.EndProblems, v.DoProblems = w.take("/cancel_on"), w.take("/do")
	v.Unbound = w.boundProblems(v.Bounds)
	v.OnError = w.steps("/on_error", f.OnError, f.Do, "")
	for _, key := range slices.Sorted(maps.Keys(f.YAML)) {
		if _, ok := w.split(); ok && key == "sample" {
			continue
		}
		v.Hand = append(v.Hand, Chip{Path: "/yaml/" + key, Picker: "hand", Label: key, Words: key + ": " + f.YAML[key], Value: f.YAML[key], Hand: true})
	}
	v.IfProblems = w.take("/if")
	for _, path := range slices.Sorted(maps.Keys(w.problems)) {
		v.Problems = append(v.Problems, w.take(path)...)
	}
	return v
}

// take returns the problems of a place, which are then shown nowhere else.
func (w *writer) take(path string) []Problem {
	list := w.problems[path]
	delete(w.problems, path)
	return list
}

func (w *writer) scope(before []form.Step) sentence.Scope {
	return sentence.NewScope(w.Catalog, w.form, w.Vars, before)
}

// sentence fills a pattern: {name} is the pieces of an argument, and what stands in brackets is
// left out where no argument in it has any.
func fill(pattern string, pieces func(name string) []Piece) []Piece {
	var out []Piece
	add := func(words string) {
		if last := len(out) - 1; last >= 0 && out[last].Chip == nil {
			out[last].Words += words
		} else if words != "" {
			out = append(out, Piece{Words: words})
		}
	}
	for pattern != "" {
		at := strings.IndexAny(pattern, "[{")
		if at < 0 {
			add(pattern)
			break
		}
		add(pattern[:at])
		end := strings.IndexByte(pattern[at:], closing[pattern[at]]) + at
		inside := pattern[at+1 : end]
		if pattern[at] == '{' {
			out = append(out, pieces(inside)...)
		} else if inner := fill(inside, pieces); slices.ContainsFunc(inner, func(p Piece) bool { return p.Chip != nil }) {
			if inner[0].Chip == nil {
				add(inner[0].Words)
				inner = inner[1:]
			}
			out = append(out, inner...)
		}
		pattern = pattern[end+1:]
	}
	return out
}

var closing = map[byte]byte{'[': ']', '{': '}'}

// when shows what starts the rule.
func (w *writer) when(scope sentence.Scope) Card {
	c := Card{Path: "/when", Icon: "zap", Problems: w.take("/when")}
	s := w.form.When.Schedule
	if s == nil {
		for i, name := range w.form.When.Events {
			chip := Chip{Path: fmt.Sprintf("/when/events/%d", i), Picker: "one", From: "event", Label: w.T("studio.when"), Words: w.eventWords(name), Value: name, Clear: len(w.form.When.Events) > 1}
			if i > 0 {
				c.Pieces = append(c.Pieces, Piece{Words: " " + w.T("studio.or") + " "})
			}
			c.Pieces = append(c.Pieces, Piece{Chip: &chip})
		}
		return c
	}
	c.Icon = "clock"
	at := "/when/schedule/"
	one := func(name, picker, text string) *Chip {
		return &Chip{Path: at + name, Picker: picker, Label: w.Or("field.", name), Words: text, Value: text}
	}
	add := func(code string, chips ...*Chip) {
		if len(c.Pieces) > 0 {
			c.Pieces = append(c.Pieces, Piece{Words: ", "})
		}
		c.Pieces = append(c.Pieces, fill(w.T(code), func(name string) []Piece {
			for _, chip := range chips {
				if chip != nil && chip.Path == at+name {
					return []Piece{{Chip: chip}}
				}
			}
			return nil
		})...)
	}
	switch {
	case s.Cron != "":
		c.Pieces = w.cron(at+"cron", s.Cron)
	case len(s.At) > 0:
		times, days := one("at", "times", strings.Join(s.At, ", ")), one("on", "days", w.days(s.On))
		times.Value, days.Value, days.Clear = s.At, s.On, true
		if len(s.On) == 0 {
			days = nil
			c.Add = append(c.Add, Chip{Path: at + "on", Picker: "days", Label: w.Or("field.", "on")})
		}
		add("bound.at", times, days)
	default:
		chip := one("every", "duration", s.Every)
		chip.Words = w.span(s.Every, scope)
		add("bound.every", chip)
	}
	if s.Timezone != "" {
		chip := one("timezone", "text", s.Timezone)
		chip.Words = zone(s.Timezone)
		chip.Clear = true
		add("bound.timezone", chip)
	}
	if s.Timezone == "" && s.Every == "" {
		c.Add = append(c.Add, Chip{Path: at + "timezone", Picker: "text", Label: w.Or("field.", "timezone")})
	}
	each := one("each", "choice", w.Or("value.each.", s.Each))
	each.Value, each.Clear = s.Each, true
	for _, e := range w.Catalogue.Each {
		each.Values = append(each.Values, Option{Value: e.Name, Label: w.Or("value.each.", e.Name)})
		if e.Name == s.Each {
			more, filters := w.besides(at+"where", e.Filters, s.Where, nil, scope)
			c.More, c.Add = more, append(c.Add, filters...)
		}
	}
	if s.Each == "" {
		c.Add = append(c.Add, *each)
		return c
	}
	add("bound.each", each)
	return c
}

// zone returns the name of a time zone as people write it.
func zone(name string) string { return strings.ReplaceAll(name, "_", " ") }

// eventWords puts an event into words; a pattern is all that it stands for.
func (w *writer) eventWords(name string) string {
	var said []string
	if family, ok := strings.CutSuffix(name, "*"); ok {
		for _, e := range w.Catalogue.Events {
			if strings.HasPrefix(e.Name, family) {
				said = append(said, w.Or("when.", e.Name))
			}
		}
	}
	if len(said) == 0 {
		return w.Or("when.", name)
	}
	return strings.Join(said, " "+w.T("studio.or")+" ")
}

// events shows events that can be chosen together.
func (w *writer) events(path string, names []string) Chip {
	var said []string
	for _, name := range names {
		said = append(said, w.eventWords(name))
	}
	c := Chip{Path: path, Picker: "several", From: "event", Label: w.T("field.event"), Words: strings.Join(said, " "+w.T("studio.or")+" "), Value: names}
	if len(names) == 0 {
		c.Words, c.Bare = w.T("pick.event"), true
	}
	return c
}

// dayNames are the days of a week as rules name them.
var dayNames = [...]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

var fullDays = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// days puts days such as mon-fri into words.
func (w *writer) days(list []string) string {
	var out []string
	for _, d := range list {
		from, to, isRange := strings.Cut(d, "-")
		text := w.dayName(from)
		if isRange {
			text += "–" + w.dayName(to)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (w *writer) dayName(name string) string {
	if i := slices.Index(dayNames[:], name); i >= 0 {
		return w.T("day." + fullDays[i])
	}
	return name
}

// Events returns what can start a rule.
func (m *Maker) Events() (list []Option) {
	for _, e := range m.Catalogue.Events {
		list = append(list, Option{Value: e.Name, Label: m.Or("when.", e.Name)})
	}
	return list
}

// Days returns the days of a week.
func (m *Maker) Days() (list []Option) {
	for i, name := range dayNames {
		list = append(list, Option{Value: name, Label: m.T("day." + fullDays[i])})
	}
	return list
}
