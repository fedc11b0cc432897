package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRunConsole shows that run serves the console: the rules as they stand, the service as it is, who wrote, and that nobody who watches holds up a stop.
func TestRunConsole(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "# ours\nrules:\n  - id: first\n    when: manual\n    do:\n      - log: one # kept\n  - id: second\n    when: manual\n    do: [{ log: two }]\n")
	o.start(o.service())
	page := func(path string) string {
		_, text := o.asks("GET", o.console+path, nil, "")
		return text
	}
	if text := page("/rules/default/first"); !strings.Contains(text, "- log: one # kept") || strings.Contains(text, "two") {
		t.Errorf("the rule's own lines are not shown:\n%s", text)
	}
	o.write("rules/r.yaml", "rules:\n  - { id: first, when: nonsense, do: [{ log: one }] }\n")
	eventually(t, func() (bool, string) {
		text := page("/")
		return strings.Contains(text, "The rule “first” is not in use as it is written"), text
	})
	eventually(t, func() (bool, string) {
		text := page("/health")
		return strings.Contains(text, o.address.BaseURL) && !strings.Contains(text, o.address.APIKey), text
	})
	o.writes("+5511988887777", "hello")
	beside, err := openJournal(t.Context(), filepath.Join(o.folder, "quando.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	eventually(t, func() (bool, string) { // although nobody looks for her in the console
		found, err := beside.FindLanes(t.Context(), "ana", 1)
		return err == nil && len(found) == 1, "Ana is not found"
	})
	resp, err := http.Get(o.console + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	before := time.Now()
	if code := o.stop(); code != 0 || time.Since(before) > stopServing {
		t.Errorf("the stop took %s, %d", time.Since(before), code)
	}
}
