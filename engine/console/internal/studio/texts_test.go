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
	for _, chip := range maker.Insertable(f, "/do/1/args/text", []string{"loja", "office"}, nil) {
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
	for _, chip := range maker.Insertable(f, "/do/0/args/text", nil, nil) {
		if strings.Contains(chip.Expression, "answer") || strings.Contains(chip.Expression, "next_open") {
			t.Errorf("%s is offered before it is there", chip.Expression)
		}
	}
}

// TestBySector shows that a text can have the numbers of all sectors at once, or that of one, of a
// list that no step has given a name to.
func TestBySector(t *testing.T) {
	t.Parallel()
	text := []byte("rules:\n  - id: x\n    when: { every: 1h }\n    do:\n      - list_attendances\n      - send_message: Hello\n")
	f, err := form.Read(catalog, text, "x")
	if err != nil {
		t.Fatal(err)
	}
	m := maker("en", text)
	f = m.WithNames(f)
	offered := map[string]TextChip{}
	for _, chip := range m.Insertable(f, "/do/1/args/text", nil, []string{"Sales", "Support"}) {
		offered[chip.Label] = chip
	}
	lines := offered["attendances found (attendance list), by sector"].Text
	want := "Sales: {{ count(attendance_list.items, #.sector_name == 'Sales') }}\nSupport: {{ count(attendance_list.items, #.sector_name == 'Support') }}\nWithout a sector: {{ count(attendance_list.items, #.sector_name == nil) }}"
	if lines != want {
		t.Errorf("the lines are\n%s", lines)
	}
	one := offered["number of the attendances found (attendance list) in the sector Sales"]
	if one.Expression != "count(attendance_list.items, #.sector_name == 'Sales')" || one.Hand {
		t.Errorf("one sector is %+v", one)
	}
	for _, chip := range m.TextChips(f, "/do/1/args/text", lines) {
		if chip.Hand {
			t.Errorf("%s is by hand", chip.Expression)
		}
	}
	values := m.Choices(f, "/do/1/if", nil).Values
	i := slices.IndexFunc(values, func(v Value) bool { return len(v.Blanks) == 1 && v.Blanks[0].From == "sector" })
	if i < 0 || values[i].Blanks[0].Path != "/blanks/condition/condition/blanks/y" {
		t.Error("a condition cannot ask for the number of a sector")
	}
}

// TestWhom shows that a step which has nobody to work on asks for somebody, and that a transfer can
// go to a person as well as to a sector.
func TestWhom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ when, do, said, picker string }{
		{"{ every: 1h }", "send_message: Hello", "Send a message to <choose whom>", "target"},
		{"{ every: 1h }", "send_message: { to: { person: Ana }, text: Hello }", "Send a message to [Ana]", "one"},
		{"message.received", "send_message: Hello", "Send a message", ""},
		{"message.received", "transfer: {}", "Transfer to <choose whom>", "one"},
	} {
		text := []byte("rules:\n  - id: x\n    when: " + c.when + "\n    do:\n      - " + c.do + "\n")
		f, err := form.Read(catalog, text, "x")
		if err != nil {
			t.Fatal(err)
		}
		card := maker("en", text).View(f, nil).Do.Cards[0]
		if got := said(card.Pieces); got != c.said {
			t.Errorf("%s is %q", c.do, got)
		}
		if last := card.Pieces[len(card.Pieces)-1].Chip; c.picker != "" && (last == nil || last.Picker != c.picker) {
			t.Errorf("%s is chosen with %+v", c.do, last)
		} else if card.Verb == "transfer" && (last.From != "person" || len(last.Others) != 1 || last.Others[0].From != "sector") {
			t.Errorf("a transfer is chosen with %+v", last)
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
