package phrases

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var argumentOf = regexp.MustCompile(`%(\[\d\])?[a-z]|\{[^}=]*`)

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
				if want, got := argumentOf.FindAllString(text[English], -1), argumentOf.FindAllString(text[l], -1); !slices.Equal(got, want) {
					t.Errorf("%s has %v in English and %v in language %d", code, want, got, l)
				}
			}
		}
	}
}
