package sentence_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
)

// TestText shows a text with chips: read, changed, and written with everything else as it was.
func TestText(t *testing.T) {
	t.Parallel()
	const text = "Olá {{contact.name}}! Voltamos {{ next_open('office').Format('02/01 às 15:04') }}, {{ contact.name }}. {{ let x = 1; x }} {{ open"
	parts := sentence.ReadText(text)
	var words []string
	for _, p := range parts {
		if p.Chip == nil {
			words = append(words, p.Text)
		} else {
			words = append(words, "["+sentence.Scope{}.Chip(phrases.Portuguese, *p.Chip)+"]")
		}
	}
	want := []string{"Olá ", "[nome do cliente]", "! Voltamos ", "[próxima abertura de office · 17/11 às 08:00]", ", ", "[nome do cliente]", ". ", "[let x = 1; x]", " ", "{{ open"}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Error(diff)
	}
	if got := sentence.WriteText(text, parts); got != text {
		t.Errorf("nothing was changed, and it became %q", got)
	}
	formats := sentence.Formats(phrases.English)
	i := slices.IndexFunc(formats, func(f sentence.Format) bool { return f.Function == "weekday_time" })
	if formats[i].Example != "Tuesday, 8:00" {
		t.Errorf("the example is %q", formats[i].Example)
	}
	changed := formats[i].In(*parts[3].Chip)
	parts[3].Chip = &changed
	const written = "Olá {{contact.name}}! Voltamos {{ weekday_time(next_open('office'), 'en') }}, {{ contact.name }}. {{ let x = 1; x }} {{ open"
	if got := sentence.WriteText(text, parts); got != written {
		t.Errorf("one chip was changed, and it became %q", got)
	}
	plain := formats[0].In(changed)
	if got := sentence.PrintText([]sentence.Part{{Text: "Até "}, {Chip: &plain}}); got != "Até {{ next_open('office') }}" {
		t.Errorf("a new text is %q", got)
	}
}

// TestWriteAll shows that a change of one condition of a rule leaves the texts of the others alone.
func TestWriteAll(t *testing.T) {
	t.Parallel()
	was := []string{`closed('office')`, `"direct" == conversation.kind`, `not human_active("15m") && has_label('vip')`}
	c := sentence.ReadAll(was)
	if len(c.Of) != 4 || c.Group != sentence.All {
		t.Fatalf("read as %+v", c)
	}
	if got := sentence.WriteAll(was, c); !slices.Equal(got, was) {
		t.Errorf("nothing was changed, and it became %q", got)
	}
	c.Of[2].Blanks["duration"] = sentence.Term{Kind: sentence.Duration, Text: "20m"}
	want := []string{`closed('office')`, `"direct" == conversation.kind`, `not human_active("20m")`, `has_label("vip")`}
	if got := sentence.WriteAll(was, c); !slices.Equal(got, want) {
		t.Errorf("one condition was changed, and it became %q", got)
	}
}

// TestPrint shows how conditions are written that were put together by choosing.
func TestPrint(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]string{
		`(a or b and c) && !(d)`:               `(a or (b and c)) and not d`,
		`not (a == 1 || b in ['x'])`:           `not (a == 1 or b in ["x"])`,
		`not (not (a and b))`:                  `a and b`,
		`not (x matches 'y')`:                  `x not matches "y"`,
		`5 <= ((x ?? "") | len()) + 1`:         `len(x ?? "") + 1 >= 5`,
		`any(messages, {.by == "team"})`:       `any(messages, #.by == "team")`,
		`human_active(duration("15m"))`:        `human_active("15m")`,
		`(x > 1 ? y : "z") == ("a" + (b + c))`: `(x > 1 ? y : "z") == "a" + (b + c)`,
	} {
		if got := sentence.Print(sentence.Read(x)); got != want {
			t.Errorf("%s is printed as %s, want %s", x, got, want)
		}
	}
	half := sentence.Condition{Group: sentence.Any, Of: []sentence.Condition{{Group: sentence.All}, {Sentence: "muted"}, {}}}
	if got := sentence.Print(half); got != "muted()" {
		t.Errorf("a group with empty ones in it is printed as %q", got)
	}
}

// TestByHand shows that only the smallest part that no sentence says is by hand.
func TestByHand(t *testing.T) {
	t.Parallel()
	for x, want := range map[string][]string{
		`open("office") and (let n = 1; n > 0) and muted()`: {`let n = 1; n > 0`},
		`contact.name == reverse(contact.city)`:             {`reverse(contact.city)`},
		`open("office"`:                                     {`open("office"`},
		`(a?.b).c == 1`:                                     nil,
		`a?.b[0].c == 1`:                                    nil,
		`muted() // at night`:                               {`muted() // at night`},
		`muted() and a != "//"`:                             nil,
	} {
		c := sentence.Read(x)
		if got := c.ByHand(); !slices.Equal(got, want) {
			t.Errorf("of %s %q is by hand, want %q", x, got, want)
		}
		if !sentence.Read(sentence.Print(c)).Same(c) {
			t.Errorf("%s is printed as %s", x, sentence.Print(c))
		}
	}
}

// FuzzText shows that a text that is read is written as it was.
func FuzzText(f *testing.F) {
	for _, x := range []string{"", "a {{ b }} c", "{{ '}}' }}", "{{{{ a }}", "{{ a }} {{a}}", "}}{{", "{{ {'a': 1}.a }}"} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x string) {
		if got := sentence.WriteText(x, sentence.ReadText(x)); got != x {
			t.Errorf("%q became %q", x, got)
		}
	})
}

// BenchmarkRead reads the conditions of a rule with 200 steps.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		for range 200 {
			sentence.Read(`attendance.status != "open" or attendance.first_response != nil`)
		}
	}
}
