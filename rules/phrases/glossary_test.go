package phrases

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A term is a row of docs/glossary.md.
type term struct {
	english, portuguese []string
	not                 [languages][]string
	isOther             bool // the English word is another word too
}

// readGlossary reads the table of docs/glossary.md.
func readGlossary(t *testing.T) (terms []term) {
	t.Helper()
	text, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	list := func(cell string) (words []string) {
		for word := range strings.SplitSeq(cell, ",") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
		return words
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 5 || strings.TrimSpace(cells[0]) == "English" {
			continue
		}
		name, isOther := strings.CutSuffix(strings.TrimSpace(cells[0]), " (noun)")
		terms = append(terms, term{list(name), list(cells[1]), [languages][]string{list(cells[3]), list(cells[4])}, isOther})
	}
	return terms
}

// anyOf finds one of some words. A letter with an accent is a letter.
func anyOf(words []string) *regexp.Regexp {
	var list []string
	for _, word := range words {
		list = append(list, regexp.QuoteMeta(word))
	}
	return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + strings.Join(list, "|") + `)(?:$|[^\pL])`)
}

var (
	argumentSlot = regexp.MustCompile(`\{[^}]*\}`)
	yamlKey      = regexp.MustCompile(`[a-z_]+: [a-z_]+`) // what a rule's text says
)

// TestGlossary holds the texts to docs/glossary.md: each says a thing in its word, in both
// languages, and none says a word that the glossary does without.
func TestGlossary(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it reads every text")
	}
	all := map[string]texts{}
	for code, text := range byCode() {
		if strings.HasPrefix(string(code), "name.") {
			continue // names in a rule's text, without accents
		}
		for l := range languages {
			text[l] = argumentSlot.ReplaceAllString(text[l], "")
		}
		all[string(code)] = text
	}
	terms := readGlossary(t)
	if len(terms) < 25 {
		t.Fatalf("the glossary has %d terms", len(terms))
	}
	for _, one := range terms {
		english, portuguese, used := anyOf(one.english), anyOf(one.portuguese), false
		for code, text := range all {
			says := portuguese.MatchString(text[Portuguese])
			used = used || says
			if !one.isOther && english.MatchString(yamlKey.ReplaceAllString(text[English], "")) && !says {
				t.Errorf("%s says %q, and its Portuguese none of %q: %s", code, one.english[0], one.portuguese, text[Portuguese])
			}
		}
		if !used {
			t.Errorf("no text says %q", one.portuguese)
		}
		for l, words := range one.not {
			if len(words) == 0 {
				continue
			}
			forbidden := anyOf(words)
			for code, text := range all {
				if found := forbidden.FindString(text[l]); found != "" {
					t.Errorf("%s says %q instead of %q: %s", code, strings.TrimSpace(found), one.english[0], text[l])
				}
			}
			for _, table := range problems {
				for english, portuguese := range table {
					if found := forbidden.FindString([]string{english, portuguese}[l]); found != "" {
						t.Errorf("a problem says %q instead of %q: %s", strings.TrimSpace(found), one.english[0], []string{english, portuguese}[l])
					}
				}
			}
		}
	}
}
