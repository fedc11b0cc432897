// Package formtest makes up rules, and conditions as people write them, for tests.
package formtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/vocabulary"
)

// Hard are texts that YAML would take for something else, or apart.
var Hard = []string{
	"yes", "No", "on", "08:00", "1e3", "~", "null", "true", "0123", "1.10", "12", "-5", "+5511988887777", "2026-01-01", "<<", "=", ".5", "0x1f", "1_000",
	" leading", "trailing ", "a: b", "a:", ":", "a #b", "#c", "a#b", "- x", "-", "?", "a?", "[a]", "{a}", "a, b", "a]", "*a", "&a", "!t", "%x", "@y", "`z`", "|", ">", "|-",
	"'", `"`, `it's "so"`, `\`, `a\nb`, "one\ntwo", "one\ntwo\n", "one\n\ntwo\n\n", "\nfirst", " indented\nmore", "a \nb", "x\n", "\n", "---", "...", "--- a", "tab\there", "\ttab",
	"ünïcode", "日本語", "emoji 😀", "\u2028", "a\u00a0b", "\u00a0", "\ufeffmark", "\u0085", "a\r\nb", "\x00", "\x7f", "Hello {{ contact.name }}!", "{{ contact.name }}", "a {{ 'x: # y' }}",
	"{{ \"a\" }}\n{{ 'b' }}", "https://example.com/?a=b&c=d#e", "a:b", "a :b", "key: [", "\u3000wide", strings.Repeat("long words ", 14) + "end", "done", "Hello there", "Supervisors",
}

var (
	plain = []string{"done", "Hello there", "Support", "vip", "after-hours", "Sales", "Ana"}
	// Expressions are conditions, some of which no sentence says.
	Expressions = []string{
		`closed("office")`, `conversation.kind == "direct"`, `not human_active("15m")`, `contact.name matches "^[1-5]$"`, `contact.name in ["a", "b"]`, `true`, `1 < 2`,
		`event.data["x: y"] == "#"`, `(contact.city ?? "") == ""`, "any(conversation.label_ids, # == 'x')", `{"a": 1}.a == 1`, "contact.name != nil\nand true",
	}
	spans = []string{"15m", "1h30m", "15m of office", "2d", "{{ vars.n }}m"}
	// Durations are lengths of time.
	Durations = []string{"20s", "15m", "2d", "{{ vars.n }}h"}
	// Counts are whole numbers.
	Counts = []string{"1", "3", "100", "{{ vars.n }}"}
	// Events are names and a pattern of events.
	Events = append(vocabulary.EventTypes(), "kanban.card.*")
	// Snippets are values as YAML.
	Snippets = []string{
		"[1, two]", "{ a: 1 }", "12", "true", "null", "\"quoted # no\"", "a: 1\nb: [x, y] # why\n", "- x\n# between\n- y: |\n    text\n    more\n- z", "|\n  one\n  two\n", "\"it's\"",
	}
)

// One returns one of a list.
func One[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// Often is false once in n times.
func Often(r *rand.Rand, n int) bool { return r.IntN(n) > 0 }

// A Maker makes up forms.
type Maker struct {
	*rand.Rand
	Catalog   *rules.Catalog
	Condition func() string // makes up conditions; nil is one of Expressions
	Value     func() string // makes up values, which stand in texts too; nil is one of a few
	Plain     bool          // texts are easy
	IDs       int           // how many were made up
}

// Text makes up a text.
func (m *Maker) Text() string {
	if m.Value != nil && !Often(m.Rand, 4) {
		return One(m.Rand, "", "Hello ") + "{{ " + m.Value() + " }}" + One(m.Rand, "", ", bye")
	}
	if m.Plain || Often(m.Rand, 3) {
		return One(m.Rand, plain...)
	}
	return One(m.Rand, Hard...)
}

func (m *Maker) texts() []string {
	var out []string
	for range 1 + m.IntN(3) {
		out = append(out, m.Text())
	}
	return out
}

func (m *Maker) some(list []string) []string {
	out := slices.Clone(list)
	m.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:1+m.IntN(2)]
}

// maybe returns one of the texts, or nothing.
func (m *Maker) maybe(list ...string) string {
	if Often(m.Rand, 2) {
		return ""
	}
	return One(m.Rand, list...)
}

func (m *Maker) value() string {
	if m.Value != nil {
		return m.Value()
	}
	return One(m.Rand, "contact.phone", `conversation.id + "#"`)
}

func (m *Maker) condition() string {
	if m.Condition != nil {
		return m.Condition()
	}
	return One(m.Rand, Expressions...)
}

// Form makes up a rule.
func (m *Maker) Form(id string) form.Form {
	f := form.Form{
		ID: id, Name: m.maybe(m.Text()), Description: m.maybe(m.Text()), Stage: m.maybe("draft", "shadow", "live"), Sample: m.maybe("10%", "{{ vars.n }}%"),
		From: m.maybe("others", "any"), Claimed: m.maybe("skip", "run"), Internal: m.maybe("skip", "run"), By: m.maybe(m.value()), Mode: m.maybe("queued", "single", "restart", "parallel"), Max: m.maybe(Counts...),
	}
	m.NewID("") // so that ids differ from those of mutations
	if !Often(m.Rand, 3) {
		f.Tags = m.texts()
	}
	if Often(m.Rand, 3) {
		f.If = []string{m.condition(), m.condition()}[:1+m.IntN(2)]
	}
	f.When = m.When()
	if f.When.Schedule == nil && !Often(m.Rand, 3) {
		f.Gather = &form.Gather{Quiet: One(m.Rand, Durations...), AtMost: m.maybe(Durations...)}
	}
	if !Often(m.Rand, 2) {
		f.Limit = &form.Limit{Times: One(m.Rand, Counts...), Per: One(m.Rand, Durations...), By: m.maybe(m.value())}
	}
	if !Often(m.Rand, 3) {
		f.Late = &form.Late{SkipAfter: One(m.Rand, "30m", "none")}
		if f.When.Schedule != nil {
			f.Late = &form.Late{Run: One(m.Rand, "last", "all", "none")}
		}
	}
	for range max(0, m.IntN(5)-2) {
		f.CancelOn = append(f.CancelOn, m.Match())
	}
	if f.Sample == "" && !Often(m.Rand, 6) {
		f.YAML = map[string]string{"sample": One(m.Rand, "{ share: 10%, of: greeting }", "{ rest: greeting }")}
	}
	f.Do = m.Steps(1+m.IntN(4), 2)
	if !Often(m.Rand, 3) {
		f.OnError = m.Steps(1, 0)
	}
	return f
}

// When makes up what starts a rule.
func (m *Maker) When() form.When {
	if Often(m.Rand, 3) {
		return form.When{Events: m.some(slices.Concat(Events, []string{"manual"}))}
	}
	s := &form.Schedule{}
	switch m.IntN(3) {
	case 0:
		s.Every = One(m.Rand, "5m", "1h")
	case 1:
		s.Cron, s.Timezone = One(m.Rand, "0 9 * * mon-fri", "* * * * *", "*/15 8-18 * * *", "30 7,19 1 jan-jun *", "0 0 1-7/2 */3 sun"), m.maybe("America/Sao_Paulo")
	case 2:
		s.At, s.On, s.Timezone = m.some([]string{"09:00", "17:30"}), m.some([]string{"mon-fri", "sat"}), m.maybe("UTC")
	}
	if Often(m.Rand, 4) {
		each := One(m.Rand, rules.EachItems()...)
		s.Each = each.Name
		s.Where = m.args(each.Filters, 0)
	}
	return form.When{Schedule: s}
}

// Match makes up what ends a run early.
func (m *Maker) Match() form.Match {
	out := form.Match{Events: []string{One(m.Rand, Events...)}}
	if m.IntN(2) == 0 {
		out.Events, out.If = m.some(Events), m.condition()
	}
	return out
}

// Steps makes up n steps, with as many levels of others in them.
func (m *Maker) Steps(n, depth int) []form.Step {
	var out []form.Step
	for range n {
		out = append(out, m.Step(depth))
	}
	return out
}

// NewID makes up a name.
func (m *Maker) NewID(prefix string) string {
	m.IDs++
	return fmt.Sprintf("%s%d", prefix, m.IDs)
}

// Step makes up a step.
func (m *Maker) Step(depth int) form.Step {
	var schema *rules.Schema
	for schema == nil || depth == 0 && (schema.Verb == "choose" || schema.Verb == "for_each") {
		schema = One(m.Rand, m.Catalog.Schemas()...)
	}
	s := form.Step{Verb: schema.Verb, Args: m.args(schema.Args, depth), If: m.maybe(m.condition()), OnError: m.maybe("stop", "continue"), Enabled: m.maybe("false")}
	if s.Verb == "send_message" {
		s.EvenIfMuted = m.maybe("true", "false")
	}
	if one := schema.OneOf; len(one) > 0 && !slices.ContainsFunc(s.Args, func(a form.Arg) bool { return slices.Contains(one, a.Name) }) {
		for _, a := range schema.Args {
			if a.Name == one[0] {
				s.Args = append(s.Args, m.Arg(a, depth))
			}
		}
	}
	for _, pair := range schema.Not {
		s.Args = slices.DeleteFunc(s.Args, func(a form.Arg) bool {
			return a.Name == pair[1] && slices.ContainsFunc(s.Args, func(b form.Arg) bool { return b.Name == pair[0] })
		})
	}
	if !Often(m.Rand, 3) && schema.Result != nil {
		s.ID = m.NewID("s")
	}
	if !Often(m.Rand, 4) {
		s.Retry = &form.Retry{Times: One(m.Rand, Counts...), For: m.maybe(Durations...)}
	}
	return s
}

func (m *Maker) args(list []rules.Arg, depth int) []form.Arg {
	var out []form.Arg
	for _, a := range list {
		if a.Required || !Often(m.Rand, 3) {
			out = append(out, m.Arg(a, depth))
		}
	}
	return out
}

// Arg generates an argument in the form in which Read returns it.
func (m *Maker) Arg(a rules.Arg, depth int) form.Arg {
	out := form.Arg{Name: a.Name}
	if a.Null && !Often(m.Rand, 4) {
		out.As = form.AsNull
		return out
	}
	switch a.Name {
	case "in":
		out.Text = "conversation.label_ids"
		return out
	case "until":
		out.Text = One(m.Rand, "{{ now() }}", "now()")
		return out
	case "url":
		out.Text = "https://example.com/?a=b&c=d#e"
		return out
	case "as":
		out.Text = m.NewID("item")
		return out
	}
	switch a.Kind {
	case rules.KindNames:
		out.As, out.List = form.AsList, m.texts()
		if !Often(m.Rand, 5) {
			out.As, out.List, out.Text = form.AsText, nil, "{{ event.data.names }}"
		}
	case rules.KindEvent:
		out.As, out.List = form.AsList, m.some(Events)
	case rules.KindFlag:
		out.Text = One(m.Rand, "true", "false", "{{ contact.blocked }}")
	case rules.KindNumber:
		out.Text = One(m.Rand, Counts...)
	case rules.KindChoice:
		out.Text = One(m.Rand, a.Values...)
	case rules.KindDuration:
		out.Text = One(m.Rand, Durations...)
	case rules.KindSpan:
		out.Text = One(m.Rand, spans...)
	case rules.KindExpression:
		out.Text = m.condition()
	case rules.KindWhen:
		out.Text = One(m.Rand, "2026-12-24", "{{ day(now(), 1) }}")
	case rules.KindZone:
		out.Text = "America/Sao_Paulo"
	case rules.KindTarget:
		out.As, out.Fields = form.AsFields, []form.Arg{{Name: One(m.Rand, "phone", "contact"), Text: m.Text()}, {Name: "channel", Text: m.Text()}}
		if m.IntN(3) == 0 {
			out.Fields = []form.Arg{{Name: "person", Text: m.Text()}}
		}
	case rules.KindFields:
		out.As, out.Fields = form.AsFields, m.args(a.Fields, depth)
	case rules.KindNumbers:
		out.As, out.List = form.AsList, []string{strconv.Itoa(a.Min + m.IntN(a.Max-a.Min)), strconv.Itoa(a.Max)}[:1+m.IntN(2)]
	case rules.KindSettings, rules.KindHeaders, rules.KindQuery:
		out.As = form.AsFields
		for i := range 1 + m.IntN(2) {
			value := form.Arg{Name: fmt.Sprintf("%s%d", One(m.Rand, "a", "on", "X-Y ", "1"), i), Text: m.Text()}
			if a.Kind == rules.KindSettings {
				value.Name = m.NewID("value")
			}
			if a.Kind == rules.KindSettings && !Often(m.Rand, 3) {
				value.Text, value.As, value.YAML = "", form.AsYAML, One(m.Rand, "5", "[1, two]", "{ a: 1 }", "true", "[]", "null", `{ a: [1, { b: "{{ contact.name }}" }] }`)
			}
			if a.Kind == rules.KindQuery && !Often(m.Rand, 3) {
				value.Text, value.As, value.YAML = "", form.AsYAML, One(m.Rand, "5", "[1, two]", "true")
			}
			out.Fields = append(out.Fields, value)
		}
	case rules.KindSteps:
		out.As, out.Steps = form.AsSteps, m.Steps(1+m.IntN(2), depth-1)
	case rules.KindBranches:
		out.As = form.AsBranches
		for range 1 + m.IntN(2) {
			out.Branches = append(out.Branches, form.Branch{If: m.condition(), Do: m.Steps(1, depth-1)})
		}
		if m.IntN(2) == 0 {
			out.Branches = append(out.Branches, form.Branch{Else: true, Do: m.Steps(1, depth-1)})
		}
	case rules.KindData:
		out.Text = m.Text()
		if m.IntN(2) == 0 {
			out.Text, out.As, out.YAML = "", form.AsYAML, One(m.Rand, "5", "[1, two]", "{ a: { b: 1 } }", "true", `{ a: 1, b: [x, "{{ contact.name }}"] }`)
		}
	default:
		out.Text = m.Text()
	}
	return out
}
