package studio

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/form"
)

const withTexts = `vars: { shop: Centro }
rules:
  - id: x
    when: message.received
    do:
      - wait_for: { event: message.received, timeout: 1d }
        id: answer
      - send_message: "Hi {{ contact.name }}"
`

func readTexts(t *testing.T, code string) (*Maker, form.Form) {
	t.Helper()
	f, err := form.Read(builtin.Catalog(), []byte(withTexts), "x")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(words.Languages, func(l words.Language) bool { return l.Code == code })
	return &Maker{Language: words.Languages[i], Catalog: builtin.Catalog(), Catalogue: form.NewCatalogue(builtin.Catalog()), Vars: Vars([]byte(withTexts))}, f
}

// TestInsertable shows what can be put into a text: answers only behind the step that waits for
// them, openings of each calendar, and nothing that only a program reads.
func TestInsertable(t *testing.T) {
	t.Parallel()
	maker, f := readTexts(t, "pt")
	said := map[string]string{}
	var list []string
	for _, chip := range maker.Insertable(f, "/do/1/args/text", []string{"loja", "office"}) {
		said[chip.Label] = chip.Expression
		list = append(list, chip.Label)
		if chip.Hand {
			t.Errorf("%s is by hand", chip.Expression)
		}
	}
	for label, want := range map[string]string{
		"nome do cliente": "contact.name", "texto da resposta": "answer.message.text", "shop": "vars.shop",
		"próxima abertura de loja": "day_time(next_open('loja'), 'pt')", "próxima abertura de office": "day_time(next_open('office'), 'pt')",
	} {
		if said[label] != want {
			t.Errorf("%s is %q, want %q", label, said[label], want)
		}
	}
	for label, x := range said {
		if strings.Contains(x, "_id") || strings.Contains(x, "Weekday") || strings.Contains(x, "status") || strings.HasPrefix(x, "event.") {
			t.Errorf("%s (%s) says nothing to a customer", label, x)
		}
	}
	if list[0] != "nome do cliente" {
		t.Errorf("%s comes first", list[0])
	}
	for _, chip := range maker.Insertable(f, "/do/0/args/text", nil) {
		if strings.Contains(chip.Expression, "answer") || strings.Contains(chip.Expression, "next_open") {
			t.Errorf("%s is offered before it is there", chip.Expression)
		}
	}
}

// TestWays shows how a time can be written, in the language of the reader, as it would be now.
func TestWays(t *testing.T) {
	t.Parallel()
	maker, f := readTexts(t, "en")
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	ways := maker.Ways(f, "/do/1/args/text", `next_open('office').Format("02/01")`, now)
	want := []string{
		"tomorrow at 8:00 day_time(next_open('office'), 'en')", "Saturday, 8:00 weekday_time(next_open('office'), 'en')", "in 14 h 10 min time_until(next_open('office'), 'en')",
		"08:00 next_open('office').Format('15:04')", "14/11 next_open('office').Format('02/01') chosen",
	}
	for i, w := range want {
		got := ways[i].Example + " " + ways[i].Expression
		if ways[i].Chosen {
			got += " chosen"
		}
		if got != w {
			t.Errorf("%q, want %q", got, w)
		}
	}
	if names := maker.Ways(f, "/do/1/args/text", "contact.name", now); len(names) != 2 || names[1].Words != "customer's first name" || !names[0].Chosen {
		t.Errorf("a name can be written as %+v", names)
	}
	if other := maker.Ways(f, "/do/1/args/text", "attendance.protocol", now); len(other) > 0 {
		t.Errorf("a protocol can be written as %+v", other)
	}
}

// TestExample shows the rule that a text is tried with: nothing else is done, and what is not
// known yet stands there in words.
func TestExample(t *testing.T) {
	t.Parallel()
	maker, f := readTexts(t, "en")
	f.If = []string{`open("office")`}
	out := maker.Example(f, "/do/1/args/text", "Hi {{contact.name}}: {{ answer.message.text }}", true)
	text, err := form.Write(builtin.Catalog(), []byte(withTexts), "x", out)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.Contains(s, "Hi {{contact.name}}: ") || strings.Contains(s, "wait_for") || strings.Contains(s, "open(") {
		t.Errorf("the example is\n%s", s)
	}
	parts := ExampleParts(strings.Replace(out.Do[0].Args[0].Text, "{{contact.name}}", "Ana", 1))
	if len(parts) != 2 || parts[0].Words != "Hi Ana: " || !parts[1].Chip || parts[1].Words != "text of the answer" {
		t.Errorf("it is shown as %+v", parts)
	}
}
