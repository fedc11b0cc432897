package editor

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/form"
)

var (
	callBefore    = regexp.MustCompile(`(\w+)\(\s*\\?["']([^"'()]*)$`)
	compareBefore = regexp.MustCompile(`([\w.]+)\s*(?:==|!=|in)\s*\[?\s*\\?["']([^"']*)$`)
	nameBefore    = regexp.MustCompile(`[\w.]*$`)
)

// namedBy are the fields of facts that hold the name of something.
var namedBy = map[string]string{
	"sector_name": "sector", "assignee_name": "person", "channel_name": "channel", "board_name": "board", "stage_name": "stage", "from_stage_name": "stage",
}

// inExpression returns what could be written in an expression: facts, their parts, functions, and
// names in quotes.
func (c *Completer) inExpression(before string) Completions {
	if m := callBefore.FindStringSubmatch(before); m != nil {
		kind := "calendar"
		if strings.HasSuffix(m[1], "has_label") {
			kind = "label"
		}
		return quoted(c.named(kind), m[2])
	}
	if m := compareBefore.FindStringSubmatch(before); m != nil {
		fact := findFact(c.catalogue.Facts, strings.Split(m[1], "."))
		if fact == nil {
			return Completions{Options: []Completion{}}
		}
		if kind := namedBy[fact.Name]; kind != "" {
			return quoted(c.named(kind), m[2])
		}
		return quoted(fact.Values, m[2])
	}
	word := nameBefore.FindString(before)
	known := slices.Concat(c.facts, c.catalogue.Facts)
	facts, inside, last := known, false, word
	if dot := strings.LastIndex(word, "."); dot >= 0 {
		inside, last = true, word[dot+1:]
		facts = nil
		if fact := findFact(known, strings.Split(word[:dot], ".")); fact != nil {
			facts = fact.Fields
		}
	}
	var list []Completion
	for _, f := range facts {
		list = append(list, Completion{Label: f.Name, Detail: f.Type, Info: f.Summary, Type: "variable"})
	}
	if !inside {
		for _, f := range c.catalogue.Functions {
			list = append(list, Completion{Label: f.Name, Apply: f.Name + "(", Detail: f.Signature, Info: f.Summary, Type: "function"})
		}
	}
	return Completions{len([]rune(last)), fitting(list, last)}
}

// quoted are names that stand in quotes already.
func quoted(names []string, word string) Completions {
	var list []Completion
	for _, name := range names {
		list = append(list, Completion{Label: name, Type: "constant"})
	}
	return Completions{len([]rune(word)), fitting(list, word)}
}

// findFact finds a fact by its path.
func findFact(facts []form.Fact, path []string) *form.Fact {
	for i := range facts {
		if facts[i].Name == path[0] {
			if len(path) == 1 {
				return &facts[i]
			}
			return findFact(facts[i].Fields, path[1:])
		}
	}
	return nil
}
