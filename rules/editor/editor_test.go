package editor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/phrases"
)

// several is a file with several rules, as people write them.
const several = `vars:
  hello: Olá
calendars:
  office: { timezone: America/Sao_Paulo, open: { mon-fri: 09:00-18:00 } }

rules:
  # The first.
  - id: first
    when: message.received
    if:
      - closed("office")
      - message.text != ""
    limit: { times: 1, per: 12h }
    do:
      - send_message: |
          {{ vars.hello }}:
          - is: no rule
      - wait: 15m of office

  - id: second
    when: message.received
    gather: { quiet: 20s, at_most: 2m }
    do:
      - wait_for: { event: message.received, timeout: 1h }
        id: answer
      - stop_if: answer == nil
      - choose:
          - if: answer.message.text == vars.hello
            do:
              - set: { found: "{{ steps.answer.message.text }}" }
              - log: "{{ found }} {{ 'vars.hello' }}"
      - for_each: { in: messages, as: m, do: [{ log: "{{ m.text }}" }] }
  - { id: third, when: manual, do: [{ log: x }] }

tests:
  - name: a story
    rules: [first, second]
    steps: [{ customer: Ana, says: Hi }, { at: +10m, expect: [] }]
`

func options() rules.Options { return rules.Options{Catalog: builtin.Catalog()} }

func check(t *testing.T, text string) rules.Problems {
	t.Helper()
	_, problems, err := editor.Check(t.Context(), rules.Parse("a.yaml", []byte(text)), nil, options())
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// TestRecheck changes every line of a file in several ways, and finds in one part what a check of
// everything finds.
func TestRecheck(t *testing.T) {
	t.Parallel()
	if problems := check(t, several); len(problems) > 0 {
		t.Fatal(problems)
	}
	// The rules around have problems of their own, which stay, and move with their lines.
	before := strings.NewReplacer("message.text != \"\"", "mesage.text != \"\"", "when: manual, do: [{ log:", "when: manual, do: [{ lgo:").Replace(several)
	lines := strings.Split(before, "\n")
	first := editor.Checked{Text: before, Problems: check(t, before)}
	if len(first.Problems) != 2 {
		t.Fatal(first.Problems)
	}
	rechecked := 0
	for i, line := range lines {
		for name, changed := range map[string][]string{
			"a letter more": {line + "x"}, "a letter less": {line[:max(0, len(line)-1)]}, "two lines more": {line, "", "    # a word"}, "no line": {},
			"a wrong key": {line, "    whn: x"}, "another rule": {line, "  - id: fourth"}, "a bracket": {line + " ["},
		} {
			text := strings.Join(slices.Concat(lines[:i], changed, lines[i+1:]), "\n")
			got, ok := editor.Recheck(t.Context(), "a.yaml", first, text, nil, options())
			if !ok {
				continue
			}
			rechecked++
			want := slices.DeleteFunc(check(t, text), acrossRules)
			if diff := cmp.Diff(told(want), told(slices.DeleteFunc(got, acrossRules))); diff != "" {
				t.Errorf("%s in line %d, %q: %s", name, i+1, line, diff)
			}
		}
	}
	if rechecked < 80 {
		t.Errorf("only %d changes were in one part", rechecked)
	}
}

// acrossRules reports what one part alone does not show: ids that others have or tests name, and
// calendars.
func acrossRules(p rules.Problem) bool {
	return strings.Contains(p.Message, "there is no rule") || strings.Contains(p.Message, "unknown calendar") || strings.Contains(p.Message, "two rules") || strings.Contains(p.Message, "already")
}

func told(list rules.Problems) (lines []string) {
	for _, p := range list {
		lines = append(lines, p.Error())
	}
	return lines
}

func completer() *editor.Completer {
	return (&editor.Names{Catalogue: form.NewCatalogue(builtin.Catalog())}).Completer()
}

// TestSymbols finds every place of a name: in expressions, texts, spans and tests, and nowhere
// else.
func TestSymbols(t *testing.T) {
	t.Parallel()
	symbols, ok := completer().Symbols("a.yaml", several)
	if !ok {
		t.Fatal("it is YAML")
	}
	lines := strings.Split(several, "\n")
	found := map[string]int{}
	for _, s := range symbols {
		name := string([]rune(lines[s.Line-1])[s.Column-1 : s.Column-1+s.Length])
		if name != s.Name {
			t.Errorf("%s %s is at %q", s.Kind, s.Name, name)
		}
		key := string(s.Kind) + " " + s.Name
		if s.Definition {
			key += " defined"
		}
		found[key]++
	}
	want := map[string]int{
		"var hello defined": 1, "var hello": 2, "calendar office defined": 1, "calendar office": 2,
		"rule first defined": 1, "rule first": 1, "rule second defined": 1, "rule second": 1, "rule third defined": 1,
		"result answer defined": 1, "result answer": 3, "result found defined": 1, "result found": 1, "result m defined": 1, "result m": 1, "test a story defined": 1,
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if _, ok := completer().Symbols("a.yaml", "rules: ["); ok {
		t.Error("half a list has symbols")
	}
}

// TestDescribe says what words mean, in both languages, and nothing of what it does not know.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, word, want string
		language           phrases.Language
	}{
		{"    ", "when", "an event's name", phrases.English},
		{"when: ", "message.received", "um cliente escreve", phrases.Portuguese},
		{"      - ", "send_message", "enviar uma mensagem", phrases.Portuguese},
		{"      - ", "wait_for", "`event`", phrases.English},
		{"wait_for: { ", "event", "event", phrases.English},
		{"      - ", "closed", "closed(calendar)", phrases.English},
		{"      - message.", "text", "what was written", phrases.English},
		{"          ", "{{", "", phrases.English},
		{"  - id: ", "first", "", phrases.English},
		{"          - is: no ", "rule", "", phrases.English}, // a text, though it looks like a key
	} {
		for i, line := range strings.Split(several, "\n") {
			at := strings.Index(line, tt.before+tt.word)
			if at < 0 {
				continue
			}
			got := completer().Describe(several, i+1, at+len(tt.before)+2, tt.language)
			switch {
			case tt.want == "" && got != nil:
				t.Errorf("%q says %q", tt.word, got.Markdown)
			case tt.want != "" && (got == nil || !strings.Contains(got.Markdown, tt.want)):
				t.Errorf("%q in %q does not say %q: %+v", tt.word, line, tt.want, got)
			case got != nil && !strings.HasSuffix(line[got.From-1:got.To-1], tt.word):
				t.Errorf("%q is described as %q", tt.word, line[got.From-1:got.To-1])
			}
			break
		}
	}
}

// FuzzEditor feeds texts that are being written to everything that looks at them.
func FuzzEditor(f *testing.F) {
	f.Add(several, 10, 12)
	f.Add("rules:\n  - id: x\n    if: |\n      vars.", 4, 11)
	f.Add("tests:\n- {steps: [{", 2, 12)
	files, err := filepath.Glob("../testdata/broken/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), 4, 10)
	}
	c := completer()
	f.Fuzz(func(t *testing.T, text string, line, column int) {
		c.At(text, line, column)
		c.Describe(text, line, column, phrases.English)
		symbols, _ := c.Symbols("a.yaml", text)
		lines := strings.Split(text, "\n")
		for _, s := range symbols {
			if s.Line < 1 || s.Line > len(lines) || s.Column < 1 {
				t.Errorf("%+v is outside of the text", s)
			}
		}
		before := editor.Checked{Text: text}
		editor.Recheck(t.Context(), "a.yaml", before, text+"x", nil, options())
	})
}
