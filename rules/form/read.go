package form

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// ErrNotFound is what Read, Write and Remove return for a rule that the file does not hold.
var ErrNotFound = errors.New("the file holds no such rule")

// Read returns the rule with an id as a form. The text is that of a rule file, which may hold other
// rules, tests, calendars and constants besides. A file that cannot be read as YAML, or does not
// hold the rule, is an error; a rule that the language would refuse is not, as long as it is a
// mapping.
func Read(c *rules.Catalog, text []byte, rule string) (Form, error) {
	return Parse(text).Read(c, rule)
}

// A File is the text of a rule file, parsed once for several forms.
type File struct {
	text     []byte
	source   *source.File
	problems source.Problems
}

// Parse parses the text of a rule file.
func Parse(text []byte) *File {
	f := &File{text: text}
	f.source, f.problems = source.Read("rules", text)
	return f
}

// Text returns the text of the file.
func (f *File) Text() []byte { return f.text }

// Read is like the function.
func (f *File) Read(c *rules.Catalog, rule string) (Form, error) {
	n, err := f.find(rule)
	if err != nil {
		return Form{}, err
	}
	return newReader(c).rule(n), nil
}

// find returns a rule of the file.
func (f *File) find(rule string) (*source.Node, error) {
	file, problems := f.source, f.problems
	if file.Root == nil && problems.HasErrors() {
		return nil, unreadable(problems[0])
	}
	var found *source.Node
	items := ruleItems(file)
	for i, item := range items {
		id := item.Get("id")
		if id == nil || id.Kind != source.Scalar || id.Value != rule {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the file holds two rules with the id %q: give one of them another id first", rule)
		}
		found = item
		first, last := item.Line, endOfRule(file, items, i)
		for _, p := range problems {
			if p.Severity == source.Error && p.Line >= first && p.Line < last {
				return nil, unreadable(p)
			}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%q: %w", rule, ErrNotFound)
	}
	return found, nil
}

func unreadable(p source.Problem) error {
	if p.Hint != "" {
		p.Message += " (" + p.Hint + ")"
	}
	return fmt.Errorf("the file cannot be read as a form: line %d: %s", p.Line, p.Message)
}

func ruleItems(f *source.File) []*source.Node {
	if n := f.Root.Get("rules"); n != nil {
		return n.Items
	}
	return nil
}

// endOfRule returns the first line behind a rule.
func endOfRule(f *source.File, items []*source.Node, i int) int {
	end := math.MaxInt
	for _, item := range items[i+1:] {
		if item.Line > items[i].Line {
			end = min(end, item.Line)
		}
	}
	for _, p := range f.Root.Pairs {
		if p.Key.Line > items[i].Line {
			end = min(end, p.Key.Line)
		}
	}
	return end
}

// A reader turns nodes into fields.
type reader struct {
	catalog *rules.Catalog
	yaml    func(*source.Node) string // writes what has no field
	sorted  bool                      // arguments come by their names, not in the order of the file
}

func newReader(c *rules.Catalog) reader {
	return reader{catalog: c, yaml: (*source.Node).Text}
}

func (r reader) rule(n *source.Node) Form {
	f := Form{Do: []Step{}}
	for _, p := range n.Pairs {
		if r.key(&f, p.Key.Value, p.Value) {
			continue
		}
		if f.YAML == nil {
			f.YAML = make(map[string]string)
		}
		f.YAML[p.Key.Value] = r.yaml(p.Value)
	}
	return f
}

// key reads one key of a rule, and reports whether its field can hold it. A key with nothing in it
// is not the same as none.
func (r reader) key(f *Form, key string, n *source.Node) (ok bool) {
	forPeople := key == "name" || key == "description" || key == "tags" // where nothing is as good as none
	if text := f.text(key); text != nil {
		*text, ok = scalar(n)
		return ok && (*text != "" || forPeople)
	}
	if list := f.list(key); list != nil {
		*list, ok = texts(n)
		return ok && (len(*list) > 0 || forPeople)
	}
	if names, values := f.record(key, true); names != nil {
		if ok = record(n, names, values); !ok {
			f.clear(key)
		}
		return ok
	}
	switch key {
	case "when":
		f.When, ok = r.when(n)
	case "cancel_on":
		f.CancelOn, ok = matches(n)
	case "do":
		f.Do, ok = r.steps(n)
	case "on_error":
		f.OnError, ok = r.steps(n)
		ok = ok && len(f.OnError) > 0
	}
	return ok
}

func scalar(n *source.Node) (string, bool) {
	if n.Kind != source.Scalar {
		return "", false
	}
	return n.Value, true
}

// texts reads one text, or a list of them.
func texts(n *source.Node) ([]string, bool) {
	switch n.Kind {
	case source.Scalar:
		return []string{n.Value}, true
	case source.Null, source.Mapping:
		return nil, false
	}
	var out []string
	for _, item := range n.Items {
		text, ok := scalar(item)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}

// record reads a mapping of a few names to texts.
func record(n *source.Node, names []string, values []*string) bool {
	if n.Kind != source.Mapping || n.Broken {
		return false
	}
	for _, p := range n.Pairs {
		i := slices.Index(names, p.Key.Value)
		text, ok := scalar(p.Value)
		if i < 0 || !ok || text == "" {
			return false
		}
		*values[i] = text
	}
	return true
}

func (r reader) when(n *source.Node) (When, bool) {
	if n.Kind != source.Mapping {
		events, ok := texts(n)
		return When{Events: events}, ok && len(events) > 0
	}
	s := &Schedule{}
	for _, p := range n.Pairs {
		ok := false
		if text := s.text(p.Key.Value); text != nil {
			*text, ok = scalar(p.Value)
			ok = ok && *text != ""
		} else if list := s.list(p.Key.Value); list != nil {
			*list, ok = texts(p.Value)
			ok = ok && len(*list) > 0
		} else if p.Key.Value == "where" && p.Value.Kind == source.Mapping {
			ok = true // below: what it means depends on each
		}
		if !ok {
			return When{}, false
		}
	}
	if where := n.Get("where"); where != nil {
		s.Where = r.pairs(where, filters(s.Each))
	}
	return When{Schedule: s}, !n.Broken
}

// filters returns the arguments of a schedule's where.
func filters(each string) []rules.Arg {
	for _, e := range rules.EachItems() {
		if e.Name == each {
			return e.Filters
		}
	}
	return nil
}

// matches reads what cancels a run: events, or mappings of events and a condition, one or several.
func matches(n *source.Node) ([]Match, bool) {
	items := []*source.Node{n}
	if n.Kind == source.List {
		items = n.Items
	}
	var out []Match
	for _, item := range items {
		var m Match
		if item.Kind == source.Scalar {
			m.Events = []string{item.Value}
			out = append(out, m)
			continue
		}
		if item.Kind != source.Mapping || item.Broken {
			return nil, false
		}
		for _, p := range item.Pairs {
			ok := false
			switch p.Key.Value {
			case "event":
				m.Events, ok = texts(p.Value)
				ok = ok && len(m.Events) > 0
			case "if":
				m.If, ok = scalar(p.Value)
				ok = ok && m.If != ""
			}
			if !ok {
				return nil, false
			}
		}
		out = append(out, m)
	}
	return out, len(out) > 0
}
