package sentence_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

var update = flag.Bool("update", false, "rewrite docs/sentences.md")

const sentencesDoc = top + "docs/sentences.md"

// TestSentencesDoc makes the list of sentences from the catalogue, so that it cannot drift.
func TestSentencesDoc(t *testing.T) {
	t.Parallel()
	got := sentencesDocument()
	if *update {
		if err := os.WriteFile(sentencesDoc, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(sentencesDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what the catalogue makes of it: run make generate", sentencesDoc)
	}
}

const introduction = `# Sentences

What a rule asks and writes, as the console says it to people who never saw an expression: in English, in Brazilian Portuguese, and in the language of the rules. Words in *italics* are chips: what can be chosen. This page is made from
the catalogue (` + "`rules/form/sentence`" + `, with its words in ` + "`rules/phrases`" + `), which is made from the tables of the checker; ` + "`make generate`" + ` writes it. A condition that no sentence says stays an expression, by hand.

Conditions stand in groups: all of them, any of them, none of them. In a text, values stand between ` + "`{{ }}`" + `.
`

// A table is rows of a document, with what they begin with.
type table struct{ strings.Builder }

func (b *table) section(title, about string) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if about != "" {
		b.WriteString(about + "\n\n")
	}
}

func (b *table) head(columns ...string) {
	b.row(columns...)
	b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
}

func (b *table) row(columns ...string) {
	for i, c := range columns {
		columns[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	b.WriteString("| " + strings.Join(columns, " | ") + " |\n")
}

// both returns a text of the catalogue in both languages, with its blanks as chips.
func both(code string) (string, string) {
	in := func(l phrases.Language) string {
		return blank.ReplaceAllString(phrases.Say(l, phrases.Code(code)), "*$1*")
	}
	return in(phrases.English), in(phrases.Portuguese)
}

func shown(pieces []sentence.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Blank == "" {
			b.WriteString(p.Words)
		} else {
			b.WriteString("*" + p.Words + "*")
		}
	}
	return b.String()
}

func sentencesDocument() string {
	b := &table{}
	b.WriteString(introduction)
	offers(b)

	b.section("What can be asked of any value", "*x* is a fact, a variable, a result of a step, or what is made of them.")
	b.head("English", "Português", "expression")
	for _, f := range sentence.Sentences() {
		if slices.ContainsFunc(rules.Functions(), func(own rules.Function) bool { return own.Name == f.Key }) {
			continue // among the questions above
		}
		for _, form := range []string{"", ".time"} {
			if !phrases.Knows(phrases.Code("say." + f.Key + form)) {
				continue
			}
			english, portuguese := both("say." + f.Key + form)
			b.row(english, portuguese, "`"+plainBlanks(f.Expression)+"`")
			english, portuguese = both("say." + f.Key + form + ".not")
			b.row(english, portuguese, "`"+plainBlanks(f.Contrary)+"`")
		}
	}

	b.section("Values that are made of others", "")
	b.head("English", "Português", "expression")
	for _, f := range sentence.Values() {
		english, portuguese := both("term." + f.Key)
		b.row(english, portuguese, "`"+plainBlanks(f.Expression)+"`")
	}

	b.section("Values to choose", "In a text they are chips, without the article; in a condition they are what is asked of. Those for programs, which people do not call things by, are left out here.")
	b.head("English", "Português", "expression")
	portuguese := sentence.Scope{}.Inserts(phrases.Portuguese)
	for i, insert := range (sentence.Scope{}).Inserts(phrases.English) {
		if !insert.ID {
			b.row(insert.Words, portuguese[i].Words, "`"+sentence.PrintValue(placedTerm(insert.Term))+"`")
		}
	}

	b.section("Facts", "")
	b.head("English", "Português", "fact")
	for _, f := range vocabulary.Facts() {
		english, portuguese := both("fact." + f.Name)
		b.row(english, portuguese, "`"+f.Name+"`")
		for _, field := range f.Fields {
			english, portuguese := both("fact." + f.Name + "." + field.Name)
			b.row(english, portuguese, "`"+f.Name+"."+field.Name+"`")
		}
	}
	results(b)
	fixed(b)
	return b.String()
}

func plainBlanks(expression string) string { return blank.ReplaceAllString(expression, "$1") }

// offers lists the sentences as they can be chosen, by what they are about.
func offers(b *table) {
	group := ""
	for _, o := range (sentence.Scope{}).Offers(phrases.English) {
		if o.Group != group {
			group = o.Group
			title := "The time"
			if code := "fact." + group; phrases.Knows(phrases.Code(code)) {
				title, _ = both(code)
				title = strings.ToUpper(title[:1]) + title[1:]
			}
			b.section(title, "")
			b.head("English", "Português", "expression")
		}
		said := shown(sentence.Scope{}.Pieces(phrases.Portuguese, o.Condition))
		b.row(shown(o.Pieces), said, "`"+withPlaceholders(o.Condition)+"`")
	}
}

// withPlaceholders prints a condition whose blanks are not filled.
func withPlaceholders(c sentence.Condition) string {
	c.Blanks = placed(c.Blanks)
	return sentence.Print(c)
}

func placed(blanks map[string]sentence.Term) map[string]sentence.Term {
	out := map[string]sentence.Term{}
	for name, t := range blanks {
		out[name] = placedTerm(t)
	}
	return out
}

func placedTerm(t sentence.Term) sentence.Term {
	switch {
	case t.Kind == "":
		t = sentence.Term{Kind: sentence.Name, Text: "…"}
	case t.Condition != nil:
		c := *t.Condition
		c.Blanks = placed(c.Blanks)
		t.Condition = &c
	default:
		t.Blanks = placed(t.Blanks)
	}
	return t
}

// results lists the fields of what steps give that are no facts.
func results(b *table) {
	b.section("Results of steps", "With the name of the step behind it, such as “the number found (waiting)”.")
	b.head("English", "Português", "field", "of")
	for _, s := range builtin.Catalog().Schemas() {
		result := s.Result
		if result != nil && result.Elem() != nil {
			result = result.Elem()
		}
		if result == nil || slices.ContainsFunc(rules.FactTypes(), func(f rules.Field) bool { return f.Type == result }) {
			continue
		}
		for _, f := range result.Fields() {
			english, portuguese := both("result." + f.Name)
			b.row(english, portuguese, "`"+f.Name+"`", "`"+s.Verb+"`")
		}
	}
}

// fixed lists the values of fixed sets, the events, the days, and the formats of times.
func fixed(b *table) {
	b.section("Values of fixed sets", "")
	b.head("English", "Português", "value", "of")
	for _, f := range vocabulary.Facts() {
		for _, field := range f.Fields {
			for _, v := range field.Values {
				code := "fixed." + field.Name + "." + v
				if field.Name == "type" {
					code = "event." + v
				}
				english, portuguese := both(code)
				b.row(english, portuguese, "`"+v+"`", "`"+f.Name+"."+field.Name+"`")
			}
		}
	}
	for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
		english, portuguese := both("fixed.weekday." + day)
		b.row(english, portuguese, "`"+day+"`", "the weekday of a time")
	}
	for _, unit := range []string{"s", "m", "h", "d", "w"} {
		english, portuguese := both("unit." + unit + ".many")
		b.row(strings.ReplaceAll(english, "%s", "*2*"), strings.ReplaceAll(portuguese, "%s", "*2*"), "`2"+unit+"`", "a duration")
	}
	b.section("Formats of times", "Without a format a time is written like `2026-11-17 08:00`. The functions have the words of the language that they are given; the names of days and months in a layout are English.")
	b.head("language", "format", "example")
	for _, l := range []phrases.Language{phrases.English, phrases.Portuguese} {
		for _, f := range sentence.Formats(l)[1:] {
			b.row([]string{"English", "Português"}[l], "`"+cmp.Or(f.Layout, f.Function)+"`", f.Example)
		}
	}
}
