// Package ruleeditor supports editing a rule: its form as the fields of a page, changes from these,
// completions in its text, and differences between two texts.
package ruleeditor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/form"
)

// A FormView is a rule as the fields of a page. Each field is named by its place in the form, as a
// path from its root: /do/0/args/1/text.
type FormView struct {
	Rules    []Option // of the file; more than one can be chosen from
	About    []Field
	Events   []Field // what starts it, if events do
	Schedule []Field // what starts it, if the clock does
	Clock    bool
	If       []Field
	Suggest  []Option // conditions to add
	Do       Steps
	OnError  Steps
	Bounds   []Field
	More     []Field
	Rest     []Field // what has no field, as YAML
}

// A Field is one field.
type Field struct {
	Path, Label, Hint string
	Kind              string // line, long, choice, several, yaml, steps, branches or fields
	Value             string
	Options           []Option
	Suggestions       string // the id of a list of suggestions
	Free              bool   // other values than the options are allowed
	Required, Removes bool
	Longest           int
	Hidden            []Hidden // what goes with it
	Fields            []Field
	Steps             Steps
	Branches          []Branch
}

// A Hidden is a value that a field brings along.
type Hidden struct{ Path, Value string }

// A Option is one of several values.
type Option struct {
	Value, Label string
	Chosen       bool
}

// A Steps is a list of steps.
type Steps struct {
	Path  string
	Steps []Step
	Verbs []Option
}

// A Step is one step.
type Step struct {
	Path, Words string
	N           int
	YAML        *Field // a step that has no fields
	Verb        string
	Fields      []Field
	Add         []Option // arguments that can be added
	If          Field
	First, Last bool
}

// A Branch is one way of a choose.
type Branch struct {
	Path  string
	Else  bool
	If    Field
	Steps Steps
}

// A Choice is a named object of the service.
type Choice struct {
	Kind  string // label, sector, person, channel, board, stage
	Name  string
	Board string // of a stage
}

// A FormMaker turns a form into fields, with what can be chosen from.
type FormMaker struct {
	words.Language
	Catalogue form.Catalogue
	Choices   []Choice
	Calendars []string
	Media     []string
}

// View returns the fields of a form.
func (m *FormMaker) View(f form.Form) FormView {
	v := FormView{
		About: []Field{m.line("/id", "id", f.ID, true), m.line("/name", "name", f.Name, false), m.long("/description", "description", f.Description)},
		Do:    m.steps("/do", f.Do), OnError: m.steps("/on_error", f.OnError), Suggest: m.conditions(),
	}
	for i, name := range f.When.Events {
		v.Events = append(v.Events, m.event(fmt.Sprintf("/when/events/%d", i), name, len(f.When.Events) > 1))
	}
	if s := f.When.Schedule; s != nil {
		v.Clock, v.Schedule = true, m.schedule(s)
	}
	for i, x := range f.If {
		field := m.expression(fmt.Sprintf("/if/%d", i), m.T("form.condition", i+1), x)
		field.Removes = true
		v.If = append(v.If, field)
	}
	gather, limit := form.Gather{}, form.Limit{}
	if f.Gather != nil {
		gather = *f.Gather
	}
	if f.Limit != nil {
		limit = *f.Limit
	}
	v.Bounds = []Field{
		m.line("/limit/times", "limit.times", limit.Times, false), m.line("/limit/per", "limit.per", limit.Per, false),
		m.line("/gather/quiet", "gather.quiet", gather.Quiet, false), m.line("/gather/at_most", "gather.at_most", gather.AtMost, false),
	}
	v.More = []Field{
		m.pick("/mode", "mode", f.Mode, m.keyValues("mode")), m.pick("/from", "from", f.From, m.keyValues("from")),
		m.pick("/claimed", "claimed", f.Claimed, m.keyValues("claimed")), m.pick("/internal", "internal", f.Internal, m.keyValues("internal")),
		m.expression("/by", m.T("field.by"), f.By), m.line("/sample", "sample", f.Sample, false), m.line("/max", "max", f.Max, false),
	}
	for i, match := range f.CancelOn {
		for j, name := range match.Events {
			field := m.event(fmt.Sprintf("/cancel_on/%d/events/%d", i, j), name, true)
			field.Label = m.T("rule.cancel_on")
			v.More = append(v.More, field)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.YAML)) {
		v.Rest = append(v.Rest, Field{Path: "/yaml/" + key, Label: key, Kind: "yaml", Value: f.YAML[key]})
	}
	return v
}

// label is what a field is called: in the catalogue of messages, else by its name.
func (m *FormMaker) label(name string) string { return m.Or("field.", name) }

func (m *FormMaker) line(path, name, value string, required bool) Field {
	return Field{Path: path, Label: m.label(name), Kind: "line", Value: value, Required: required, Hint: m.hint(name)}
}

func (m *FormMaker) long(path, name, value string) Field {
	return Field{Path: path, Label: m.label(name), Kind: "long", Value: value}
}

func (m *FormMaker) expression(path, label, value string) Field {
	return Field{Path: path, Label: label, Kind: "line", Value: value, Suggestions: "conditions"}
}

func (m *FormMaker) hint(name string) string {
	if m.Knows("hint." + name) {
		return m.T("hint." + name)
	}
	return ""
}

// pick is a choice between words of the language, or none.
func (m *FormMaker) pick(path, name, value string, values []string) Field {
	f := Field{Path: path, Label: m.label(name), Kind: "choice", Value: value, Hint: m.hint(name), Options: []Option{{"", m.T("form.usual"), value == ""}}}
	for _, v := range values {
		f.Options = append(f.Options, Option{v, m.Or("value."+name+".", v), v == value})
	}
	return f.withValue()
}

// withValue adds the current value to the options if it is missing.
func (f Field) withValue() Field {
	if !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Chosen }) {
		f.Options = append(f.Options, Option{f.Value, f.Value, true})
	}
	return f
}

func (m *FormMaker) keyValues(key string) []string {
	for _, k := range m.Catalogue.Keys {
		if k.Name == key {
			return k.Values
		}
	}
	return nil
}

// event is a choice between events.
func (m *FormMaker) event(path, name string, removes bool) Field {
	f := Field{Path: path, Label: m.T("rule.when"), Kind: "choice", Value: name, Removes: removes}
	for _, e := range m.Catalogue.Events {
		f.Options = append(f.Options, Option{e.Name, m.Or("when.", e.Name), e.Name == name})
	}
	return f.withValue()
}

// schedule are the fields of a schedule.
func (m *FormMaker) schedule(s *form.Schedule) []Field {
	list := []Field{
		m.line("/when/schedule/every", "every", s.Every, false), m.line("/when/schedule/at", "at", strings.Join(s.At, ", "), false), m.line("/when/schedule/on", "on", strings.Join(s.On, ", "), false),
		m.line("/when/schedule/cron", "cron", s.Cron, false), m.line("/when/schedule/timezone", "timezone", s.Timezone, false),
	}
	var each []string
	for _, e := range m.Catalogue.Each {
		each = append(each, e.Name)
	}
	list = append(list, m.pick("/when/schedule/each", "each", s.Each, each))
	for _, e := range m.Catalogue.Each {
		if e.Name == s.Each {
			list = append(list, m.arguments("/when/schedule/where", e.Filters, s.Where, true)...)
		}
	}
	return list
}

// conditions are common conditions, with the existing names.
func (m *FormMaker) conditions() []Option {
	var list []Option
	add := func(key, expression string, args ...any) {
		list = append(list, Option{Value: expression, Label: m.T("suggest."+key, args...)})
	}
	for _, c := range m.Calendars {
		add("closed", fmt.Sprintf("closed(%q)", c), c)
		add("open", fmt.Sprintf("open(%q)", c), c)
	}
	add("direct", `conversation.kind == "direct"`)
	add("human", `not human_active("15m")`)
	add("contains", `message.text contains "…"`)
	add("customer", `message.by == "customer"`)
	add("waiting", `customer_waiting() > duration("15m")`)
	for _, c := range m.Choices {
		switch c.Kind {
		case "label":
			add("label", fmt.Sprintf("has_label(%q)", c.Name), c.Name)
		case "sector":
			add("sector", fmt.Sprintf("conversation.sector_name == %q", c.Name), c.Name)
		}
	}
	add("other", "true")
	return list
}

// named returns the names of a kind of thing.
func (m *FormMaker) named(kind string) []string {
	switch kind {
	case "calendar":
		return m.Calendars
	case "media":
		return m.Media
	}
	var list []string
	for _, c := range m.Choices {
		if c.Kind == kind && !slices.Contains(list, c.Name) {
			list = append(list, c.Name)
		}
	}
	return list
}

// verbs are all verbs to choose from, each in words.
func (m *FormMaker) verbs() []Option {
	var list []Option
	for _, v := range m.Catalogue.Verbs {
		list = append(list, Option{Value: v.Name, Label: m.Or("verb.", v.Name)})
	}
	return list
}

func (m *FormMaker) verb(name string) *form.Verb {
	for i := range m.Catalogue.Verbs {
		if m.Catalogue.Verbs[i].Name == name {
			return &m.Catalogue.Verbs[i]
		}
	}
	return nil
}

// Lists are the suggestions of the page, by what they name.
func (m *FormMaker) Lists() map[string][]string {
	lists := map[string][]string{}
	for _, kind := range []string{"label", "sector", "person", "teammate", "channel", "board", "stage", "calendar", "media"} {
		lists[kind] = m.named(kind)
	}
	for _, c := range m.Calendars {
		for _, length := range []string{"15m", "2h", "1d"} {
			lists["span"] = append(lists["span"], length+" of "+c)
		}
	}
	for _, c := range m.conditions() {
		lists["conditions"] = append(lists["conditions"], c.Value)
	}
	return lists
}
