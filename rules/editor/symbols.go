package editor

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/internal/template"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A SymbolKind says what a name is of.
type SymbolKind string

// The kinds of names that a rule file defines.
const (
	CalendarSymbol SymbolKind = "calendar"
	VarSymbol      SymbolKind = "var"
	ResultSymbol   SymbolKind = "result" // what a step has given a name to
	RuleSymbol     SymbolKind = "rule"
	TestSymbol     SymbolKind = "test"
)

// A Symbol is one place where a name is defined or used.
type Symbol struct {
	Kind       SymbolKind
	Name       string
	Rule       int // the rule of a result, counted from 0
	Definition bool
	Line       int    // from 1
	Column     int    // from 1, in characters
	Length     int    // in characters
	Value      string // of a var, as it is written in one line
}

// Same reports whether two symbols of one workspace have the same name. Constants and results count
// only in their own file: the caller compares files.
func (s Symbol) Same(o Symbol) bool {
	return s.Kind == o.Kind && s.Name == o.Name && (s.Kind != ResultSymbol || s.Rule == o.Rule)
}

// Local reports whether other files cannot use the name.
func (s Symbol) Local() bool {
	return s.Kind == VarSymbol || s.Kind == ResultSymbol || s.Kind == TestSymbol
}

var (
	ruleName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	exprName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	quotedName = regexp.MustCompile(`^[^"'\\{}\n]{1,64}$`)
)

// CheckName says why a symbol cannot have a name; nil where it can.
func (s Symbol) CheckName(name string) *phrases.Message {
	switch {
	case s.Kind == RuleSymbol && !ruleName.MatchString(name):
		return phrases.Sprintf("the id of a rule has small letters, digits and dashes, at most 64")
	case (s.Kind == VarSymbol || s.Kind == ResultSymbol) && !exprName.MatchString(name):
		return phrases.Sprintf("%q is not a name that expressions can use", name)
	case (s.Kind == CalendarSymbol || s.Kind == TestSymbol) && (!quotedName.MatchString(name) || plainOrQuoted(name) != name):
		return phrases.Sprintf("%q cannot be written without quotes: use letters, digits and dashes", name)
	}
	return nil
}

// Symbols returns every place of a rule file where a name is defined or used, in the order of the
// text. A text that is no YAML has none, and ok is false.
func (c *Completer) Symbols(name, text string) (list []Symbol, ok bool) {
	f, _ := source.Read(name, []byte(text))
	if f.Root == nil {
		return nil, strings.TrimSpace(text) == ""
	}
	w := &symbolWalk{completer: c}
	for _, p := range f.Root.Pairs {
		switch p.Key.Value {
		case "vars":
			for _, v := range p.Value.Pairs {
				w.add(v.Key, Symbol{Kind: VarSymbol, Definition: true, Value: v.Value.Flow()})
			}
		case "calendars":
			for _, v := range p.Value.Pairs {
				w.add(v.Key, Symbol{Kind: CalendarSymbol, Definition: true})
			}
		case "rules":
			for i, rule := range p.Value.Items {
				w.rule = i
				w.add(rule.Get("id"), Symbol{Kind: RuleSymbol, Definition: true})
				w.walk(rule, []string{"rules", "[]"})
			}
		case "tests":
			for _, test := range p.Value.Items {
				w.test(test)
			}
		}
	}
	return w.found(), true
}

// A symbolWalk goes through a rule file.
type symbolWalk struct {
	completer *Completer
	rule      int
	list      []Symbol
}

// found returns the symbols in order, each once, without what only looks like a result.
func (w *symbolWalk) found() []Symbol {
	slices.SortStableFunc(w.list, func(a, b Symbol) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	list := slices.CompactFunc(w.list, func(a, b Symbol) bool { return a.Line == b.Line && a.Column == b.Column })
	type result struct {
		rule int
		name string
	}
	defined := make(map[result]bool)
	for _, s := range list {
		if s.Kind == ResultSymbol && s.Definition {
			defined[result{s.Rule, s.Name}] = true
		}
	}
	return slices.DeleteFunc(list, func(s Symbol) bool { return s.Kind == ResultSymbol && !defined[result{s.Rule, s.Name}] })
}

// add notes the symbol that a scalar is.
func (w *symbolWalk) add(n *source.Node, s Symbol) {
	if n != nil && n.Kind == source.Scalar && n.Value != "" {
		w.addAt(n, 0, n.Value, s)
	}
}

// addAt notes a symbol at an offset inside a scalar.
func (w *symbolWalk) addAt(n *source.Node, offset int, name string, s Symbol) {
	s.Name, s.Rule, s.Length = name, w.rule, utf8.RuneCountInString(name)
	s.Line, s.Column = n.Position(offset)
	w.list = append(w.list, s)
}

func (w *symbolWalk) test(n *source.Node) {
	w.add(n.Get("name"), Symbol{Kind: TestSymbol, Definition: true})
	list := n.Get("rules")
	if list == nil || list.Kind == source.Scalar && list.Value == "all" {
		return
	}
	w.add(list, Symbol{Kind: RuleSymbol})
	for _, item := range list.Items {
		w.add(item, Symbol{Kind: RuleSymbol})
	}
}

func (w *symbolWalk) walk(n *source.Node, path []string) {
	switch n.Kind {
	case source.List:
		for _, item := range n.Items {
			w.walk(item, append(slices.Clone(path), "[]"))
		}
	case source.Mapping:
		step := lastOf(path, 0) == "[]" && isStepList(lastOf(path, 1))
		for _, p := range n.Pairs {
			switch {
			case step && p.Key.Value == "id", lastOf(path, 0) == "for_each" && p.Key.Value == "as":
				w.add(p.Value, Symbol{Kind: ResultSymbol, Definition: true})
				continue
			case step && p.Key.Value == "set":
				for _, v := range p.Value.Pairs {
					w.add(v.Key, Symbol{Kind: ResultSymbol, Definition: true})
				}
			}
			w.walk(p.Value, append(slices.Clone(path), p.Key.Value))
		}
	case source.Scalar:
		w.scalar(n, path)
	}
}

// scalar looks for names in an expression, in those of a text, and behind "of" in a span.
func (w *symbolWalk) scalar(n *source.Node, path []string) {
	if w.completer.holdsExpression(path) {
		w.expression(n, 0, n.Value)
		return
	}
	if strings.Contains(n.Value, "{{") {
		segments, _ := template.Split(n.Value)
		for _, s := range segments {
			if s.Expression {
				w.expression(n, s.Offset, s.Text)
			}
		}
		return
	}
	a := w.completer.argumentAt(withoutItems(path))
	switch {
	case a == nil || a.Refers != "calendar":
	case a.Kind == "span":
		if at := strings.Index(n.Value, " of "); at >= 0 {
			w.addAt(n, at+len(" of "), n.Value[at+len(" of "):], Symbol{Kind: CalendarSymbol})
		}
	default:
		w.add(n, Symbol{Kind: CalendarSymbol})
	}
}

// exprToken finds texts, names with their parts, and everything else a character at a time.
var exprToken = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|[A-Za-z_][A-Za-z0-9_]*(?:\\??\\.[A-Za-z_][A-Za-z0-9_]*)*|[0-9.]+|\\S")

// expression looks for names in an expression that stands at an offset inside a scalar.
func (w *symbolWalk) expression(n *source.Node, offset int, text string) {
	tokens := exprToken.FindAllStringIndex(text, -1)
	for i, t := range tokens {
		word := text[t[0]:t[1]]
		if c := word[0]; c == '"' || c == '\'' || c == '`' || !isNameStart(c) {
			continue
		}
		next := func(k int) string {
			if i+k < len(tokens) {
				return text[tokens[i+k][0]:tokens[i+k][1]]
			}
			return ""
		}
		if i > 0 && (text[tokens[i-1][0]:t[0]] == "." || text[tokens[i-1][0]:t[0]] == "?.") {
			continue // a part of something that is no name
		}
		root, rest, deep := strings.Cut(word, ".")
		root = strings.TrimSuffix(root, "?")
		switch {
		case next(1) == "(" && !deep:
			if name := next(2); calendarFunctions()[word] && len(name) > 2 && (name[0] == '"' || name[0] == '\'') {
				w.addAt(n, offset+tokens[i+2][0]+1, name[1:len(name)-1], Symbol{Kind: CalendarSymbol})
			}
		case deep && (root == "vars" || root == "steps"):
			kind := map[string]SymbolKind{"vars": VarSymbol, "steps": ResultSymbol}[root]
			name, _, _ := strings.Cut(rest, ".")
			w.addAt(n, offset+t[1]-len(rest), strings.TrimSuffix(name, "?"), Symbol{Kind: kind})
		default:
			w.addAt(n, offset+t[0], root, Symbol{Kind: ResultSymbol})
		}
	}
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// calendarFunctions are the functions whose first argument names a calendar.
var calendarFunctions = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, f := range rules.Functions() {
		names[f.Name] = len(f.Args) > 0 && f.Args[0] == "calendar"
	}
	return names
})
