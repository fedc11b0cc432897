package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/rules/programtest"
)

// helpNames are what the examples call things, and what they are called in the project below. Runs
// and ids follow the command, because each is for runs in another state.
var helpNames = map[string][]string{
	"": {
		"0192f3a4-5b6c-7d8e-9f00-112233445566", "0192f3a4-1111-7000-8000-000000000001", "Bia", "Ana", "Marina Souza", "Ana Lima", "ATD-000123", "ATD-000042",
		"2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d", "c-a", "/etc/quando/", "", "/mnt/", "", "postgres://quando@db.internal/quando quando.db", "quando.db copy.db",
		"postgres://quando@db.internal/quando", "copy.db", "show 12", "show 1", "--run 12", "--run 1", "pass show quando/ana", "echo correct horse battery staple",
	},
	"quando fire":         {"0192f3a4-5b6c-7d8e-9f00-112233445566", "0192f3a4-0000-7000-8000-00000000000a"},
	"quando resume":       {"0192f3a4-5b6c-7d8e-9f00-112233445566", "0192f3a4-0000-7000-8000-00000000000a"},
	"quando runs cancel":  {"12", "2"},
	"quando runs retry":   {"12", "3"},
	"quando runs resolve": {"12", "4"},
}

// helpFirst is what is typed before the examples of a command, and what they need.
var helpFirst = map[string]string{
	"quando run":                liveService,
	"quando health":             liveEngine,
	"quando doctor":             liveEngine,
	"quando alerts":             liveEngine,
	"quando alerts test":        liveEngine,
	"quando webhook":            liveEngine,
	"quando webhook list":       liveEngine,
	"quando webhook register":   liveEngine,
	"quando webhook rotate":     liveEngine,
	"quando webhook test":       liveEngine,
	"quando webhook deliveries": liveEngine,
	"quando backtest":           "mv weekend.db quando.db",
	"quando diff":               "mv weekend.db quando.db",
	"quando journal restore":    "quando journal backup backups/quando-20261113T205000Z.db",
	"quando journal verify":     "quando journal backup backups/quando-20261113T205000Z.db",
}

const (
	liveService = "rm -f quando.db*; unset TEST_NOW; quando sandbox --env .env >sandbox.log & until [ -s sandbox.log ]; do sleep 0.05; done"
	liveEngine  = liveService + "\nquando run >run.log 2>&1 & until quando health --ready >/dev/null 2>&1; do sleep 0.05; done"
)

// helpEndless are the commands that go on until they are stopped.
var helpEndless = []string{"quando run", "quando sandbox", "quando play", "quando demo"}

const helpConfig = `timezone: America/Sao_Paulo
service:
  base_url: "${SERVICE_URL}"
  api_key: "${SERVICE_API_KEY}"
  webhook: { secrets: ["${SERVICE_WEBHOOK_SECRET}"], public_url: "http://127.0.0.1:8080/webhook" }
people: { Carla: { phone: "+5511999990000", channel: Main } }
alerts: { people: [Carla] }
`

const (
	helpRules = "rules:\n  - id: away-reply\n    when: [message.received, manual]\n    limit: { times: 1, per: 12h }\n    do:\n      - send_message: Hello\n"
	helpTest  = "tests:\n  - name: one answer in twelve hours\n    given: { contacts: [{ name: Ana, phone: \"+5511988887777\" }] }\n" +
		"    steps: [{ customer: Ana, says: Hello }, { at: +10m, expect: [send_message] }]\n"
	helpCampaign = "rules:\n  - { id: winter-campaign, when: manual, do: [{ log: \"{{ event.data.city }}\" }] }\n"
)

// TestHelpExamples types the examples of every command's help, each in a project of its own with a
// journal, and none fails. Those that go on are stopped as with Ctrl-C.
func TestHelpExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	project := helpProject(t)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := c.CommandPath()
		if strings.TrimSpace(c.Example) == "" {
			t.Errorf("the help of %s has no example", path)
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			for line := range strings.Lines(c.Example) {
				line = strings.TrimSpace(line)
				if of, _, err := c.Root().Find(strings.Fields(line)[1:]); err == nil && of != c && of.HasParent() && strings.HasPrefix(line, "quando ") {
					continue // it stands in the help of that command too, or is like those that do
				}
				if strings.Contains(line, "| jq ") {
					programtest.Find(t, "jq", "jq")
				}
				typeExample(t, project, path, line)
			}
		})
		for _, one := range c.Commands() {
			walk(one)
		}
	}
	walk(newRoot())
}

// helpProject writes a project that has what the examples name.
func helpProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ours, err := os.ReadFile("../../rules/templates/away-reply.yaml")
	if err != nil {
		t.Fatal(err)
	}
	draft := strings.Replace(helpRules, "away-reply", "draft", 1)
	for name, text := range map[string]string{
		"quando.yaml": helpConfig, "rules/away-reply.yaml": helpRules, "rules/away_test.yaml": helpTest, "rules/away.yaml": helpCampaign, "away.yaml": helpRules,
		"drafts/draft.yaml": draft, "draft.yaml": draft, "old/away-reply.yaml": strings.Replace(helpRules, "Hello", "Hi", 1),
		"campaign.yaml": "city: Recife\n", "ours.yaml": string(ours), "desk/rules/hello.yaml": helpRules,
	} {
		clitest.WriteFile(t, filepath.Join(dir, name), text)
	}
	for _, name := range []string{"backups", "bin"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "quando")); err != nil { // under this name it is the command
		t.Fatal(err)
	}
	if err := fillJournal(t.Context(), filepath.Join(dir, "quando.db")); err != nil {
		t.Fatal(err)
	}
	if err := recordWeekend(t.Context(), filepath.Join(dir, "weekend.db"), helpRules); err != nil {
		t.Fatal(err)
	}
	return dir
}

// typeExample types one line of a help in a copy of the project.
func typeExample(t *testing.T, project, path, line string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	typed := strings.NewReplacer(append(append([]string{}, helpNames[path]...), helpNames[""]...)...).Replace(line)
	if strings.HasPrefix(typed, "quando init") && !strings.Contains(typed, "--print") {
		typed = "mkdir empty; cd empty; " + typed // it never overwrites
	}
	if typed == "quando password" {
		typed += " <<< 'correct horse battery staple'"
	}
	for _, endless := range helpEndless {
		if typed == endless || strings.HasPrefix(typed, endless+" ") {
			typed = "timeout --foreground -s INT --preserve-status 4 " + typed
		}
	}
	switch path {
	case "quando fire", "quando runs cancel", "quando runs retry", "quando runs resolve":
		typed += " --wait 10ms" // no engine runs that would take it up
	}
	if strings.HasPrefix(typed, "curl ") { // the sandbox's: it is there while they are typed
		programtest.Find(t, "curl", "curl")
		typed = liveService + "\n" + strings.Replace(typed, "curl ", "curl -sSf ", 1)
	}
	script := helpFirst[path] + "\nset -o pipefail\n" + typed + "\ncode=$?\nkill $(jobs -p) 2>/dev/null; wait; exit $code\n"
	shell := exec.CommandContext(t.Context(), "/bin/bash", "-c", script)
	out := &clitest.Buffer{}
	shell.Dir, shell.Stdout, shell.Stderr = dir, out, out
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir, "LC_ALL=C.UTF-8", "TEST_NOW=2026-11-14T09:00:00Z")
	begun := time.Now()
	if err := alone(shell).Run(); err != nil {
		t.Errorf("%s: %v after %s\n%s\n%s", line, err, time.Since(begun).Round(time.Millisecond), typed, out)
	}
}
