package editor

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

// A Completion is something that could be written at a place.
type Completion struct {
	Label  string `json:"label"`
	Apply  string `json:"apply,omitempty"` // the text to insert, if it differs
	Detail string `json:"detail,omitempty"`
	Info   string `json:"info,omitempty"`
	Type   string `json:"type,omitempty"` // as CodeMirror pictures it
}

// Completions are suggestions to replace the last characters before the cursor.
type Completions struct {
	Length  int          `json:"length"`
	Options []Completion `json:"options"`
}

// A Completer suggests what to write.
type Completer struct {
	catalogue form.Catalogue
	named     func(kind string) []string
	facts     []form.Fact // of the file: its vars, and what steps have given names to
}

// Completer returns what there is to write.
func (n *Names) Completer() *Completer { return &Completer{n.Catalogue, n.Of, n.facts()} }

var wordBefore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}\p{N}_.*-]*$`) })

// At returns suggestions for a line and a column, both from 1. The text may be incomplete.
func (c *Completer) At(text string, line, column int) Completions {
	p := placeAt(text, line, column)
	var found []Completion
	switch {
	case p.expression(c):
		return c.inExpression(p.before)
	case p.key:
		if found = c.keys(p.path); len(found) == 0 && lastOf(p.path, 0) == "[]" {
			found = c.values(p.path) // an item need not be a mapping
		}
	default:
		found = c.values(p.path)
	}
	word := wordBefore().FindString(p.word)
	return Completions{len([]rune(word)), fitting(found, word)}
}

// InExpression returns suggestions for the end of an expression.
func (c *Completer) InExpression(before string) Completions { return c.inExpression(before) }

// fitting keeps the suggestions that begin with the word.
func fitting(list []Completion, word string) []Completion {
	out := []Completion{}
	for _, one := range list {
		if strings.HasPrefix(strings.ToLower(one.Label), strings.ToLower(word)) {
			out = append(out, one)
		}
	}
	return out
}

// keys suggests keys of the mapping at a path.
func (c *Completer) keys(path []string) (list []Completion) {
	add := func(name, info, kind string) {
		list = append(list, Completion{Label: name, Apply: name + ": ", Info: cmp.Or(info, keyDocs[name]), Type: kind})
	}
	last, before := lastOf(path, 0), lastOf(path, 1)
	switch {
	case len(path) == 0:
		for _, name := range []string{"calendars", "rules", "tests", "vars"} {
			add(name, "", "keyword")
		}
	case path[0] == "tests":
		for _, name := range rules.TestKeys(path[1:]) {
			add(name, "", "keyword")
		}
		if last == "[]" && (before == "expect" || before == "expect_would") {
			for _, v := range c.catalogue.Verbs {
				add(v.Name, v.Summary, "function")
			}
		} else if len(list) == 0 {
			for _, a := range c.arguments(path) {
				add(a.Name, a.Summary, "property")
			}
		}
	case len(path) == 2 && path[0] == "rules":
		for _, k := range c.catalogue.Keys {
			add(k.Name, k.Summary, "keyword")
		}
	case last == "[]" && before == "choose":
		add("if", "", "keyword")
		add("else", "", "keyword")
	case last == "[]" && isStepList(before):
		for _, v := range c.catalogue.Verbs {
			add(v.Name, v.Summary, "function")
		}
		for _, name := range []string{"id", "if", "retry", "on_error", "even_if_muted", "enabled"} {
			add(name, "", "keyword")
		}
	case last == "when":
		for _, name := range []string{"every", "cron", "at", "on", "timezone", "each", "where"} {
			add(name, "", "keyword")
		}
	case last == "limit":
		add("times", "", "keyword")
		add("per", "", "keyword")
		add("by", "", "keyword")
	case last == "gather":
		add("quiet", "", "keyword")
		add("at_most", "", "keyword")
	case last == "late":
		add("skip_after", "", "keyword")
		add("run", "", "keyword")
	default:
		for _, a := range c.arguments(path) {
			add(a.Name, a.Summary, "property")
		}
	}
	return list
}

// values suggests values of the key at the end of a path.
func (c *Completer) values(path []string) (list []Completion) {
	path = withoutItems(path)
	add := func(kind string, names ...string) {
		for _, name := range names {
			list = append(list, Completion{Label: name, Apply: plainOrQuoted(name), Type: kind})
		}
	}
	last := lastOf(path, 0)
	if len(path) == 3 && path[0] == "tests" && last == "rules" {
		add("constant", append(c.named("rule"), "all")...)
		return list
	}
	if len(path) == 4 && path[0] == "tests" && path[2] == "faults" {
		add("enum", rules.TestFaults(last)...)
		return list
	}
	if len(path) == 3 && path[0] == "rules" {
		for _, k := range c.catalogue.Keys {
			if k.Name == last {
				add("enum", k.Values...)
			}
		}
	}
	if last == "when" || last == "cancel_on" || last == "event" {
		for _, e := range c.catalogue.Events {
			list = append(list, Completion{Label: e.Name, Info: e.Summary, Type: "enum"})
		}
	}
	if a := c.argumentAt(path); a != nil {
		switch {
		case a.Kind == "flag":
			add("constant", "true", "false")
		case a.Kind == "span":
			for _, name := range c.named("calendar") {
				add("constant", "15m of "+name, "2h of "+name)
			}
		case a.Refers != "":
			add("constant", c.named(a.Refers)...)
		}
		add("enum", a.Values...)
	}
	return list
}

// arguments suggests arguments of the mapping at a path: of a verb, or of one of its arguments.
func (c *Completer) arguments(path []string) []form.Argument {
	for i := len(path) - 1; i > 0; i-- {
		if path[i-1] != "[]" {
			continue
		}
		for _, v := range c.catalogue.Verbs {
			if v.Name != path[i] {
				continue
			}
			args := v.Args
			for _, name := range path[i+1:] {
				k := slices.IndexFunc(args, func(a form.Argument) bool { return a.Name == name })
				if k < 0 {
					return nil
				}
				args = args[k].Fields
			}
			return args
		}
	}
	return nil
}

// argumentAt is the argument at the end of a path; a verb itself stands for its main one.
func (c *Completer) argumentAt(path []string) *form.Argument {
	name := lastOf(path, 0)
	for _, v := range c.catalogue.Verbs {
		if v.Name == name && lastOf(path, 1) == "[]" {
			path, name = append(slices.Clone(path), v.Main), v.Main
		}
	}
	if len(path) == 0 {
		return nil
	}
	for _, a := range c.arguments(path[:len(path)-1]) {
		if a.Name == name {
			return &a
		}
	}
	return nil
}

func isStepList(key string) bool {
	return key == "do" || key == "on_error" || key == "else" || key == "steps"
}

// lastOf returns a part of a path, counted from its end.
func lastOf(path []string, n int) string {
	if len(path) <= n {
		return ""
	}
	return path[len(path)-1-n]
}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\p{L}[\p{L}\p{N}_ .*-]*$`) })

// plainOrQuoted writes a name so that YAML takes it for a text.
func plainOrQuoted(name string) string {
	if plainName().MatchString(name) && !slices.Contains([]string{"yes", "no", "on", "off", "null", "y", "n"}, strings.ToLower(name)) && !strings.HasSuffix(name, " ") {
		return name
	}
	return strconv.Quote(name)
}
