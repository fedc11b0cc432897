package sentence_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/form/sentence"
)

// A filler fills the blanks of the whole catalogue, whatever their types.
type filler struct {
	*rand.Rand
	inside bool // of the condition of an item
}

func (f filler) literal() sentence.Term {
	m := formtest.Conditions{Rand: f.Rand}
	_, t := formtest.One(f.Rand, m.Text, m.Number, m.Length)()
	return t
}

func (f filler) name() sentence.Term {
	names := []string{"contact.name", "answer?.message?.text", "vars.x", "score", "before.items[0].assignee_name", `event.data["x: y"].z`, "steps.report.closed"}
	if f.inside {
		names = append(names, "#", "#.text", "#?.text")
	}
	return sentence.Term{Kind: sentence.Name, Text: formtest.One(f.Rand, names...)}
}

func (f filler) term(depth int) sentence.Term {
	switch n := f.IntN(8); {
	case n == 7 && depth > 0:
		c := f.condition(0)
		if c.Sentence != "yes" && c.Sentence != "always" { // which are other terms
			return formtest.Question(c)
		}
		return f.name()
	case n == 0:
		return f.literal()
	case n == 1:
		t := sentence.Term{Kind: sentence.List}
		for range f.IntN(3) {
			t.List = append(t.List, f.term(0))
		}
		return t
	case n == 2:
		return formtest.Wrapped(f.name(), formtest.One(f.Rand, "or_text", "or_zero", "or_list", "or_no", "trim", "lower", "int", "float", "string"))
	case n < 5 || depth == 0:
		return f.name()
	}
	return f.value(formtest.One(f.Rand, sentence.Values()...), depth-1)
}

func (f filler) value(form sentence.Form, depth int) sentence.Term {
	for {
		t := sentence.Term{Kind: sentence.Value, Value: form.Key, Blanks: f.blanks(form, depth)}
		x, y := t.Blanks["x"], t.Blanks["y"]
		switch {
		case form.Key == "since" && t.Blanks["time"].Kind == sentence.Duration && len(t.Blanks["time"].Wraps) == 0:
		case form.Key == "duration" && t.Blanks["text"].Kind == sentence.Text: // a literal
		case (form.Key == "minus" || form.Key == "plus") && x.Value == "now":
		case form.Key == "or_else" && (y.Text == "" || y.Text == "0") && len(y.Wraps) == 0: // a wrap
		default:
			return t
		}
	}
}

func (f filler) blanks(form sentence.Form, depth int) map[string]sentence.Term {
	var out map[string]sentence.Term
	for _, b := range form.Blanks {
		if out == nil {
			out = map[string]sentence.Term{}
		}
		t := f.term(depth)
		switch {
		case b.Kind == "condition":
			t = formtest.Question(filler{f.Rand, f.inside || form.Key != "choice"}.condition(depth))
		case b.Kind == "words":
			t = sentence.Term{Kind: sentence.List, List: []sentence.Term{f.literal(), f.name()}}
		case b.Kind == "span", form.Key == "ago", form.Key == "ahead":
			_, t = formtest.Conditions{Rand: f.Rand}.Length()
		case form.Key == "has" && b.Name == "item":
			t = f.literal()
		case b.Name == "x":
			t = f.name() // a literal at the left is read from the right
		}
		out[b.Name] = t
	}
	return out
}

func (f filler) condition(depth int) sentence.Condition {
	return f.said(formtest.One(f.Rand, sentence.Sentences()...), depth)
}

func (f filler) said(form sentence.Form, depth int) sentence.Condition {
	return sentence.Condition{Sentence: form.Key, Not: f.IntN(2) == 0, Blanks: f.blanks(form, max(depth-1, 0))}
}

// TestRandomModels shows that every sentence and every value of the catalogue, with anything in its
// blanks, is printed as an expression that is read as the same, also after it was JSON.
func TestRandomModels(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*seed, 1))
	for done := 0; done < wanted(); {
		for _, form := range sentence.Sentences() {
			want := filler{Rand: r}.said(form, 2)
			data, err := json.Marshal(want)
			var got sentence.Condition
			if err != nil || json.Unmarshal(data, &got) != nil || !got.Same(want) {
				t.Fatalf("%s is not the same from JSON", data)
			}
			text := sentence.Print(got)
			if diff := cmp.Diff(want, sentence.Read(text)); diff != "" {
				t.Fatalf("%s is read as another condition:\n%s", text, diff)
			}
			done++
		}
		for _, form := range sentence.Values() {
			want := filler{Rand: r}.value(form, 2)
			text := sentence.PrintValue(want)
			if diff := cmp.Diff(want, sentence.ReadValue(text)); diff != "" {
				t.Fatalf("%s is read as another value:\n%s", text, diff)
			}
			done++
		}
	}
}

// FuzzRead shows that reading loses nothing, whatever is written: what is printed is read as the
// same again.
func FuzzRead(f *testing.F) {
	for _, x := range []string{
		`a and (b or not c) && let x = 1; x == 1`, `(a?.b).c == 1 and open("x")`, `a?.b.Format("15:04") > "18:00"`, `1 < x < 5`, `not (a ?? false)`, `any(l, {.x > 1})`, `x // why`, `"a" | lower() == x`,
		`-x > 1`, `!!x`, `a[1:2] == [1, 2]`, `{"a": 1}.a == 1`, `b"x" == y`, `any(l, any(#, # > 1) and let z = #; z > 1)`, `if a { b } else { c }`, `x.y["z"] in 1..3`, `says()`, `has_label("a", "b")`, `"${name}"`,
		`(a < b) < c`, `(a > 1) == (b > 1)`, `a == (b == c)`, "`\xe5` == x", `a?.b[0].Format("x") == y`, `lower(a)?.b.Hour() > 1`, `(a?.b.Weekday()).String() == "x"`, `f(x)?.Hour() > 1`,
	} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x string) {
		c := sentence.Read(x)
		text := sentence.Print(c)
		if again := sentence.Read(text); !again.Same(c) {
			t.Errorf("%q is printed as %q, which is another condition:\n%s", x, text, cmp.Diff(c, again))
		}
		if sentence.Write(x, c) != x && !c.IsZero() {
			t.Errorf("%q is changed although nothing was", x)
		}
		v := sentence.ReadValue(x)
		text = sentence.PrintValue(v)
		if again := sentence.ReadValue(text); !again.Same(v) {
			t.Errorf("%q is printed as %q, which is another value:\n%s", x, text, cmp.Diff(v, again))
		}
	})
}
