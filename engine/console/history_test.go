package console

import (
	"net/http"
	"strings"
	"testing"
)

// TestDamagedHistory shows that an unreadable version or draft does not prevent saving the file,
// and that the history lists the others.
func TestDamagedHistory(t *testing.T) {
	for name, damage := range map[string]string{"cut off": `{"at": "2026-`, "changed": `{"text": "rules: []\n", "sum": "0123456789abcdef0123456789abcdef", "who": "ana"}`} {
		t.Run(name, func(t *testing.T) {
			d := newEditorDesk(t)
			save := func(greeting string) {
				t.Helper()
				text := strings.Replace(greetRules, "Hello, ", greeting+", ", 1)
				if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", text, "was", d.sumOf("hello.yaml"), "stage", "live"); status != http.StatusSeeOther {
					t.Fatal(status, body)
				}
			}
			save("Good day")
			save("Good evening")
			d.write(".history/hello.yaml/000003.json", damage)
			d.write(".unfinished/hello.yaml.json", damage[:8])
			if page := d.page("/write?workspace=default&file=hello.yaml"); !strings.Contains(page, "Good evening") {
				t.Error("the page on which the file is written does not show it")
			}
			save("Good night")
			history := d.page("/history?workspace=default&file=hello.yaml")
			for _, want := range []string{"Version 5", "Version 4", "changed outside of this console", "Version 3", "This version is damaged", "Version 2", "Version 1"} {
				if !strings.Contains(history, want) {
					t.Errorf("the history does not tell %q", want)
				}
			}
			if strings.Count(history, `name="version"`) != 3 || strings.Contains(history, `name="version" value="3"`) {
				t.Error("the history does not offer the versions that can be gone back to, and only those")
			}
			if status, _, _ := d.post("/history/restore", "file", "hello.yaml", "version", "3", "was", d.sumOf("hello.yaml")); status != http.StatusNotFound {
				t.Errorf("going back to the damaged one: %d", status)
			}
		})
	}
}

// TestNamesOfOtherFiles shows that a rule may be called as files are that hold no rules.
func TestNamesOfOtherFiles(t *testing.T) {
	d := newEditorDesk(t)
	for _, id := range []string{"quando", "profile"} {
		text := "rules:\n  - { id: " + id + ", when: message.received, do: [mark_read] }\n"
		if status, body, _ := d.post("/write/save", "rule", id, "text", text, "stage", "live"); status != http.StatusSeeOther {
			t.Fatal(id, status, body)
		}
		if r := d.book().Set.Rule(id); r == nil {
			t.Errorf("%s is not in use", id)
		}
	}
}

// TestHistoryInWords shows that a version is told in words, with those marked that changed, rule by
// rule, and that what is no rule is told as such.
func TestHistoryInWords(t *testing.T) {
	d := newEditorDesk(t)
	save := func(text, stage string) {
		t.Helper()
		if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", text, "was", d.sumOf("hello.yaml"), "stage", stage); status != http.StatusSeeOther {
			t.Fatal(status, body)
		}
	}
	another := "  - id: other\n    name: Another\n    when: manual\n    do: [{ log: x }]\n"
	text := strings.Replace(greetRules, "per: 12h", "per: 1h", 1) + another
	save(text, "live")
	text = strings.Replace(text, another, "", 1) + "vars: { x: 1 }\n"
	save(text, "live")
	save(strings.Replace(text, "# A first word.", "# The first word.", 1), "live")
	page := d.page("/history?workspace=default&file=hello.yaml")
	versions := strings.Split(page, "<h2>Version ")
	if len(versions) != 5 {
		t.Fatalf("%d versions", len(versions)-1)
	}
	for i, want := range [][]string{
		{"other parts of the file"}, {"<bdi>Another</bdi></strong> · no longer there", "other parts of the file"},
		{"<bdi>A first word</bdi>", `<span class="muted">Bounds</span> <bdi>At most 1 × in <del>12 hours</del> <ins>1 hour</ins></bdi>`, "<bdi>Another</bdi></strong> · new rule"}, {"<bdi>A first word</bdi></strong> · new rule"},
	} {
		for _, part := range want {
			if !strings.Contains(versions[i+1], part) {
				t.Errorf("version %d does not say %q:\n%s", 4-i, part, versions[i+1])
			}
		}
	}
	if strings.Contains(versions[3], "other parts") || strings.Contains(versions[1], "A first word</bdi>") {
		t.Error("a version tells of what it did not change")
	}
}
