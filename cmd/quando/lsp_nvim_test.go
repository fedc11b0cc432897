package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/rules/programtest"
)

// lspProject is a project with rules, tests and a journal that knows the names of a desk.
var lspProject = map[string]string{
	"quando.yaml": "timezone: America/Sao_Paulo\npeople: { Carla: { phone: \"+5511999990000\", channel: Main } }\n",
	"rules/away.yaml": `vars:
  greeting: Olá

rules:
  - id: away
    when: message.received
    if: closed("office")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "{{ vars.greeting }}, {{ contact.name }}: we are closed"
      - wait_for: { event: message.received, timeout: 1h }
        id: answer
      - stop_if: answer == nil
      - log: "{{ answer.message.text }}"
`,
	"rules/hours.yaml": "calendars:\n  office:\n    timezone: America/Sao_Paulo\n    open: { mon-fri: 09:00-18:00 }\n",
	"rules/away_test.yaml": `tests:
  - name: who writes at night is answered
    rules: [away]
    start: 2026-11-13T22:00:00-03:00
    given: { contacts: [{ name: Ana, phone: "+5511988887777" }] }
    steps:
      - { customer: Ana, says: Hi }
      - { at: +10m, expect: [send_message] }

  - name: who writes at night is never answered
    rules: [away]
    start: 2026-11-13T22:00:00-03:00
    given: { contacts: [{ name: Ana, phone: "+5511988887777" }] }
    steps:
      - { customer: Ana, says: Hi }
      - { at: +10m, expect: [] }
`,
}

// seenInNeovim is what a person sees who works with the project.
type seenInNeovim struct {
	Error                                                           string
	Clean, Typed, Mended, Encoded, CleanAgain, Failure, FailureGone []seenProblem
	Complete                                                        map[string][]string
	Hover                                                           map[string]any
	Definition                                                      map[string]struct {
		File       string
		Line, From int
	}
	RenamedTest, Renamed, Formatted string
	Refused                         struct{ Message string }
	Backtest, Passed, Failed        struct{ Title, Message, Log, Failed string }
	Logs                            []string
	Exit                            int
}

type seenProblem struct {
	Line, From, To, Severity int
	Message, Source          string
}

// TestLanguageServerInNeovim uses every feature of the language server through the client of
// Neovim, with the built command.
func TestLanguageServerInNeovim(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	nvim := programtest.Find(t, "neovim", "nvim")
	dir := newLSPProject(t)
	script, err := filepath.Abs("testdata/lsp.lua")
	if err != nil {
		t.Fatal(err)
	}
	answer := filepath.Join(dir, "result.json")
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile "+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_STATE_HOME="+dir, "LC_ALL=C.UTF-8", "LSP_RESULT="+answer, "TEST_NOW=2026-11-16T09:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(answer)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer(`"clean_again"`, `"CleanAgain"`, `"renamed_test"`, `"RenamedTest"`, `"failure_gone"`, `"FailureGone"`).Replace(string(text)))
	var saw seenInNeovim
	if err := json.Unmarshal(text, &saw); err != nil || saw.Error != "" {
		t.Fatalf("%v %s\n%s", err, saw.Error, text)
	}
	saw.checkProblems(t)
	saw.checkWriting(t)
	saw.checkNames(t)
	saw.checkCommands(t)
	if saw.Exit != 0 {
		t.Errorf("the server ended with %d", saw.Exit)
	}
}

// newLSPProject writes the project, with the command in its folder bin.
func newLSPProject(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range lspProject {
		clitest.WriteFile(t, filepath.Join(dir, name), text)
	}
	if err := recordWeekend(t.Context(), filepath.Join(dir, "quando.db"), helpRules); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "quando")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *seenInNeovim) checkProblems(t *testing.T) {
	t.Helper()
	if len(s.Clean)+len(s.Mended)+len(s.CleanAgain) > 0 {
		t.Errorf("problems of good rules: %+v %+v %+v", s.Clean, s.Mended, s.CleanAgain)
	}
	want := seenProblem{Line: 9, From: 8, To: 21, Severity: 1}
	if len(s.Typed) != 1 || s.Typed[0].Line != want.Line || s.Typed[0].From != want.From || s.Typed[0].To != want.To || !strings.Contains(s.Typed[0].Message, `did you mean "send_message"?`) {
		t.Errorf("a verb with a typing error: %+v", s.Typed)
	}
	// Neovim counts bytes: 8 before the quote, the text in quotes with its 🙂 and ã, and " == ".
	if len(s.Encoded) != 1 || s.Encoded[0].From != len(`    if: '"🙂ã" == `) || s.Encoded[0].To != len(`    if: '"🙂ã" == mesage.text`) {
		t.Errorf("a fact with a typing error behind letters of several bytes: %+v", s.Encoded)
	}
}

func (s *seenInNeovim) checkWriting(t *testing.T) {
	t.Helper()
	for of, want := range map[string]string{
		"keys": "when", "verbs": "send_message", "arguments": "sector", "facts": "sector_name", "template": "name", "vars": "greeting",
		"calendars": "office", "labels": "vip", "people": "Carla", "tests": "away", "steps": "customer",
	} {
		if !slices.Contains(s.Complete[of], want) {
			t.Errorf("completion of %s has no %s: %v", of, want, s.Complete[of])
		}
	}
	if slices.Contains(s.Complete["verbs"], "wait") {
		t.Errorf("completion of se has what begins otherwise: %v", s.Complete["verbs"])
	}
	for of, want := range map[string]string{
		"key": "at most `times` runs", "verb": "(send a message)", "fact": "the contact's name", "method": "closed(calendar)", "event": "a customer writes", "var": "Olá",
	} {
		if text, _ := s.Hover[of].(string); !strings.Contains(text, want) {
			t.Errorf("hover over a %s does not say %q: %v", of, want, s.Hover[of])
		}
	}
	if want := "text }}\"\n\n  - { id: b, when: manual, do: [{ log: x }] }\n"; !strings.HasSuffix(s.Formatted, want) {
		t.Errorf("the formatted text does not end in %q:\n%s", want, s.Formatted)
	}
}

func (s *seenInNeovim) checkNames(t *testing.T) {
	t.Helper()
	for of, want := range map[string]struct {
		File       string
		Line, From int
	}{
		"calendar": {"hours.yaml", 1, 2}, "var": {"away.yaml", 1, 2}, "step": {"away.yaml", 11, 12}, "rule": {"away.yaml", 4, 8},
	} {
		if got := s.Definition[of]; got != want {
			t.Errorf("the definition of a %s is in %+v, not in %+v", of, got, want)
		}
	}
	if strings.Count(s.RenamedTest, "rules: [away-reply]") != 2 || !strings.Contains(s.Renamed, "id: away-reply") {
		t.Errorf("the renamed rule:\n%s\n%s", s.RenamedTest, s.Renamed)
	}
	if !strings.Contains(s.Renamed, "  hello: Olá\n") || !strings.Contains(s.Renamed, "{{ vars.hello }}, {{ contact.name }}") {
		t.Errorf("the renamed constant:\n%s", s.Renamed)
	}
	if !strings.Contains(s.Refused.Message, "is not a name that expressions can use") {
		t.Errorf("a name with a space: %+v", s.Refused)
	}
}

func (s *seenInNeovim) checkCommands(t *testing.T) {
	t.Helper()
	if s.Backtest.Title != "Backtest" || !strings.Contains(s.Backtest.Message, "of the last 14 days: send_message") || !strings.Contains(s.Backtest.Log, "EFFECTS") {
		t.Errorf("the backtest: %+v", s.Backtest)
	}
	if s.Passed.Title != "Run test" || s.Passed.Message != "passed: who writes at night is answered" {
		t.Errorf("a test that passes: %+v", s.Passed)
	}
	if !strings.HasPrefix(s.Failed.Message, "failed: who writes at night is never answered: ") {
		t.Errorf("a test that fails: %+v", s.Failed)
	}
	if len(s.Failure) != 1 || s.Failure[0].Line != 15 || s.Failure[0].Severity != 3 || len(s.FailureGone) > 0 {
		t.Errorf("the failure in the text: %+v, and after a change: %+v", s.Failure, s.FailureGone)
	}
}
