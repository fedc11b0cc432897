// Package rules parses, checks and compiles YAML rules, and decides which of them apply to an
// event.
//
// It does no input or output and has no clock of its own: it reads what it needs through Facts.
package rules

import (
	"cmp"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Problem is something wrong at one place of a rule file.
type Problem = source.Problem

// Problems is everything found wrong with a rule set.
type Problems = source.Problems

// fileKeys are the keys of a rule file.
var fileKeys = []string{"vars", "calendars", "rules", "tests"}

// What a rule file with blanks can say of itself and of them. Package blueprint reads it.
var (
	fileTemplateKeys = []string{"template", "blanks"}

	TemplateKeys   = []string{"group", "icon", "title", "sentence"}
	TemplateGroups = []string{"after-hours", "sla", "routing", "cards", "surveys", "reports"} // as a gallery shows them
	TemplateIcons  = []string{"bell", "card", "chart", "chat", "clock", "menu", "moon", "route", "shield", "star"}
	BlankKeys      = []string{"name", "type", "default", "words"}
	BlankTypes     = []string{
		"text", "words", "number", "duration", "time", "phone", "phones", "calendar", "label", "sector", "person", "teammate", "channel", "board", "stage",
	}
)

// A File is one parsed rule file.
type File struct {
	Name     string
	Problems Problems // of its form; Compile reports them too
	Template bool     // it has blanks to fill in, and no rules before that

	source    *source.File
	vars      *source.Node
	calendars *source.Node
	rules     []*source.Node
	tests     []*source.Node
}

// IsTest reports whether the file holds tests only, by its name.
func (f *File) IsTest() bool {
	return strings.HasSuffix(strings.TrimSuffix(f.Name, path.Ext(f.Name)), "_test")
}

// RunsAll reports whether a test of the file runs with all rules of the workspace.
func (f *File) RunsAll() bool {
	return slices.ContainsFunc(f.tests, func(t *source.Node) bool { return isAll(t.Get("rules")) })
}

// isAll reports whether the rules of a test are all of the workspace.
func isAll(n *source.Node) bool { return n != nil && n.Kind == source.Scalar && n.Value == "all" }

// Clash reports whether files cannot be of one workspace: two of them have a rule of the same id,
// or calendars of the same name that differ.
func Clash(files []*File) bool {
	rules, calendars := map[string]*File{}, map[string]*source.Node{}
	for _, f := range files {
		for _, n := range f.rules {
			id := n.Get("id")
			if id == nil || id.Value == "" {
				continue
			}
			if first := rules[id.Value]; first != nil && first != f {
				return true
			}
			rules[id.Value] = f
		}
		if f.calendars == nil {
			continue
		}
		for _, p := range f.calendars.Pairs {
			if first := calendars[p.Key.Value]; first != nil && !reflect.DeepEqual(first.Any(), p.Value.Any()) {
				return true
			}
			calendars[p.Key.Value] = p.Value
		}
	}
	return false
}

// Parse reads the outline of a rule file. What is wrong with its form is in the File's Problems. A
// template has no rules, and that is wrong too: they would run with its blanks.
func Parse(name string, text []byte) *File {
	f := ParseTemplate(name, text)
	if !f.Template {
		return f
	}
	f.vars, f.calendars, f.rules, f.tests, f.Problems = nil, nil, nil, nil, nil
	for _, p := range f.source.Root.Pairs {
		if slices.Contains(fileTemplateKeys, p.Key.Value) {
			f.report(p.Key, say("fill it in with quando init --print --template %s, or import it in the console where a rule begins; then keep it elsewhere", path.Base(name)), "the file is a template, and does not run")
			break
		}
	}
	return f
}

// ParseTemplate reads the outline of a rule file that may be a template whose blanks are filled in.
func ParseTemplate(name string, text []byte) *File {
	f := &File{Name: name}
	f.source, f.Problems = source.Read(name, text)
	root := f.source.Root
	if root == nil || root.Kind == source.Null {
		return f
	}
	if root.Kind != source.Mapping {
		hint := say("a rule file is a mapping of: %s", strings.Join(fileKeys, ", "))
		if root.Kind == source.List {
			hint = say("write rules: above the list")
		}
		f.report(root, hint, "the file is %s", root.Kind)
		return f
	}
	loose := false // a rule stands outside of the list
	for _, p := range root.Pairs {
		switch p.Key.Value {
		case "vars":
			f.vars = f.mapping(p.Value, "vars")
		case "calendars":
			f.calendars = f.mapping(p.Value, "calendars")
		case "rules":
			f.rules = f.list(p.Value, "rules")
		case "tests":
			f.tests = f.list(p.Value, "tests")
		case "template", "blanks":
			f.Template = true
		default:
			_, hint := otherKey("a file", p.Key.Value)
			if slices.Contains(ruleKeyNames(), p.Key.Value) {
				if loose {
					continue // the first key of the rule is reported
				}
				loose, hint = true, say("a rule stands in a list: write rules: above it, and - in front of its first key")
			}
			f.report(p.Key, cmp.Or(hint, source.OneOf(p.Key.Value, fileKeys)), "unknown key %q", p.Key.Value)
		}
	}
	return f
}

func (f *File) report(n *source.Node, hint *phrases.Message, format string, args ...any) {
	f.Problems = append(f.Problems, n.At(source.Error, say(format, args...), hint))
}

func (f *File) mapping(n *source.Node, what string) *source.Node {
	switch n.Kind {
	case source.Mapping:
		return n
	case source.Null:
		return nil
	}
	f.report(n, nil, "%s must be a mapping, not %s", what, n.Kind)
	return nil
}

func (f *File) list(n *source.Node, what string) []*source.Node {
	switch n.Kind {
	case source.List:
		return n.Items
	case source.Null:
		return nil
	}
	f.report(n, say("put a dash in front of each item"), "%s must be a list, not %s", what, n.Kind)
	return nil
}

// endOfRule returns the first line behind a rule.
func (f *File) endOfRule(i int) int {
	if i+1 < len(f.rules) {
		return f.rules[i+1].Line
	}
	for _, p := range f.source.Root.Pairs {
		if p.Key.Line > f.rules[i].Line {
			return p.Key.Line
		}
	}
	return math.MaxInt
}

// Beside returns the file together with the calendars of other files, without their rules: so a
// rule that is not in a set compiles as if it were. The file's own calendars take precedence.
func (f *File) Beside(others []*File) []*File {
	own := make(map[string]bool)
	if f.calendars != nil {
		for _, p := range f.calendars.Pairs {
			own[p.Key.Value] = true
		}
	}
	files := []*File{f}
	for _, other := range others {
		if other.calendars == nil || other.Name == f.Name {
			continue
		}
		calendars := *other.calendars
		calendars.Pairs = nil
		for _, p := range other.calendars.Pairs {
			if !own[p.Key.Value] {
				calendars.Pairs = append(calendars.Pairs, p)
			}
		}
		files = append(files, &File{Name: other.Name, source: other.source, calendars: &calendars})
	}
	return files
}

// Format returns a rule file in its canonical form, with its comments. What the file means stays
// the same.
func Format(name string, text []byte) ([]byte, Problems) {
	return source.Format(name, text, source.Style{
		Order: func(path string) []string {
			switch path {
			case "":
				return slices.Concat(fileTemplateKeys, fileKeys)
			case "template":
				return TemplateKeys
			case "blanks[]":
				return BlankKeys
			case "rules[]":
				return ruleKeyNames()
			case "tests[]":
				return testKeys
			}
			return nil
		},
		Apart: func(path string) bool { return path == "" || path == "rules" || path == "tests" },
	})
}
