package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunWritesRules shows that a rule that is saved through the console of a running engine acts
// when the page comes back, that what is kept beside the rules is loaded by nobody, and that a file
// that was changed by other means is not overwritten.
func TestRunWritesRules(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - id: first\n    when: manual\n    do:\n      - log: one # kept\n")
	o.start(o.service())
	send := func(path string, fields ...string) (int, string) {
		t.Helper()
		form := url.Values{"workspace": {"default"}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		return o.asks("POST", o.console+path, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode())
	}
	rule := "rules:\n  - id: echo\n    when: message.received\n    limit: { times: 1, per: 12h }\n    do:\n      - send_message: \"You wrote: {{ message.text }}\"\n"
	if status, text := send("/write/save", "rule", "echo", "text", rule, "stage", "live"); status != 200 || !strings.Contains(text, "It acts from the next event on.") {
		t.Fatalf("%d %s", status, text)
	}
	o.writes("+5511988887777", "hello")
	o.shows(`quando_runs_total{rule="echo",stage="live",state="done",workspace="default"} 1`)

	if status, text := send("/write/save", "file", "echo.yaml", "rule", "echo", "text", "rules: [", "stage", "draft"); status != 200 || !strings.Contains(text, "Kept as unfinished") {
		t.Fatalf("%d %s", status, text)
	}
	for _, name := range []string{".history/echo.yaml/000001.json", ".unfinished/echo.yaml.json"} {
		if _, err := os.Stat(filepath.Join(o.folder, "rules", filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	o.write("rules/.history/bad.yaml", "rules: [")
	o.write("rules/r.yaml", "rules:\n  - id: first\n    when: manual\n    do: [{ log: by hand }]\n")
	o.logs("rules reloaded", map[string]any{"files": 2, "rules": 2, "changed": "first", "broken": nil})
	if status, text := send("/write/save", "file", "r.yaml", "rule", "first", "was", "0123", "text", strings.ReplaceAll(rule, "echo", "first"), "stage", "live"); status != 409 {
		t.Errorf("%d %s", status, text)
	}
	if text, err := os.ReadFile(filepath.Join(o.folder, "rules", "r.yaml")); err != nil || !strings.Contains(string(text), "by hand") {
		t.Errorf("%s %v", text, err)
	}
}

// TestRunReadOnly shows that the configuration can keep everybody from writing rules.
func TestRunReadOnly(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - id: first\n    when: manual\n    do: [{ log: one }]\n")
	o.start(o.service() + "\nconsole: { listen: \"127.0.0.1:0\", read_only: true }")
	form := url.Values{"name": {"Another"}}.Encode()
	status, text := o.asks("POST", o.console+"/rules/default/first/rename", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form)
	if status != 409 || !strings.Contains(text, "read-only") {
		t.Errorf("%d %s", status, text)
	}
	entries, err := os.ReadDir(filepath.Join(o.folder, "rules"))
	if err != nil || len(entries) != 1 {
		t.Error(fmt.Sprint(entries), err)
	}
}
