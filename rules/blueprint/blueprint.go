// Package blueprint reads rule templates, which are rule files with blanks, and fills them in.
//
// A template is a rule file with two more keys. template says what it is for; blanks lists what a
// person is asked for before there is a rule. <<name>> stands in the rules for the value of a
// blank. What Fill returns is an ordinary rule file in which every value is data.
package blueprint

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Template is a rule file with blanks.
type Template struct {
	Group    string // one of rules.TemplateGroups; empty if the file does not say
	Icon     string // one of rules.TemplateIcons; empty if the file does not say
	Title    Words
	Sentence Words // what the rules do
	Blanks   []*Blank

	file    *source.File
	catalog *rules.Catalog
}

// A Blank is a value that a person is asked for.
type Blank struct {
	Name    string
	Type    Type
	Default []string // one value, or several of a list
	Words   Words    // the question
}

// Words is a text in both languages. A template may give only one.
type Words struct{ English, Portuguese string }

// In returns the text in a language, or in the other one where it is missing.
func (w Words) In(l phrases.Language) string {
	if l == phrases.Portuguese {
		return cmp.Or(w.Portuguese, w.English)
	}
	return cmp.Or(w.English, w.Portuguese)
}

var blankName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// maxBlanks is how many questions a person can be asked.
const maxBlanks = 20

// Parse reads a template. It returns everything that is wrong with its form and its blanks; Check
// also compiles its rules. The template is nil if it cannot be filled in.
func Parse(c *rules.Catalog, name string, text []byte) (*Template, rules.Problems) {
	file, problems := source.Read(name, text)
	if problems.HasErrors() {
		return nil, problems
	}
	p := &parser{template: &Template{file: file, catalog: c}, problems: problems}
	root := file.Root
	if root == nil || root.Kind != source.Mapping || root.Get("template") == nil && root.Get("blanks") == nil {
		where := root
		if where == nil {
			where = source.Text(name, "")
		}
		p.report(where, say("add blanks: with a list of { name, type, default, words }"), "the file is no template: it has no blanks")
		return nil, p.problems
	}
	p.head(root.Get("template"))
	p.blanks(root.Get("blanks"))
	if !p.problems.HasErrors() {
		p.uses()
	}
	if p.problems.HasErrors() {
		return nil, p.problems
	}
	return p.template, p.problems
}

// Blank returns the blank of a name, or nil.
func (t *Template) Blank(name string) *Blank {
	for _, b := range t.Blanks {
		if b.Name == name {
			return b
		}
	}
	return nil
}

func (t *Template) names() (names []string) {
	for _, b := range t.Blanks {
		names = append(names, b.Name)
	}
	return names
}

func say(format string, args ...any) *phrases.Message { return phrases.Sprintf(format, args...) }

// A parser reads a template, and reports what is wrong with it.
type parser struct {
	template *Template
	keys     map[string]*source.Node // the names of the blanks, where they stand
	problems rules.Problems
}

func (p *parser) report(n *source.Node, hint *phrases.Message, format string, args ...any) {
	p.problems = append(p.problems, n.At(source.Error, say(format, args...), hint))
}

// mapping reports a node that is no mapping, and keys that it cannot have.
func (p *parser) mapping(n *source.Node, what phrases.Word, keys []string) bool {
	if n.Kind != source.Mapping {
		p.report(n, say("the keys are %s", phrases.And(keys)), "%s must be a mapping, not %s", what, n.Kind)
		return false
	}
	for _, pair := range n.Pairs {
		if !slices.Contains(keys, pair.Key.Value) {
			p.report(pair.Key, source.OneOf(pair.Key.Value, keys), "%s has no key %q", what, pair.Key.Value)
		}
	}
	return true
}

// head reads what the template says of itself.
func (p *parser) head(n *source.Node) {
	if n == nil || n.Kind == source.Null || !p.mapping(n, "template", rules.TemplateKeys) {
		return
	}
	t := p.template
	t.Group, t.Icon = p.oneOf(n.Get("group"), "group", rules.TemplateGroups), p.oneOf(n.Get("icon"), "icon", rules.TemplateIcons)
	t.Title, t.Sentence = p.words(n.Get("title"), "title"), p.words(n.Get("sentence"), "sentence")
}

func (p *parser) oneOf(n *source.Node, what phrases.Word, values []string) string {
	if n == nil {
		return ""
	}
	if n.Kind != source.Scalar {
		p.report(n, nil, "%s must be a text, not %s", what, n.Kind)
		return ""
	}
	if !slices.Contains(values, n.Value) {
		p.report(n, source.OneOf(n.Value, values), "%s cannot be %q", what, n.Value)
	}
	return n.Value
}

// words reads a text, or one for each language.
func (p *parser) words(n *source.Node, what phrases.Word) Words {
	switch {
	case n == nil:
		return Words{}
	case n.Kind == source.Scalar:
		return Words{n.Value, n.Value}
	case n.Kind != source.Mapping:
		p.report(n, say("write { en: …, pt: … }"), "%s must be a text, not %s", what, n.Kind)
		return Words{}
	}
	var w Words
	for _, pair := range n.Pairs {
		text := &w.English
		switch pair.Key.Value {
		case "en":
		case "pt":
			text = &w.Portuguese
		default:
			p.report(pair.Key, say("write { en: …, pt: … }"), "%s has no key %q", what, pair.Key.Value)
			continue
		}
		if pair.Value.Kind != source.Scalar {
			p.report(pair.Value, nil, "%s must be a text, not %s", what, pair.Value.Kind)
		}
		*text = pair.Value.Value
	}
	return w
}

// blanks reads the list of blanks.
func (p *parser) blanks(n *source.Node) {
	p.keys = map[string]*source.Node{}
	if n == nil || n.Kind == source.Null {
		return
	}
	if n.Kind != source.List {
		p.report(n, say("put a dash in front of each item"), "%s must be a list, not %s", "blanks", n.Kind)
		return
	}
	if len(n.Items) > maxBlanks {
		p.report(n, say("leave to the editor what few people change"), "the template has %d blanks; at most %d are allowed", len(n.Items), maxBlanks)
		return
	}
	for _, item := range n.Items {
		p.blank(item)
	}
}

func (p *parser) blank(n *source.Node) {
	if !p.mapping(n, "a blank", rules.BlankKeys) {
		return
	}
	for _, key := range rules.BlankKeys {
		if n.Get(key) == nil {
			p.report(n, nil, "a blank needs %q", key)
			return
		}
	}
	name := n.Get("name")
	b := &Blank{Name: name.Value, Words: p.words(n.Get("words"), "words")}
	if name.Kind != source.Scalar || !blankName.MatchString(name.Value) {
		p.report(name, say("use small letters, digits and _"), "%q is not a blank's name", name.Value)
		return
	}
	if p.keys[b.Name] != nil {
		p.report(name, say("choose another name"), "there are two blanks %q", b.Name)
		return
	}
	p.keys[b.Name] = name
	if b.Words == (Words{}) {
		p.report(n.Get("words"), say("write the question that a person is asked"), "%s is empty", "words")
	}
	if b.Type = Type(p.oneOf(n.Get("type"), "type", rules.BlankTypes)); types[b.Type] == nil {
		return
	}
	given := []*source.Node{n.Get("default")}
	if given[0].Kind == source.List && b.Type.IsList() {
		given = given[0].Items
	}
	for _, item := range given {
		if item.Kind != source.Scalar {
			p.report(item, nil, "%s must be a text, not %s", "default", item.Kind)
			return
		}
		b.Default = append(b.Default, item.Value)
	}
	checked, wrong := b.check(b.Default)
	if wrong != nil {
		p.report(n.Get("default"), nil, "the default of the blank %q: %v", b.Name, wrong)
		return
	}
	b.Default = checked
	p.template.Blanks = append(p.template.Blanks, b)
}

// uses reports blanks that the rules name and the list does not have, those that stand where no
// value can be data, and those of the list that the rules do not name.
func (p *parser) uses() {
	used := map[string]bool{}
	f := &filler{catalog: p.template.catalog}
	f.value = func(u use) (*Blank, []string) {
		b := p.template.Blank(u.name)
		report := func(hint *phrases.Message, format string, args ...any) {
			p.problems = append(p.problems, u.node.AtOffset(u.offset, source.Error, say(format, args...), hint))
		}
		switch {
		case b == nil:
			report(cmp.Or(source.OneOf(u.name, p.template.names()), say("add it to the list blanks")), "there is no blank %q", u.name)
			return nil, nil
		case u.raw:
			report(say("put the text in double quotes"), "a blank cannot stand between backticks")
		case u.pattern:
			report(say("use contains, or says(…) for words"), "a blank cannot be a part of a pattern")
		}
		used[b.Name] = true
		return nil, nil // nothing is changed
	}
	f.root(p.template.file.Root)
	for _, b := range p.template.Blanks {
		if !used[b.Name] {
			p.report(p.keys[b.Name], say("write <<%s>> in the rules, or take the blank out", b.Name), "the rules do not use the blank %q", b.Name)
		}
	}
}
