package blueprint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/source"
)

// Fill returns the rule file that the template makes with values, by the names of the blanks. A
// blank without values has its default. Calendars that are known elsewhere are left out of the
// file. Everything but the blanks keeps its text, with the comments.
//
// What is wrong with the values is returned for each of them; an error is about the template.
func (t *Template) Fill(values map[string][]string, known ...string) ([]byte, []WrongValue, error) {
	checked, wrong := t.check(values)
	if wrong != nil {
		return nil, wrong, nil
	}
	root := t.want(checked)
	pairs := root.Pairs[:0]
	for _, p := range root.Pairs {
		switch {
		case p.Key == "template" || p.Key == "blanks":
			continue
		case p.Key == "calendars" && len(known) > 0:
			if p.Value = withoutKnown(p.Value, known); p.Value == nil {
				continue
			}
		}
		pairs = append(pairs, p)
	}
	root.Pairs = pairs
	text, err := t.file.Edit(root)
	return text, nil, err
}

// check returns the value of each blank, or what is wrong with those given.
func (t *Template) check(values map[string][]string) (checked map[string][]string, wrong []WrongValue) {
	checked = make(map[string][]string, len(t.Blanks))
	for _, b := range t.Blanks {
		given, ok := values[b.Name]
		if !ok {
			checked[b.Name] = b.Default
			continue
		}
		out, message := b.check(given)
		if message != nil {
			wrong = append(wrong, WrongValue{b, message})
		}
		checked[b.Name] = out
	}
	return checked, wrong
}

// want returns the file with the values in the place of the blanks, and with its list of blanks.
func (t *Template) want(values map[string][]string) *source.Wanted {
	f := &filler{catalog: t.catalog}
	f.value = func(u use) (*Blank, []string) { return t.Blank(u.name), values[u.name] }
	return f.root(t.file.Root)
}

// withoutKnown leaves out calendars that are known elsewhere; nil if there are no others.
func withoutKnown(w *source.Wanted, known []string) *source.Wanted {
	if w.Keep && w.Old.Kind == source.Mapping {
		w = &source.Wanted{Old: w.Old, Kind: source.Mapping}
		for _, p := range w.Old.Pairs {
			w.Pairs = append(w.Pairs, source.WantedPair{Key: p.Key.Value, Value: source.Kept(p.Value)})
		}
	}
	if w.Kind != source.Mapping {
		return w
	}
	w.Pairs = slices.DeleteFunc(w.Pairs, func(p source.WantedPair) bool { return slices.Contains(known, p.Key) })
	if len(w.Pairs) == 0 {
		return nil
	}
	return w
}

// A use is a blank in the text of a scalar.
type use struct {
	node    *source.Node
	offset  int
	name    string
	raw     bool // between backticks, where nothing can be escaped
	pattern bool // in the pattern of matches
}

// A filler walks through a rule file and replaces blanks by values. It knows where an expression
// stands, where a text with {{ }}, and where a text that is taken as it is.
type filler struct {
	catalog *rules.Catalog
	value   func(use) (*Blank, []string) // a nil blank leaves the text as it is
}

// A part returns what becomes of a node.
type part func(n *source.Node) *source.Wanted

var mark = regexp.MustCompile(`<<([^<>\n]*)>>`)

func (f *filler) root(n *source.Node) *source.Wanted {
	w := &source.Wanted{Old: n, Kind: source.Mapping}
	for _, p := range n.Pairs {
		value := source.Kept(p.Value)
		switch p.Key.Value {
		case "template", "blanks":
		case "rules":
			value = f.each(f.rule)(p.Value)
		default:
			value = f.literal(p.Value)
		}
		w.Pairs = append(w.Pairs, source.WantedPair{Key: p.Key.Value, Value: value})
	}
	return w
}

// literal fills a value whose texts are taken as they are.
func (f *filler) literal(n *source.Node) *source.Wanted {
	return f.all(n, func(n *source.Node) *source.Wanted {
		return f.scalar(n, func(s string) string {
			return f.replace(n, s, 0, use{}, func(_ *Blank, values []string) string { return strings.Join(values, ", ") })
		}, func(s string) string { return s })
	})
}

// text fills a value whose texts may have {{ }} in them.
func (f *filler) text(n *source.Node) *source.Wanted {
	return f.all(n, func(n *source.Node) *source.Wanted {
		return f.scalar(n, func(s string) string { return f.template(n, s) }, plainText)
	})
}

// expression fills an expression, or a list of them.
func (f *filler) expression(n *source.Node) *source.Wanted {
	return f.all(n, func(n *source.Node) *source.Wanted {
		text := f.inExpression(n, n.Value, 0)
		if text == n.Value {
			return source.Kept(n)
		}
		return &source.Wanted{Old: n, Kind: source.Scalar, Value: text, Loose: true}
	})
}

// time fills a day or a time, which may be an expression without {{ }}.
func (f *filler) time(n *source.Node) *source.Wanted {
	if n.Kind == source.Scalar && !strings.Contains(n.Value, "{{") {
		return f.expression(n)
	}
	return f.text(n)
}

// plainText writes a text that is taken as it is between texts with {{ }}.
func plainText(s string) string { return strings.ReplaceAll(s, "{", `{{ "{" }}`) }

// rule fills a rule.
func (f *filler) rule(n *source.Node) *source.Wanted {
	return f.pairs(n, func(key string) part {
		switch key {
		case "id", "name", "description", "tags":
			return f.literal
		case "if", "by":
			return f.expression
		case "limit", "cancel_on":
			return f.each(f.conditional)
		case "do", "on_error":
			return f.each(f.step)
		}
		return f.text
	})
}

// conditional fills a limit or a match of cancel_on.
func (f *filler) conditional(n *source.Node) *source.Wanted {
	return f.pairs(n, func(key string) part {
		if key == "if" || key == "by" {
			return f.expression
		}
		return f.text
	})
}

// step fills a step.
func (f *filler) step(n *source.Node) *source.Wanted {
	return f.pairs(n, func(key string) part {
		schema := f.catalog.Verb(key)
		switch {
		case key == "if":
			return f.expression
		case schema == nil:
			return f.text
		}
		return func(n *source.Node) *source.Wanted {
			main := f.argument(schema, schema.Main)
			if n.Kind != source.Mapping || schema.Main != "" && isNames(schema) {
				return main(n)
			}
			return f.pairs(n, func(name string) part { return f.argument(schema, name) })
		}
	})
}

// isNames reports whether the main argument of a verb is a mapping of any names.
func isNames(s *rules.Schema) bool {
	return slices.ContainsFunc(s.Args, func(a rules.Arg) bool { return a.Name == s.Main && a.Kind == rules.KindSettings })
}

// argument returns how an argument of a verb is filled.
func (f *filler) argument(s *rules.Schema, name string) part {
	i := slices.IndexFunc(s.Args, func(a rules.Arg) bool { return a.Name == name })
	if i < 0 {
		return f.text
	}
	switch s.Args[i].Kind {
	case rules.KindExpression:
		return f.expression
	case rules.KindWhen:
		return f.time
	case rules.KindSteps:
		return f.each(f.step)
	case rules.KindBranches:
		return f.each(f.branch)
	}
	return f.text
}

// branch fills a branch of a choose.
func (f *filler) branch(n *source.Node) *source.Wanted {
	return f.pairs(n, func(key string) part {
		switch key {
		case "if":
			return f.expression
		case "do", "else":
			return f.each(f.step)
		}
		return f.text
	})
}

// each fills the items of a list, or one that stands alone.
func (f *filler) each(item part) part {
	return func(n *source.Node) *source.Wanted {
		if n.Kind != source.List {
			return item(n)
		}
		return f.list(n, item)
	}
}

func (f *filler) list(n *source.Node, item part) *source.Wanted {
	w := &source.Wanted{Old: n, Kind: source.List}
	changed := false
	for _, old := range n.Items {
		want := item(old)
		changed = changed || !want.Keep
		if old.Kind == source.Scalar && !want.Keep && want.Kind == source.List { // several values in the place of one
			for i, one := range want.Items {
				if i == 0 {
					one.Old = old
				}
				w.Items = append(w.Items, one)
			}
			continue
		}
		w.Items = append(w.Items, want)
	}
	if !changed {
		return source.Kept(n)
	}
	return w
}

// pairs fills a mapping. What is no mapping is a text.
func (f *filler) pairs(n *source.Node, of func(key string) part) *source.Wanted {
	if n.Kind != source.Mapping {
		return f.text(n)
	}
	w := &source.Wanted{Old: n, Kind: source.Mapping}
	changed := false
	for _, p := range n.Pairs {
		key := f.replace(p.Key, p.Key.Value, 0, use{}, func(_ *Blank, values []string) string { return strings.Join(values, ", ") })
		pair := source.WantedPair{Key: key, Value: of(p.Key.Value)(p.Value)}
		if key != p.Key.Value {
			pair.Old = p.Key.Value
		}
		changed = changed || pair.Old != "" || !pair.Value.Keep
		w.Pairs = append(w.Pairs, pair)
	}
	if !changed {
		return source.Kept(n)
	}
	return w
}

// all fills every scalar of a value in the same way.
func (f *filler) all(n *source.Node, scalar part) *source.Wanted {
	switch n.Kind {
	case source.Scalar:
		return scalar(n)
	case source.List:
		return f.list(n, func(item *source.Node) *source.Wanted { return f.all(item, scalar) })
	case source.Mapping:
		return f.pairs(n, func(string) part { return func(n *source.Node) *source.Wanted { return f.all(n, scalar) } })
	}
	return source.Kept(n)
}

// scalar fills a text. A blank that is the whole of it gives a number or a list where it is one.
func (f *filler) scalar(n *source.Node, fill, data func(string) string) *source.Wanted {
	if at := mark.FindStringSubmatchIndex(n.Value); at != nil && at[0] == 0 && at[1] == len(n.Value) {
		b, values := f.value(use{node: n, name: n.Value[at[2]:at[3]]})
		if b == nil {
			return source.Kept(n)
		}
		if b.Type.IsList() {
			w := &source.Wanted{Old: n, Kind: source.List, Short: true}
			for _, v := range values {
				w.Items = append(w.Items, &source.Wanted{Kind: source.Scalar, Value: data(v)})
			}
			return w
		}
		isNumber := b.Type == Number && !n.Quoted
		return &source.Wanted{Old: n, Kind: source.Scalar, Value: data(values[0]), Loose: isNumber, Bare: isNumber}
	}
	text := fill(n.Value)
	if text == n.Value {
		return source.Kept(n)
	}
	return &source.Wanted{Old: n, Kind: source.Scalar, Value: text}
}

// replace puts values in the place of the blanks of a part of a scalar that begins at an offset.
func (f *filler) replace(n *source.Node, s string, offset int, where use, written func(b *Blank, values []string) string) string {
	var out strings.Builder
	at := 0
	for _, m := range mark.FindAllStringSubmatchIndex(s, -1) {
		where.node, where.offset, where.name = n, offset+m[0], s[m[2]:m[3]]
		out.WriteString(s[at:m[0]])
		if b, values := f.value(where); b != nil {
			out.WriteString(written(b, values))
		} else {
			out.WriteString(s[m[0]:m[1]])
		}
		at = m[1]
	}
	return out.String() + s[at:]
}

// template fills a text with {{ }} in it.
func (f *filler) template(n *source.Node, s string) string {
	segments, unclosed := template.Split(s)
	if unclosed >= 0 {
		return s // the check of the rules reports it
	}
	var out strings.Builder
	at := 0
	for _, segment := range segments {
		out.WriteString(s[at:segment.Offset])
		if segment.Expression {
			out.WriteString(f.inExpression(n, segment.Text, segment.Offset))
		} else {
			// A brace before a value would join the braces that the value's own are written with.
			text := strings.ReplaceAll(segment.Text, "{<<", plainText("{")+"<<")
			out.WriteString(f.replace(n, text, segment.Offset, use{}, func(_ *Blank, values []string) string { return plainText(strings.Join(values, ", ")) }))
		}
		at = segment.Offset + len(segment.Text)
	}
	return out.String() + s[at:]
}

// isPattern finds a quote behind matches.
var isPattern = regexp.MustCompile(`\bmatches\s*\(?\s*$`)

// inExpression fills an expression. Between quotes a value is a part of the text; elsewhere it is a
// number, or texts in quotes of their own.
func (f *filler) inExpression(n *source.Node, s string, offset int) string {
	var out strings.Builder
	for at := 0; at < len(s); {
		next := strings.IndexAny(s[at:], "\"'`")
		if next < 0 {
			next = len(s) - at
		}
		out.WriteString(f.replace(n, s[at:at+next], offset+at, use{pattern: isPatternBlank(s[at : at+next])}, bare))
		if at += next; at == len(s) {
			break
		}
		quote, end := s[at], min(template.Quoted(s, at), len(s))
		where := use{raw: quote == '`', pattern: isPattern.MatchString(s[:at])}
		out.WriteByte(quote)
		out.WriteString(f.replace(n, s[at+1:end], offset+at+1, where, func(_ *Blank, values []string) string {
			return escaped(strings.Join(values, ", "), quote)
		}))
		if at = end; at < len(s) {
			out.WriteByte(quote)
			at++
		}
	}
	return out.String()
}

var patternBlank = regexp.MustCompile(`\bmatches\s*\(?\s*<<`)

func isPatternBlank(s string) bool { return patternBlank.MatchString(s) }

// bare writes values as numbers or texts of an expression.
func bare(b *Blank, values []string) string {
	if b.Type == Number {
		return values[0]
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = `"` + escaped(v, '"') + `"`
	}
	return strings.Join(quoted, ", ")
}

// escaped writes a text so that it can stand between quotes of an expression.
func escaped(s string, quote byte) string {
	return strings.NewReplacer(`\`, `\\`, string(quote), `\`+string(quote), "\n", `\n`, "\t", `\t`).Replace(s)
}
