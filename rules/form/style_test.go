package form_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
)

// A tree is YAML before it is written: a text, what needs no quotes, a list or a mapping.
type tree struct {
	text  *string
	raw   string
	items []tree
	keys  []string // of a mapping, whose values are the items
	isMap bool
}

func text(s string) tree { return tree{text: &s} }

func (t *tree) put(key string, v tree) {
	t.isMap, t.keys, t.items = true, append(t.keys, key), append(t.items, v)
}

// A shaper turns a form into a tree. With chance it varies what means the same; without it says
// everything in the longest way.
type shaper struct{ chance *rand.Rand }

func (s shaper) either() bool { return s.chance != nil && s.chance.IntN(2) == 0 }

func (s shaper) list(list []string) tree {
	if len(list) == 1 && s.either() {
		return text(list[0])
	}
	t := tree{}
	for _, item := range list {
		t.items = append(t.items, text(item))
	}
	return t
}

func (s shaper) rule(f form.Form) tree {
	var t tree
	one := func(key, value string) {
		if value != "" {
			t.put(key, text(value))
		}
	}
	one("id", f.ID)
	one("name", f.Name)
	one("description", f.Description)
	if len(f.Tags) > 0 {
		t.put("tags", s.list(f.Tags))
	}
	one("stage", f.Stage)
	one("sample", f.Sample)
	if len(f.When.Events) > 0 {
		t.put("when", s.list(f.When.Events))
	} else if w := f.When.Schedule; w != nil {
		var v tree
		v.isMap = true
		for _, p := range [][2]string{{"every", w.Every}, {"cron", w.Cron}, {"timezone", w.Timezone}, {"each", w.Each}} {
			if p[1] != "" {
				v.put(p[0], text(p[1]))
			}
		}
		if len(w.At) > 0 {
			v.put("at", s.list(w.At))
		}
		if len(w.On) > 0 {
			v.put("on", s.list(w.On))
		}
		if len(w.Where) > 0 {
			v.put("where", s.args(w.Where, filtersOf(w.Each)))
		}
		t.put("when", v)
	}
	one("from", f.From)
	one("claimed", f.Claimed)
	one("internal", f.Internal)
	if g := f.Gather; g != nil {
		t.put("gather", record("quiet", g.Quiet, "at_most", g.AtMost))
	}
	if len(f.If) > 0 {
		t.put("if", s.list(f.If))
	}
	one("by", f.By)
	one("mode", f.Mode)
	if l := f.Limit; l != nil {
		t.put("limit", record("times", l.Times, "per", l.Per, "by", l.By))
	}
	if l := f.Late; l != nil {
		t.put("late", record("skip_after", l.SkipAfter, "run", l.Run))
	}
	one("max", f.Max)
	if len(f.CancelOn) > 0 {
		var v tree
		for _, m := range f.CancelOn {
			var item tree
			if item = text(strings.Join(m.Events, "")); m.If != "" || len(m.Events) > 1 || s.either() {
				item = tree{}
				item.put("event", s.list(m.Events))
				if m.If != "" {
					item.put("if", text(m.If))
				}
			}
			v.items = append(v.items, item)
		}
		if len(v.items) == 1 && s.either() {
			v = v.items[0]
		}
		t.put("cancel_on", v)
	}
	if _, other := f.YAML["do"]; len(f.Do) > 0 || !other {
		t.put("do", s.steps(f.Do))
	}
	if len(f.OnError) > 0 {
		t.put("on_error", s.steps(f.OnError))
	}
	for key, yaml := range f.YAML {
		if !slices.Contains(t.keys, key) {
			t.put(key, tree{raw: yaml})
		}
	}
	if s.chance != nil && s.chance.IntN(3) == 0 {
		s.chance.Shuffle(len(t.keys), func(i, j int) {
			t.keys[i], t.keys[j], t.items[i], t.items[j] = t.keys[j], t.keys[i], t.items[j], t.items[i]
		})
	}
	return t
}

func filtersOf(each string) []rules.Arg {
	for _, e := range rules.EachItems() {
		if e.Name == each {
			return e.Filters
		}
	}
	return nil
}

func record(pairs ...string) tree {
	t := tree{isMap: true}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			t.put(pairs[i], text(pairs[i+1]))
		}
	}
	return t
}

func (s shaper) steps(steps []form.Step) tree {
	var t tree
	for _, step := range steps {
		t.items = append(t.items, s.step(step))
	}
	return t
}

func (s shaper) step(step form.Step) tree {
	if step.YAML != "" {
		return tree{raw: step.YAML}
	}
	schema := catalog.Verb(step.Verb)
	value := s.args(step.Args, schema.Args)
	own := schema.Main == "values" || schema.Main == "branches"
	var main rules.Arg
	for _, a := range schema.Args {
		if a.Name == schema.Main {
			main = a
		}
	}
	var t tree
	switch {
	case len(step.Args) == 0 && !main.Null:
		value = tree{raw: "null"}
		if step.ID == "" && step.If == "" && step.Retry == nil && step.OnError == "" && step.EvenIfMuted == "" && step.Enabled == "" && s.either() {
			return text(step.Verb)
		}
	case len(step.Args) == 1 && step.Args[0].Name == schema.Main && own:
		value = value.items[0]
	case len(step.Args) == 1 && step.Args[0].Name == schema.Main && step.Args[0].As != form.AsFields && (step.Args[0].As != form.AsNull || main.Null) && s.either():
		if !value.items[0].isMap {
			value = value.items[0]
		}
	}
	t.put(step.Verb, value)
	for _, p := range [][2]string{{"id", step.ID}, {"if", step.If}, {"on_error", step.OnError}, {"even_if_muted", step.EvenIfMuted}, {"enabled", step.Enabled}} {
		if p[1] != "" {
			t.put(p[0], text(p[1]))
		}
	}
	if r := step.Retry; r != nil {
		t.put("retry", record("times", r.Times, "for", r.For))
	}
	return t
}

func (s shaper) args(args []form.Arg, schema []rules.Arg) tree {
	t := tree{isMap: true}
	if s.chance == nil && schema != nil {
		args = slices.SortedFunc(slices.Values(args), func(a, b form.Arg) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, a := range args {
		var of rules.Arg
		if i := slices.IndexFunc(schema, func(b rules.Arg) bool { return b.Name == a.Name }); i >= 0 {
			of = schema[i]
		}
		t.put(a.Name, s.arg(a, of))
	}
	return t
}

func (s shaper) arg(a form.Arg, schema rules.Arg) tree {
	var t tree
	switch a.As {
	case form.AsText:
		if schema.Kind == rules.KindFlag && (a.Text == "true" || a.Text == "false") {
			return tree{raw: a.Text}
		}
		return text(a.Text)
	case form.AsNull:
		return tree{raw: "null"}
	case form.AsYAML:
		return tree{raw: a.YAML}
	case form.AsList:
		if len(a.List) == 1 && !strings.Contains(a.List[0], "{{") {
			return s.list(a.List)
		}
		return shaper{}.list(a.List)
	case form.AsFields:
		return s.args(a.Fields, schema.Fields)
	case form.AsSteps:
		return s.steps(a.Steps)
	case form.AsBranches:
		for _, b := range a.Branches {
			var branch tree
			if b.Else {
				branch.put("else", s.steps(b.Do))
			} else {
				branch.put("if", text(b.If))
				branch.put("do", s.steps(b.Do))
			}
			t.items = append(t.items, branch)
		}
	}
	return t
}

// flow writes a tree as JSON, but for what is YAML already and on one line.
func (t tree) flow() string {
	switch {
	case t.text != nil:
		return jsonText(*t.text)
	case t.raw != "":
		return t.raw
	}
	var parts []string
	for i, item := range t.items {
		part := item.flow()
		if t.isMap {
			part = jsonText(t.keys[i]) + ": " + part
		}
		parts = append(parts, part)
	}
	if t.isMap {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// jsonText writes a text as JSON that YAML reads as the same.
func jsonText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// A stylist writes a tree in a way of its own, with comments in many places.
type stylist struct {
	*rand.Rand
	comments int
	quiet    bool // no comments
	inBlock  bool // a line that is indented further would continue the text above
}

func (s *stylist) comment(before string) string {
	if s.quiet || s.IntN(3) > 0 {
		return ""
	}
	s.comments++
	return fmt.Sprintf("%s# c%d.", before, s.comments)
}

// above writes comment lines and empty ones.
func (s *stylist) above(indent int) string {
	out := ""
	if s.IntN(6) == 0 {
		out += "\n"
	}
	for range s.IntN(2) {
		if c := s.comment(strings.Repeat(" ", indent)); c != "" {
			out += c + "\n"
		}
	}
	return out
}

var simple = regexp.MustCompile(`^[A-Za-z\x{c0}-\x{ff}][\w /!'"().=<>-]*[\w)!"]$`)

func isWord(s string) bool {
	return simple.MatchString(s) && !slices.Contains([]string{"yes", "No", "on", "true", "null", "done"}, s)
}

// value writes what stands behind a colon or a dash, to the end of its last line.
func (s *stylist) value(t tree, indent int, item bool) string {
	switch {
	case t.text != nil:
		block := s.block(*t.text, indent)
		if s.inBlock = block != ""; s.inBlock {
			return block
		}
		return " " + s.scalar(*t.text, false) + s.comment(formtest.One(s.Rand, " ", "   ")) + "\n"
	case t.raw != "":
		s.inBlock = false
		return " " + t.raw + s.comment(" ") + "\n"
	case len(t.items) == 0 || s.IntN(4) == 0:
		s.inBlock = false
		return " " + s.flow(t, indent) + s.comment(" ") + "\n"
	}
	if t.isMap && item {
		return " " + strings.TrimLeft(s.entries(t, indent, true), " ")
	}
	// A list may stand under its key without being indented.
	if !t.isMap && !item && s.IntN(3) == 0 {
		indent -= 2
	} else {
		indent += formtest.One(s.Rand, 0, 0, 2)
	}
	head := s.comment(" ") + "\n"
	return head + s.entries(t, indent, false)
}

func (s *stylist) entries(t tree, indent int, inline bool) string {
	var b strings.Builder
	for i, item := range t.items {
		if !inline || i > 0 {
			b.WriteString(s.above(indent))
		}
		b.WriteString(strings.Repeat(" ", indent))
		if t.isMap {
			b.WriteString(s.key(t.keys[i]) + ":" + s.value(item, indent+2, false))
		} else {
			b.WriteString("-" + s.value(item, indent+2, true))
		}
		if s.IntN(8) == 0 && !s.inBlock {
			if c := s.comment(strings.Repeat(" ", indent+2)); c != "" && i == len(t.items)-1 {
				b.WriteString(c + "\n")
			}
		}
	}
	return b.String()
}

func (s *stylist) key(key string) string {
	if isWord(key) || key == "on" || key == "id" || key == "q" || key == "if" || key == "do" || key == "at" || key == "by" || key == "to" || key == "in" || key == "as" {
		return key
	}
	return jsonText(key)
}

func (s *stylist) scalar(v string, flow bool) string {
	if isWord(v) && !(flow && strings.ContainsAny(v, `"'`)) && s.IntN(3) > 0 {
		return v
	}
	if s.IntN(2) == 0 && !strings.ContainsFunc(v, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0x2028 }) {
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return jsonText(v)
}

// block writes a text as a literal block where that is easy.
func (s *stylist) block(v string, indent int) string {
	body, newline := strings.CutSuffix(v, "\n")
	if s.IntN(2) == 0 || body == "" || strings.ContainsAny(v, "\r\t\x00\x7f\u0085\u2028\ufeff\u00a0\u3000") {
		return ""
	}
	lines := strings.Split(body, "\n")
	if strings.HasPrefix(lines[0], " ") || lines[0] == "" || lines[len(lines)-1] == "" {
		return ""
	}
	mark := "|"
	if len(lines) == 1 && !strings.HasSuffix(v, " ") && s.IntN(2) == 0 {
		mark = ">"
	}
	if !newline {
		mark += "-"
	}
	indent += formtest.One(s.Rand, 0, 1)
	out := " " + mark + s.comment(" ") + "\n"
	for _, line := range lines {
		if line != "" {
			line = strings.Repeat(" ", indent) + line
		}
		out += line + "\n"
	}
	return out
}

func (s *stylist) flow(t tree, indent int) string {
	switch {
	case t.text != nil:
		return s.scalar(*t.text, true)
	case t.raw != "":
		return t.raw
	}
	open, shut := "[", "]"
	if t.isMap {
		open, shut = "{", "}"
	}
	space := formtest.One(s.Rand, "", " ")
	wide := len(t.items) > 0 && s.IntN(5) == 0
	var b strings.Builder
	b.WriteString(open + space)
	for i, item := range t.items {
		if wide {
			b.WriteString("\n" + s.above(indent) + strings.Repeat(" ", indent))
		} else if i > 0 {
			b.WriteString(" ")
		}
		if t.isMap {
			b.WriteString(s.key(t.keys[i]) + ": ")
		}
		b.WriteString(s.flow(item, indent+2))
		if i < len(t.items)-1 {
			b.WriteString(",")
		}
		if wide && i < len(t.items)-1 {
			b.WriteString(s.comment(" "))
		}
	}
	if wide {
		b.WriteString("\n" + strings.Repeat(" ", indent))
	}
	return b.String() + space + shut
}

// file writes a rule file with several rules.
func (s *stylist) file(rules ...tree) string {
	var b strings.Builder
	b.WriteString(s.above(0))
	b.WriteString("vars: { n: 5 }\ncalendars:\n  office: { timezone: UTC, open: { mon-fri: [08:00-18:00] } }\n\n")
	b.WriteString("rules:" + s.value(tree{items: rules}, 2, false))
	if s.IntN(2) == 0 {
		b.WriteString(s.above(0) + "tests: []\n")
	}
	out := b.String()
	if s.IntN(4) == 0 {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	if s.IntN(4) == 0 && strings.HasSuffix(strings.TrimSpace(out), "tests: []") {
		out = strings.TrimSpace(out)
	}
	return out
}
