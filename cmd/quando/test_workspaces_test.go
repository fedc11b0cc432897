package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// deskFiles returns a desk that greets its customers after a wait, with a test of it.
func deskFiles(folder, greeting, hours string) map[string]string {
	return map[string]string{
		folder + "/rules.yaml": `
calendars:
  office: { timezone: America/Sao_Paulo, open: { mon-fri: [` + hours + `] } }
rules:
  - { id: greet, when: attendance.opened, do: [{ wait: 2h }, { send_message: "` + greeting + ` {{ open('office') }}" }] }
`,
		folder + "/rules_test.yaml": `
tests:
  - name: everybody is greeted
    start: 2026-01-05T09:00:00Z
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps: [{ customer: Marina, says: Hello }, { at: +3h, expect: [{ send_message: { text: { contains: ` + greeting + ` } } }] }]
`,
	}
}

// inFolder writes files into a new folder and makes it the current one.
func inFolder(t *testing.T, all ...map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for _, files := range all {
		for name, text := range files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			clitest.WriteFile(t, file, text)
		}
	}
	t.Chdir(dir)
}

// testNames runs quando test and returns the tests that passed, with their workspaces.
func testNames(t *testing.T, args ...string) (names []string) {
	t.Helper()
	code, out, errOut := quando(t, append([]string{"test", "--output", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("%v: %d %s %s", args, code, out, errOut)
	}
	var doc struct {
		Tests []struct{ Workspace, File, Name string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for _, test := range doc.Tests {
		names = append(names, strings.TrimPrefix(test.Workspace+": "+filepath.ToSlash(test.File), ": "))
	}
	return names
}

func wantNames(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q were tested, not %q", got, want)
	}
}

// TestTestWorkspaces tests workspaces below one folder, each by itself.
func TestTestWorkspaces(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	a, b := deskFiles("desks/a", "Olá", "08:00-18:00"), deskFiles("desks/b", "Hello", "10:00-12:00")
	zones := map[string]string{
		"desks/b/zone_test.yaml": `
tests:
  - name: the zone is that of the desk
    start: 2026-01-05T09:00:00Z
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps: [{ customer: Marina, says: Hello }, { at: "10:00", expect: [] }]
`,
	}
	t.Run("folders that clash", func(t *testing.T) {
		inFolder(t, a, b)
		both := []string{"desks/a: desks/a/rules_test.yaml", "desks/b: desks/b/rules_test.yaml"}
		wantNames(t, testNames(t, "desks"), both...)
		wantNames(t, testNames(t, "."), both...)
		wantNames(t, testNames(t, "desks/a", "desks/b"), both...)
		wantNames(t, testNames(t, "desks/a"), "desks/a/rules_test.yaml")
		code, out, _ := quando(t, "test", "desks")
		if code != 0 || !strings.HasPrefix(out, "workspace desks/a\nok ") || !strings.Contains(out, "\nworkspace desks/b\nok ") || !strings.Contains(out, "2 tests") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("folders with a configuration", func(t *testing.T) {
		inFolder(t, a, b, zones, map[string]string{
			"desks/a/quando.yaml": "timezone: America/Sao_Paulo\n", "desks/b/quando.yaml": "timezone: Europe/Lisbon\nrules: .\nservice: { api_key: '${NOT_SET}' }\n",
		})
		wantNames(t, testNames(t, "desks"), "desks/a: desks/a/rules_test.yaml", "desks/b: desks/b/rules_test.yaml", "desks/b: desks/b/zone_test.yaml")
		wantNames(t, testNames(t, "desks/b/zone_test.yaml"), "desks/b/zone_test.yaml")
	})
	t.Run("workspaces of the configuration", func(t *testing.T) {
		inFolder(t, a, b, zones, map[string]string{
			"quando.yaml": "workspaces:\n  acme: { rules: desks/a }\n  bakery: { rules: desks/b, timezone: Europe/Lisbon }\n",
		})
		all := []string{"acme: desks/a/rules_test.yaml", "bakery: desks/b/rules_test.yaml", "bakery: desks/b/zone_test.yaml"}
		wantNames(t, testNames(t), all...)
		wantNames(t, testNames(t, "desks"), all...)
		wantNames(t, testNames(t, "desks/b"), all[1][len("bakery: "):], all[2][len("bakery: "):])
	})
	t.Run("a workspace in the folder of another", func(t *testing.T) {
		inFolder(t, deskFiles("rules", "Olá", "08:00-18:00"), deskFiles("rules/acme", "Hello", "10:00-12:00"), map[string]string{"quando.yaml": "workspaces: { acme: {} }\n"})
		wantNames(t, testNames(t), "acme: rules/acme/rules_test.yaml", "default: rules/rules_test.yaml")
	})
	t.Run("one workspace stays one", func(t *testing.T) {
		inFolder(t, deskFiles("rules/a", "Olá", "08:00-18:00"), deskFiles("rules/b", "Hello", "08:00-18:00"))
		for _, args := range [][]string{{"test"}, {"test", "rules"}} {
			if code, out, _ := quando(t, args...); code != cli.ExitNo || !strings.Contains(out, `there are two rules with the id "greet"`) {
				t.Errorf("%v: %d %s", args, code, out)
			}
		}
	})
	t.Run("rules beside the workspace", func(t *testing.T) {
		inFolder(t, deskFiles("rules", "Olá", "08:00-18:00"), deskFiles("tried", "Hello", "10:00-12:00"), map[string]string{"quando.yaml": "rules: rules\n"})
		wantNames(t, testNames(t, "."), "default: rules/rules_test.yaml", "tried: tried/rules_test.yaml")
	})
	t.Run("tests in a folder of their own", func(t *testing.T) {
		files := deskFiles("rules", "Olá", "08:00-18:00")
		files["tests/rules_test.yaml"] = files["rules/rules_test.yaml"]
		delete(files, "rules/rules_test.yaml")
		inFolder(t, files, map[string]string{"quando.yaml": "rules: rules\n"})
		wantNames(t, testNames(t, "."), "tests/rules_test.yaml")
		wantNames(t, testNames(t, "tests/rules_test.yaml"), "tests/rules_test.yaml")
	})
}

// TestTestAllRules runs a test in a folder with all rules of its workspace.
func TestTestAllRules(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	rule := func(id string) string {
		return "rules:\n  - { id: " + id + ", when: attendance.opened, do: [{ add_labels: [" + id + "] }] }\n"
	}
	test := func(rules, expect string) string {
		return `
tests:
  - name: all
    ` + rules + `
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps: [{ customer: Marina, says: Hello }, { at: +1m, expect: [` + expect + `] }]
`
	}
	files := map[string]string{
		"rules/away/away.yaml": rule("away"), "rules/away/all_test.yaml": test("rules: all", "{ add_labels: [away] }, { add_labels: [vip] }"),
		"rules/away/own_test.yaml": test("", "{ add_labels: [away] }"),
		"rules/vip/vip.yaml":       rule("vip") + test("", "{ add_labels: [vip] }")[1:],
	}
	for name, config := range map[string]string{"quando.yaml": "rules: rules\n", "other.txt": ""} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, files, map[string]string{name: config})
			both := []string{"rules/away/all_test.yaml", "rules/away/own_test.yaml"}
			wantNames(t, testNames(t), append(both, "rules/vip/vip.yaml")...)
			wantNames(t, testNames(t, "rules/away"), both...)
			wantNames(t, testNames(t, "rules/away/all_test.yaml"), both[0])
			wantNames(t, testNames(t, filepath.Join(".", "rules", "away", "own_test.yaml")), both[1])
		})
	}
	t.Run("of one workspace", func(t *testing.T) {
		other := deskFiles("rules/acme", "Hello", "10:00-12:00")
		inFolder(t, files, other, map[string]string{"quando.yaml": "workspaces: { acme: {} }\n"})
		wantNames(t, testNames(t, "rules/away/all_test.yaml"), "rules/away/all_test.yaml")
	})
}

// TestCheckWorkspaces checks workspaces below one folder as they are tested: each by itself, with
// the configuration of its own.
func TestCheckWorkspaces(t *testing.T) {
	a, b := deskFiles("desks/a", "Olá", "08:00-18:00"), deskFiles("desks/b", "Hello", "10:00-12:00")
	good := func(t *testing.T, args ...string) {
		t.Helper()
		if code, out, errOut := quando(t, append([]string{"check"}, args...)...); code != 0 || !strings.HasPrefix(out, "2 good rules in 4 files: no errors\n") {
			t.Errorf("%v: %d %s %s", args, code, out, errOut)
		}
	}
	t.Run("folders that clash", func(t *testing.T) {
		inFolder(t, a, b)
		good(t, "desks")
		good(t)
	})
	t.Run("workspaces of the configuration", func(t *testing.T) {
		inFolder(t, a, b, map[string]string{"quando.yaml": "workspaces:\n  acme: { rules: desks/a }\n  bakery: { rules: desks/b }\n"})
		good(t)
		good(t, "desks")
		good(t, "desks/a", "desks/b")
	})
	t.Run("folders with a configuration", func(t *testing.T) {
		own := map[string]string{
			"quando.yaml":         "http_request: { allow: [main.example.com] }\npeople: { Carla: { phone: \"+5511977770000\", channel: Main } }\n",
			"desks/a/quando.yaml": "http_request: { allow: [a.example.com] }\n",
			"desks/b/quando.yaml": "servce: {}\npeople: { Bruno: { phone: \"${NOT_SET}\", channel: Main } }\n",
			"desks/a/call.yaml": `
rules:
  - { id: call, when: attendance.closed, do: [{ http_request: "https://a.example.com/" }, { http_request: "https://main.example.com/" }] }
`,
			"desks/b/tell.yaml": `
rules:
  - { id: tell, when: attendance.closed, do: [{ send_message: { to: { person: Bruno }, text: a } }, { send_message: { to: { person: Carla }, text: a } }] }
`,
		}
		inFolder(t, a, b, own)
		code, out, errOut := quando(t, "check", "desks")
		for _, words := range []string{
			"desks/a/call.yaml:3:", "main.example.com is not on the list", `desks/b/quando.yaml:1:1: the configuration has no key "servce"`, "Carla", "3 errors",
		} {
			if code != cli.ExitNo || !strings.Contains(filepath.ToSlash(out), words) {
				t.Errorf("no %s in %d %s %s", words, code, out, errOut)
			}
		}
	})
	t.Run("one workspace stays one", func(t *testing.T) {
		inFolder(t, deskFiles("rules/a", "Olá", "08:00-18:00"), deskFiles("rules/b", "Hello", "08:00-18:00"))
		if code, out, _ := quando(t, "check", "rules"); code != cli.ExitNo || !strings.Contains(out, `there are two rules with the id "greet"`) {
			t.Errorf("%d %s", code, out)
		}
	})
}
