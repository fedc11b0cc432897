package phrases

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var argumentOf = regexp.MustCompile(`%(\[\d\])?[a-z]|\{[^}=]*`)

// argumentsOf returns the arguments of a text. Those with names may stand in another order in
// another language.
func argumentsOf(text string) []string {
	list := argumentOf.FindAllString(text, -1)
	slices.SortStableFunc(list, func(a, b string) int {
		if a[0] != '{' || b[0] != '{' {
			return 0
		}
		return strings.Compare(a, b)
	})
	return list
}

// TestCatalogue shows that every text is there in every language, with the same things in it.
func TestCatalogue(t *testing.T) {
	seen := map[Code]bool{}
	for _, part := range catalogue {
		for code, text := range part {
			if seen[code] {
				t.Errorf("%s is there twice", code)
			}
			seen[code] = true
			for l := range languages {
				if strings.TrimSpace(text[l]) == "" {
					t.Errorf("%s is missing in language %d", code, l)
				}
				if want, got := argumentsOf(text[English]), argumentsOf(text[l]); !slices.Equal(got, want) {
					t.Errorf("%s has %v in English and %v in language %d", code, want, got, l)
				}
			}
		}
	}
}
