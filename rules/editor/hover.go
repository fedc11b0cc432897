package editor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Description says what a word of a file means, as Markdown.
type Description struct {
	Markdown string
	From, To int // the columns of the word, from 1; the last is behind it
}

var (
	wordBehind = regexp.MustCompile(`^[\p{L}\p{N}_.*-]*`)
	nameBehind = regexp.MustCompile(`^\w*`)
	colon      = regexp.MustCompile(`^["']?\s*:(\s|$)`)
)

// Describe says what stands at a line and a column, both from 1. It says nothing of what it does
// not know.
func (c *Completer) Describe(text string, line, column int, l phrases.Language) *Description {
	all := strings.Split(text, "\n")
	if line < 1 || line > len(all) {
		return nil
	}
	current := []rune(strings.TrimSuffix(all[line-1], "\r"))
	at := min(max(column-1, 0), len(current))
	before, behind := string(current[:at]), string(current[at:])
	rest := nameBehind.FindString(behind)
	p := placeAt(text, line, at+len([]rune(rest))+1)
	if p.expression(c) {
		word := nameBefore.FindString(before + rest)
		if word == "" || strings.Count(before, `"`)%2 == 1 && p.quotedName() {
			return nil
		}
		return described(c.inExpressionDoc(word, l), at+len([]rune(rest))-len([]rune(word)), at+len([]rune(rest)))
	}
	rest = wordBehind.FindString(behind)
	word := wordBefore().FindString(before) + rest
	end := at + len([]rune(rest))
	if word == "" {
		return nil
	}
	p = placeAt(text, line, end+1)
	isKey := colon.MatchString(string(current[end:]))
	return described(c.wordDoc(p, word, isKey, l), end-len([]rune(word)), end)
}

// quotedName reports whether the cursor stands in a text of an expression.
func (p *place) quotedName() bool {
	return callBefore.MatchString(p.before) || compareBefore.MatchString(p.before)
}

func described(markdown string, from, to int) *Description {
	if markdown == "" {
		return nil
	}
	return &Description{markdown, from + 1, to + 1}
}

// wordDoc describes a key, a verb or a value.
func (c *Completer) wordDoc(p place, word string, isKey bool, l phrases.Language) string {
	if p.key || isKey {
		if i := slices.IndexFunc(c.catalogue.Verbs, func(v form.Verb) bool { return v.Name == word }); i >= 0 && (lastOf(p.path, 0) == "[]") {
			return verbDoc(c.catalogue.Verbs[i], l)
		}
		for _, one := range c.keys(p.path) {
			if one.Label == word && one.Info != "" {
				return fmt.Sprintf("**%s**: %s", word, one.Info) + c.keyDefault(p.path, word)
			}
		}
	}
	if e := vocabulary.EventOf(word); e != nil {
		return fmt.Sprintf("**%s**: %s\n\n%s `%s`", word, e.When[l], phrases.Word("Expressions see:").In(l), strings.Join(e.Facts, "`, `"))
	}
	for _, one := range c.values(p.path) {
		if one.Label == word && one.Info != "" {
			return fmt.Sprintf("**%s**: %s", word, one.Info)
		}
	}
	return ""
}

// keyDefault says what counts where a key of a rule is not written.
func (c *Completer) keyDefault(path []string, word string) string {
	if len(path) != 2 || path[0] != "rules" {
		return ""
	}
	for _, k := range c.catalogue.Keys {
		if k.Name == word && k.Default != "" {
			return fmt.Sprintf("\n\nDefault: %s", k.Default)
		}
	}
	return ""
}

// verbDoc describes a verb with its arguments and an example.
func verbDoc(v form.Verb, l phrases.Language) string {
	var b strings.Builder
	name := phrases.New(phrases.Code("verb." + v.Name)).In(l)
	fmt.Fprintf(&b, "**%s**", v.Name)
	if name != "" {
		fmt.Fprintf(&b, " (%s)", name)
	}
	fmt.Fprintf(&b, ": %s\n", v.Summary)
	for _, a := range v.Args {
		need := ""
		if a.Required {
			need = ", " + phrases.Word("must be given").In(l)
		}
		fmt.Fprintf(&b, "\n- `%s` (%s%s): %s", a.Name, a.Kind, need, a.Summary)
	}
	if v.Example != "" {
		fmt.Fprintf(&b, "\n\n```yaml\n- %s: %s\n```", v.Name, v.Example)
	}
	return b.String()
}

// inExpressionDoc describes a name with its parts, or a function.
func (c *Completer) inExpressionDoc(word string, l phrases.Language) string {
	if f := findFact(slices.Concat(c.facts, c.catalogue.Facts), strings.Split(word, ".")); f != nil {
		text := fmt.Sprintf("**%s** (%s): %s", word, phrases.Word(f.Type).In(l), f.Summary)
		if len(f.Values) > 0 {
			text += "\n\n`" + strings.Join(f.Values, "`, `") + "`"
		}
		if len(f.Fields) > 0 && !strings.Contains(word, ".") {
			var names []string
			for _, field := range f.Fields {
				names = append(names, field.Name)
			}
			text += "\n\n`" + strings.Join(names, "`, `") + "`"
		}
		return text
	}
	for _, f := range c.catalogue.Functions {
		if f.Name == word {
			return fmt.Sprintf("```\n%s\n```\n%s", f.Signature, f.Summary)
		}
	}
	return ""
}
