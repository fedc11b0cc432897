package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/form"
)

// A formView is a rule as the fields of a page. Each field is named by its place in the form, as a path from its root: /do/0/args/1/text.
type formView struct {
	Rules    []optionView // of the file; more than one can be chosen from
	About    []fieldView
	Events   []fieldView // what starts it, if events do
	Schedule []fieldView // what starts it, if the clock does
	Clock    bool
	If       []fieldView
	Suggest  []optionView // conditions to add
	Do       stepsView
	OnError  stepsView
	Bounds   []fieldView
	More     []fieldView
	Rest     []fieldView // what has no field of its own, as YAML
}

// A fieldView is one field.
type fieldView struct {
	Path, Label, Hint string
	Kind              string // line, long, choice, several, yaml, steps, branches or fields
	Value             string
	Options           []optionView
	Suggestions       string // the id of a list of suggestions
	Free              bool   // beside the options, others can be given
	Required, Removes bool
	Longest           int
	Hidden            []hiddenView // what goes with it
	Fields            []fieldView
	Steps             stepsView
	Branches          []branchView
}

// A hiddenView is a value that a field brings along.
type hiddenView struct{ Path, Value string }

// An optionView is one of several values.
type optionView struct {
	Value, Label string
	Chosen       bool
}

// A stepsView is a list of steps.
type stepsView struct {
	Path  string
	Steps []formStep
	Verbs []optionView
}

// A formStep is one step.
type formStep struct {
	Path, Words string
	N           int
	YAML        *fieldView // a step that has no fields
	Verb        string
	Fields      []fieldView
	Add         []optionView // arguments that can be given besides
	If          fieldView
	First, Last bool
}

// A branchView is one way of a choose.
type branchView struct {
	Path  string
	Else  bool
	If    fieldView
	Steps stepsView
}

// A formMaker turns a form into fields, with what can be chosen from.
type formMaker struct {
	words
	catalogue form.Catalogue
	choices   []Choice
	calendars []string
	media     []string
}

// view returns the fields of a form.
func (m *formMaker) view(f form.Form) formView {
	v := formView{
		About: []fieldView{m.line("/id", "id", f.ID, true), m.line("/name", "name", f.Name, false), m.long("/description", "description", f.Description)},
		Do:    m.steps("/do", f.Do), OnError: m.steps("/on_error", f.OnError), Suggest: m.conditions(),
	}
	for i, name := range f.When.Events {
		v.Events = append(v.Events, m.event(fmt.Sprintf("/when/events/%d", i), name, len(f.When.Events) > 1))
	}
	if s := f.When.Schedule; s != nil {
		v.Clock, v.Schedule = true, m.schedule(s)
	}
	for i, x := range f.If {
		field := m.expression(fmt.Sprintf("/if/%d", i), m.t("form.condition", i+1), x)
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
	v.Bounds = []fieldView{
		m.line("/limit/times", "limit.times", limit.Times, false), m.line("/limit/per", "limit.per", limit.Per, false),
		m.line("/gather/quiet", "gather.quiet", gather.Quiet, false), m.line("/gather/at_most", "gather.at_most", gather.AtMost, false),
	}
	v.More = []fieldView{
		m.pick("/mode", "mode", f.Mode, m.keyValues("mode")), m.pick("/from", "from", f.From, m.keyValues("from")),
		m.expression("/by", m.t("field.by"), f.By), m.line("/sample", "sample", f.Sample, false), m.line("/max", "max", f.Max, false),
	}
	for i, match := range f.CancelOn {
		for j, name := range match.Events {
			field := m.event(fmt.Sprintf("/cancel_on/%d/events/%d", i, j), name, true)
			field.Label = m.t("rule.cancel_on")
			v.More = append(v.More, field)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.YAML)) {
		v.Rest = append(v.Rest, fieldView{Path: "/yaml/" + key, Label: key, Kind: "yaml", Value: f.YAML[key]})
	}
	return v
}

// label is what a field is called: in the catalogue of messages, else by its name.
func (m *formMaker) label(name string) string { return m.or("field.", name) }

func (m *formMaker) line(path, name, value string, required bool) fieldView {
	return fieldView{Path: path, Label: m.label(name), Kind: "line", Value: value, Required: required, Hint: m.hint(name)}
}

func (m *formMaker) long(path, name, value string) fieldView {
	return fieldView{Path: path, Label: m.label(name), Kind: "long", Value: value}
}

func (m *formMaker) expression(path, label, value string) fieldView {
	return fieldView{Path: path, Label: label, Kind: "line", Value: value, Suggestions: "conditions"}
}

func (m *formMaker) hint(name string) string {
	if m.knows("hint." + name) {
		return m.t("hint." + name)
	}
	return ""
}

// pick is a choice between words of the language, or none.
func (m *formMaker) pick(path, name, value string, values []string) fieldView {
	f := fieldView{Path: path, Label: m.label(name), Kind: "choice", Value: value, Hint: m.hint(name), Options: []optionView{{"", m.t("form.usual"), value == ""}}}
	for _, v := range values {
		f.Options = append(f.Options, optionView{v, m.or("value."+name+".", v), v == value})
	}
	return f.withValue()
}

// withValue makes sure that what is chosen is among the options.
func (f fieldView) withValue() fieldView {
	if !slices.ContainsFunc(f.Options, func(o optionView) bool { return o.Chosen }) {
		f.Options = append(f.Options, optionView{f.Value, f.Value, true})
	}
	return f
}

func (m *formMaker) keyValues(key string) []string {
	for _, k := range m.catalogue.Keys {
		if k.Name == key {
			return k.Values
		}
	}
	return nil
}

// event is a choice between events.
func (m *formMaker) event(path, name string, removes bool) fieldView {
	f := fieldView{Path: path, Label: m.t("rule.when"), Kind: "choice", Value: name, Removes: removes}
	for _, e := range m.catalogue.Events {
		f.Options = append(f.Options, optionView{e.Name, m.or("when.", e.Name), e.Name == name})
	}
	return f.withValue()
}

// schedule are the fields of a schedule.
func (m *formMaker) schedule(s *form.Schedule) []fieldView {
	list := []fieldView{
		m.line("/when/schedule/every", "every", s.Every, false), m.line("/when/schedule/at", "at", strings.Join(s.At, ", "), false), m.line("/when/schedule/on", "on", strings.Join(s.On, ", "), false),
		m.line("/when/schedule/cron", "cron", s.Cron, false), m.line("/when/schedule/timezone", "timezone", s.Timezone, false),
	}
	var each []string
	for _, e := range m.catalogue.Each {
		each = append(each, e.Name)
	}
	list = append(list, m.pick("/when/schedule/each", "each", s.Each, each))
	for _, e := range m.catalogue.Each {
		if e.Name == s.Each {
			list = append(list, m.arguments("/when/schedule/where", e.Filters, s.Where, true)...)
		}
	}
	return list
}

// conditions are what people often ask, with the names that there are.
func (m *formMaker) conditions() []optionView {
	var list []optionView
	add := func(key, expression string, args ...any) {
		list = append(list, optionView{Value: expression, Label: m.t("suggest."+key, args...)})
	}
	for _, c := range m.calendars {
		add("closed", fmt.Sprintf("closed(%q)", c), c)
		add("open", fmt.Sprintf("open(%q)", c), c)
	}
	add("direct", `conversation.kind == "direct"`)
	add("human", `not human_active("15m")`)
	add("contains", `message.text contains "…"`)
	add("customer", `message.by == "customer"`)
	add("waiting", `customer_waiting() > duration("15m")`)
	for _, c := range m.choices {
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
func (m *formMaker) named(kind string) []string {
	switch kind {
	case "calendar":
		return m.calendars
	case "media":
		return m.media
	}
	var list []string
	for _, c := range m.choices {
		if c.Kind == kind && !slices.Contains(list, c.Name) {
			list = append(list, c.Name)
		}
	}
	return list
}

// verbs are all verbs to choose from, each in words.
func (m *formMaker) verbs() []optionView {
	var list []optionView
	for _, v := range m.catalogue.Verbs {
		list = append(list, optionView{Value: v.Name, Label: m.or("verb.", v.Name)})
	}
	return list
}

func (m *formMaker) verb(name string) *form.Verb {
	for i := range m.catalogue.Verbs {
		if m.catalogue.Verbs[i].Name == name {
			return &m.catalogue.Verbs[i]
		}
	}
	return nil
}

// lists are the suggestions of the page, by what they name.
func (m *formMaker) lists() map[string][]string {
	lists := map[string][]string{}
	for _, kind := range []string{"label", "sector", "person", "channel", "board", "stage", "calendar", "media"} {
		lists[kind] = m.named(kind)
	}
	for _, c := range m.calendars {
		for _, length := range []string{"15m", "2h", "1d"} {
			lists["span"] = append(lists["span"], length+" of "+c)
		}
	}
	for _, c := range m.conditions() {
		lists["conditions"] = append(lists["conditions"], c.Value)
	}
	return lists
}
