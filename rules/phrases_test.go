package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPhrases shows that what a condition found can be told in each language, with the same things in it.
func TestPhrases(t *testing.T) {
	verb := regexp.MustCompile(`%(\[\d\])?[a-z]`)
	words, err := os.ReadFile("words.go")
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range phrases {
		if strings.TrimSpace(text[English]) == "" || strings.TrimSpace(text[Portuguese]) == "" {
			t.Errorf("%s is missing in a language", key)
		}
		if !slices.Equal(verb.FindAllString(text[English], -1), verb.FindAllString(text[Portuguese], -1)) {
			t.Errorf("%s says other things in another language: %q", key, text)
		}
		if name := strings.TrimPrefix(key, "not_"); name != "true" && name != "false" && !strings.Contains(string(words), `"`+name+`"`) && !strings.Contains(string(words), `"`+key+`"`) {
			t.Errorf("nobody uses %s", key)
		}
	}
	for _, m := range regexp.MustCompile(`w\.(t|either)\((?:truth, )?"(\w+)"`).FindAllStringSubmatch(string(words), -1) {
		keys := []string{m[2]}
		if m[1] == "either" {
			keys = append(keys, "not_"+m[2])
		}
		for _, key := range keys {
			if _, ok := phrases[key]; !ok {
				t.Errorf("there is no phrase %s", key)
			}
		}
	}
}
