package studio

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	catalog   = builtin.Catalog()
	catalogue = form.NewCatalogue(catalog)
)

// maker shows rules as the console does.
func maker(language string, text []byte) *Maker {
	m := &Maker{Catalog: catalog, Catalogue: catalogue, Vars: Vars(text)}
	for _, l := range words.Languages {
		if l.Code == language {
			m.Language = l
		}
	}
	return m
}

// A printer writes a rail as a person reads it: chips in square brackets, those without a value in
// angle brackets.
type printer struct{ strings.Builder }

func (p *printer) line(depth int, format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	fmt.Fprintf(p, "%s%s\n", strings.Repeat("  ", depth), text)
}

func chipText(c Chip) string {
	switch {
	case c.Bare:
		return "<" + c.Words + ">"
	case c.Hand:
		return "[by hand: " + c.Words + "]"
	}
	return "[" + c.Words + "]"
}

func said(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Words)
		if p.Chip != nil {
			b.WriteString(chipText(*p.Chip))
		}
	}
	return b.String()
}

func (p *printer) condition(depth int, label string, c *Condition) {
	if c == nil {
		return
	}
	if c.Group == "" {
		p.line(depth, "%s %s", label, said(c.Pieces))
		return
	}
	p.line(depth, "%s %s:", label, c.Group)
	for i := range c.Of {
		p.condition(depth+1, "-", &c.Of[i])
	}
}

func (p *printer) steps(depth int, steps Steps) {
	for _, c := range steps.Cards {
		text := said(c.Pieces)
		for _, m := range c.More {
			text += " · " + m.Label + " " + chipText(m)
		}
		p.line(depth, "%d. %s", c.N, text)
		if c.Question != nil && (c.Question.Group != "" || len(c.Question.Pieces) > 0) {
			p.condition(depth+1, "that", c.Question)
		}
		p.condition(depth+1, "only if", c.If)
		if c.Text != nil {
			text := ""
			for _, part := range c.Text.Parts {
				if part.Chip {
					text += "[" + part.Words + "]"
				} else {
					text += part.Words
				}
			}
			p.line(depth+1, "“%s”", strings.ReplaceAll(text, "\n", " / "))
		}
		for _, b := range c.Branches {
			if b.Else {
				p.line(depth+1, "otherwise")
			}
			p.condition(depth+1, "if", b.If)
			p.steps(depth+2, b.Do)
		}
		if c.Loop != nil {
			p.steps(depth+1, *c.Loop)
		}
		for _, problem := range c.Problems {
			p.line(depth+1, "! %s", problem.Message)
		}
	}
}

// rail writes a view as text.
func rail(v View) string {
	p := &printer{}
	text := said(v.When.Pieces)
	for _, m := range v.When.More {
		text += " · " + m.Label + " " + chipText(m)
	}
	p.line(0, "when %s", text)
	p.condition(0, "only if", v.If)
	p.steps(0, v.Do)
	for _, e := range v.Cancel {
		p.line(0, "ends early when %s", chipText(e.Events))
		p.condition(1, "if", e.If)
	}
	for _, b := range v.Bounds {
		p.line(0, "bound: %s", said(b.Pieces))
	}
	if len(v.OnError.Cards) > 0 {
		p.line(0, "if something fails")
		p.steps(1, v.OnError)
	}
	return p.String()
}

// code matches what people who write no code would not write.
var code = regexp.MustCompile(`[{}=_]|\(\)|by hand|⟦|%!`)

// TestRail shows examples as they are read on the rail in both languages, without a character of
// code.
func TestRail(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..", "examples")
	for _, name := range []string{"away-reply", "sla-escalation", "menu", "unassigned-sweep"} {
		text, err := os.ReadFile(filepath.Join(root, name, "rules.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := form.Read(catalog, text, name)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".txtar")
		got := ""
		for _, l := range words.Languages {
			shown := rail(maker(l.Code, text).View(f, nil))
			if found := code.FindString(shown); found != "" {
				t.Errorf("%s has %q in it:\n%s", name, found, shown)
			}
			got += "-- " + l.Code + " --\n" + shown
		}
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func cron(f form.Form) string {
	if f.When.Schedule == nil {
		return ""
	}
	return f.When.Schedule.Cron
}

// TestNoCodeInExamples shows that every rule of the examples, and of a desk with sixteen rules, is
// read without a character of code, but for a timetable in the notation of cron.
func TestNoCodeInExamples(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	shown := 0
	for _, pattern := range []string{"examples/*/rules.yaml", "cmd/quando/testdata/sixteen/rules/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			set, _ := rules.Compile([]*rules.File{rules.Parse(file, text)}, rules.Options{Catalog: builtin.Catalog()})
			for _, r := range set.Rules {
				f, err := form.Read(builtin.Catalog(), text, r.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range words.Languages {
					said := rail(maker(l.Code, text).View(f, nil))
					said = strings.NewReplacer("America/Sao_Paulo", "", "[by hand: "+cron(f)+"]", "").Replace(said)
					if found := code.FindString(said); found != "" {
						t.Errorf("%s has %q in it:\n%s", r.ID, found, said)
					}
					shown++
				}
			}
		}
	}
	if shown < 60 {
		t.Errorf("%d rules were looked at", shown)
	}
}

// TestEveryVerbHasASentence shows that a step of any verb is told in words of its own, and that a
// new one asks for what it needs.
func TestEveryVerbHasASentence(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages {
		m := maker(l.Code, nil)
		for _, v := range m.Catalogue.Verbs {
			if !m.Knows("do." + v.Name) {
				t.Errorf("%s has no sentence", v.Name)
				continue
			}
			view := m.View(form.Form{ID: "x", When: form.When{Events: []string{"message.received"}}, Do: []form.Step{{Verb: v.Name}}}, nil)
			shown := rail(view)
			if found := code.FindString(shown); found != "" {
				t.Errorf("%s: %s", v.Name, shown)
			}
			needs := v.Control && v.Name != "stop" && v.Name != "choose" && v.Name != "stop_if" && v.Name != "set" && v.Name != "log"
			if needs && !strings.Contains(shown, "<") {
				t.Errorf("%s asks for nothing: %s", v.Name, shown)
			}
		}
		if verbs := m.Verbs(); len(verbs) != len(m.Catalogue.Verbs) {
			t.Errorf("%d of %d verbs can be chosen", len(verbs), len(m.Catalogue.Verbs))
		}
	}
}

// TestPlaces shows that a problem is told at the card that it is about.
func TestPlaces(t *testing.T) {
	t.Parallel()
	text := `rules:
  - id: other
    when: nonsense
    do: [{ log: x }]
  - id: x
    when: nonsense
    if: mesage.text == "x"
    do:
      - log: x
      - choose:
          - if: contact.name == nil
            do:
              - send_mesage: x
          - else:
              - log: x
              - wait: long
        if: nobody
      - for_each:
          in: messages
          do: [{ lgo: x }]
          as: m
`
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: catalog})
	_ = set
	var list []Problem
	for _, p := range problems {
		list = append(list, Problem{Line: p.Line, Column: p.Column, Message: p.Message})
	}
	Places([]byte(text), "x", list)
	got := map[string][]Problem{}
	for _, p := range list {
		if p.here {
			got[p.Path] = append(got[p.Path], p)
		}
	}
	for path, want := range map[string]string{
		"/when": "nonsense", "/if": "mesage", "/do/1/args/branches/branches/0/do/0": "send_mesage", "/do/1/args/branches/branches/1/do/1": "long", "/do/1": "nobody", "/do/2": "messages", "/do/2/args/do/steps/0": "lgo",
	} {
		if len(got[path]) == 0 || !strings.Contains(got[path][0].Message, want) {
			t.Errorf("%s: %+v", path, got[path])
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestEveryChoiceHasWords shows that whatever can be chosen or given is named in both languages.
func TestEveryChoiceHasWords(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages {
		w := &writer{Maker: maker(l.Code, nil)}
		values := func(where, name string, list []string) {
			for _, v := range list {
				if name != "method" && !w.Knows("fixed."+name+"."+v) && !w.Knows("value."+name+"."+v) {
					t.Errorf("%s: %s has no words for %s", where, name, v)
				}
			}
		}
		var arguments func(where string, list []form.Argument)
		arguments = func(where string, list []form.Argument) {
			for _, a := range list {
				if !w.Knows("field." + a.Name) {
					t.Errorf("%s: %s has no name", where, a.Name)
				}
				values(where, a.Name, a.Values)
				arguments(where+" "+a.Name, a.Fields)
			}
		}
		for _, v := range w.Catalogue.Verbs {
			arguments(v.Name, v.Args)
		}
		for _, e := range w.Catalogue.Each {
			arguments(e.Name, e.Filters)
			values("schedules", "each", []string{e.Name})
		}
		for _, k := range w.Catalogue.Keys {
			if k.Name != "stage" {
				values("rules", k.Name, k.Values)
			}
		}
		values("schedules", "late", missed)
		for _, e := range w.Catalogue.Events {
			if !w.Knows("when." + e.Name) {
				t.Errorf("%s has no words", e.Name)
			}
		}
	}
}
