package words

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	formatVerb = regexp.MustCompile(`%[a-z]`)
	usedKey    = regexp.MustCompile(`(?:\b[tTnN]|problem\([^,]+,)[ (]\s*"([a-z_]+(?:\.[a-z_A-Z]+)+)"`)
	madeKey    = regexp.MustCompile(`"([a-z]+(?:\.[a-z_]+)*\.)"`) // the beginning of a key that is put together
)

// TestMessages shows that every text of the pages is there in both languages, and says the same
// things.
func TestMessages(t *testing.T) {
	all := map[string][2]string{}
	for _, part := range messages {
		maps.Copy(all, part)
	}
	for key, m := range all {
		for _, l := range Languages {
			if strings.TrimSpace(m[l.at]) == "" {
				t.Errorf("%s is missing in %s", key, l.Name)
			}
		}
		if en, pt := formatVerb.FindAllString(m[0], -1), formatVerb.FindAllString(m[1], -1); !slices.Equal(en, pt) {
			t.Errorf("%s has %v in English and %v in Portuguese", key, en, pt)
		}
	}
	used, made := keysInSources(t)
	for key := range used {
		if _, ok := all[key]; !ok && all[key+".one"] == [2]string{} {
			t.Errorf("there is no message %s", key)
		}
	}
	for key := range all {
		whole := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".many")
		if !used[key] && !used[whole] && !slices.ContainsFunc(made, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			t.Errorf("nobody uses %s", key)
		}
	}
}

// keysInSources returns the keys that pages and code name, and the beginnings of those that they
// put together.
func keysInSources(t *testing.T) (map[string]bool, []string) {
	t.Helper()
	used, made := map[string]bool{}, []string{}
	for _, pattern := range []string{"../../*.go", "../../templates/*.html", "../*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, name := range found {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "messages") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := string(src)
			for _, m := range usedKey.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
			for _, m := range madeKey.FindAllStringSubmatch(text, -1) {
				made = append(made, m[1])
			}
			// Keys that are chosen before they are said.
			for _, m := range regexp.MustCompile(`"((?:standing|button|error|unasked|need|said)\.[a-z_.]*[a-z_])"`).FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
	}
	return used, made
}

func TestLanguageOf(t *testing.T) {
	for header, want := range map[string]string{
		"": "en", "pt-BR,pt;q=0.9,en;q=0.8": "pt", "en-US,en;q=0.9,pt;q=0.8": "en", "de, pt;q=0.5, en;q=0.4": "pt", "fr": "en", "pt;q=x": "en",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Language", header)
		if got := LanguageOf(r); got != want {
			t.Errorf("%q: %s", header, got)
		}
		r.AddCookie(&http.Cookie{Name: Cookie, Value: "pt"})
		if got := LanguageOf(r); got != "pt" {
			t.Errorf("%q with a cookie: %s", header, got)
		}
	}
}
