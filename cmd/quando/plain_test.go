package main

import (
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/console/plaintest"
)

// plainLink finds links to pages of runs, events, customers and rules.
var plainLink = regexp.MustCompile(`href="((?:/runs/\d+|/events/\d+|/conversation\?[^"]*|/rules/default/[a-z0-9-]+))["#]`)

// TestPlainDemo reads every page of the demo's desk after its people have been at work, in both
// languages: no id, no name of code, no expression, no ISO time.
func TestPlainDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	s := show(t, "--speed", "300")
	s.until("09:25  sla-escalation")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.out.String())
	read := func(path, language string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Language", language)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), `<html lang="`+language+`"`) {
			t.Fatalf("%s: %d %v\n%s", path, res.StatusCode, err, text)
		}
		return string(text)
	}
	pages, kinds := []string{"/", "/activity", "/activity?noise=1", "/runs", "/events", "/conversations", "/rules"}, map[string]int{}
	for i := 0; i < len(pages); i++ { // which grows
		path := pages[i]
		for _, language := range []string{"en", "pt-BR"} {
			text := read(path, language)
			for _, found := range plaintest.Unsaid(text) {
				t.Errorf("%s, %s: %s", path, language, found)
			}
			if strings.Count(path, "/") > 1 || strings.HasPrefix(path, "/conversation?") {
				continue
			}
			for _, link := range plainLink.FindAllStringSubmatch(text, -1) {
				if next := html.UnescapeString(link[1]); !slices.Contains(pages, next) {
					pages = append(pages, next)
					kinds[regexp.MustCompile(`^/[a-z]+`).FindString(next)]++
				}
			}
		}
	}
	if kinds["/runs"] < 20 || kinds["/events"] < 20 || kinds["/conversation"] < 5 || kinds["/rules"] < 20 {
		t.Errorf("not everything was read: %v", kinds)
	}
	s.end()
	s.over()
}
