package studio

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules/form"
)

const edited = `rules:
  - id: x
    when: message.received
    if:
      - closed("office") # the calendar of the desk
      - conversation.kind == 'direct'
    do:
      - send_message: Hello
      - choose:
          - if: contact.name == nil
            do:
              - log: nobody
          - else:
              - log: somebody
      - wait: 15m
        if: has_label("vip") or muted()
`

// edit applies edits, each given as JSON, and returns the text.
func edit(t *testing.T, text string, edits ...string) (string, error) {
	t.Helper()
	for _, one := range edits {
		var e Edit
		if err := json.Unmarshal([]byte(one), &e); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		f, err := form.Read(builtin.Catalog(), []byte(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		if f, err = Apply(f, e); err != nil {
			return text, err
		}
		out, err := form.Write(builtin.Catalog(), []byte(text), "x", f)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", one, err)
		}
		text = string(out)
	}
	return text, nil
}

// lines returns the lines that two texts do not share.
func lines(was, now string) (out []string) {
	in := func(list []string, line string) bool {
		for _, l := range list {
			if l == line {
				return true
			}
		}
		return false
	}
	old, later := strings.Split(was, "\n"), strings.Split(now, "\n")
	for _, l := range old {
		if !in(later, l) {
			out = append(out, "-"+strings.TrimSpace(l))
		}
	}
	for _, l := range later {
		if !in(old, l) {
			out = append(out, "+"+strings.TrimSpace(l))
		}
	}
	return out
}

// TestApply shows that an edit changes the lines that it is about, and no other.
func TestApply(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		edits []string
		want  []string
	}{
		{"the calendar of a condition", []string{`{"op":"set","path":"/if/~if/of/0/blanks/calendar/text","value":"shop"}`}, []string{`-- closed("office") # the calendar of the desk`, `+- closed("shop") # the calendar of the desk`}},
		{"the contrary", []string{`{"op":"set","path":"/if/~if/of/1/not","value":true}`}, []string{`-- conversation.kind == 'direct'`, `+- conversation.kind != "direct"`}},
		{"one more condition", []string{`{"op":"add","path":"/if/~if/of/2","value":{"sentence":"muted"}}`}, []string{`+- muted()`}},
		{"a condition less", []string{`{"op":"remove","path":"/if/~if/of/1"}`}, []string{`-- conversation.kind == 'direct'`}},
		{"any instead of all", []string{`{"op":"group","path":"/if/~if","value":"any"}`}, []string{`-- closed("office") # the calendar of the desk`, `-- conversation.kind == 'direct'`, `+- closed("office") or conversation.kind == "direct" # the calendar of the desk`}},
		{"or, behind one condition", []string{`{"op":"group","path":"/if/~if/of/1","value":{"group":"any","of":[{"sentence":"muted"}]}}`}, []string{`-- conversation.kind == 'direct'`, `+- conversation.kind == "direct" or muted()`}},
		{"the first condition of a step", []string{`{"op":"add","path":"/do/0/if/~if/of/0","value":{"sentence":"muted"}}`}, []string{`+if: muted()`}},
		{"the last but one of a group", []string{`{"op":"remove","path":"/do/2/if/~if/of/1"}`}, []string{`-if: has_label("vip") or muted()`, `+if: has_label("vip")`}},
		{"all of them", []string{`{"op":"remove","path":"/do/2/if/~if"}`}, []string{`-if: has_label("vip") or muted()`}},
		{"an argument that was not there", []string{`{"op":"set","path":"/do/0/args/media","value":"price-list.pdf"}`}, []string{`-- send_message: Hello`, `+- send_message: { text: Hello, media: price-list.pdf }`}},
		{"an argument less", []string{`{"op":"set","path":"/do/0/args/media","value":"a.pdf"}`, `{"op":"set","path":"/do/0/args/media"}`, `{"op":"set","path":"/do/0/args/text","value":"Bye"}`}, []string{`-- send_message: Hello`, `+- send_message: { text: Bye }`}},
		{"a list", []string{`{"op":"add","path":"/do/0","value":{"verb":"add_labels"}}`, `{"op":"set","path":"/do/0/args/labels","value":["vip","new"]}`}, []string{`+- add_labels: [vip, new]`}},
		{"a step into a branch", []string{`{"op":"move","path":"/do/0","to":"/do/1/args/branches/branches/1/do/1"}`}, []string{"-- send_message: Hello", "+- send_message: Hello"}},
		{"a step out of a branch", []string{`{"op":"add","path":"/do/1/args/branches/branches/0/do/1","value":{"verb":"stop"}}`, `{"op":"move","path":"/do/1/args/branches/branches/0/do/0","to":"/do/3"}`}, []string{"-- log: nobody", "+- stop", "+- log: nobody"}},
		{"a way, which still needs its condition", []string{`{"op":"add","path":"/do/1/args/branches/branches/1","value":{"do":[{"verb":"stop"}]}}`}, []string{"+- if: true", "+- stop"}},
		{"its condition", []string{`{"op":"add","path":"/do/1/args/branches/branches/1","value":{"do":[{"verb":"stop"}]}}`, `{"op":"add","path":"/do/1/args/branches/branches/1/if/~if/of/0","value":{"sentence":"muted"}}`}, []string{"+- if: muted()", "+- stop"}},
		{"a bound", []string{`{"op":"set","path":"/limit","value":{"times":"1","per":"12h"}}`}, []string{"+limit: { times: 1, per: 12h }"}},
		{"what ends it early", []string{`{"op":"add","path":"/cancel_on/0","value":{"events":["attendance.closed"]}}`}, []string{"+cancel_on: [attendance.closed]"}},
	} {
		got, err := edit(t, edited, tt.edits...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, lines(edited, got)); diff != "" {
			t.Errorf("%s:\n%s\n%s", tt.name, diff, got)
		}
	}
}

// TestMoved shows where a step stands after it was moved or copied.
func TestMoved(t *testing.T) {
	t.Parallel()
	order := func(text string) (list []string) {
		f, err := form.Read(builtin.Catalog(), []byte(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Do {
			list = append(list, s.Verb)
		}
		return list
	}
	for e, want := range map[string][]string{
		`{"op":"move","path":"/do/0","to":"/do/3"}`:                               {"choose", "wait", "send_message"},
		`{"op":"move","path":"/do/0","to":"/do/2"}`:                               {"choose", "send_message", "wait"},
		`{"op":"move","path":"/do/2","to":"/do/0"}`:                               {"wait", "send_message", "choose"},
		`{"op":"copy","path":"/do/0","to":"/do/1"}`:                               {"send_message", "send_message", "choose", "wait"},
		`{"op":"move","path":"/do/1/args/branches/branches/0/do/0","to":"/do/0"}`: {"log", "send_message", "choose", "wait"},
	} {
		got, err := edit(t, edited, e)
		if diff := cmp.Diff(want, order(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", e, err, diff)
		}
	}
}

// TestWrongEdits shows that what fits nothing changes nothing.
func TestWrongEdits(t *testing.T) {
	t.Parallel()
	for _, e := range []string{
		`{"op":"set","path":""}`, `{"op":"set","path":"do"}`, `{"op":"remove","path":"/do/9"}`, `{"op":"remove","path":"/do/x"}`, `{"op":"add","path":"/do/9","value":{"verb":"log"}}`, `{"op":"add","path":"/do/0"}`,
		`{"op":"move","path":"/do/1","to":"/do/1/args/branches/branches/0/do/0"}`, `{"op":"move","path":"/do/0","to":"x"}`, `{"op":"set","path":"/do/0/verb/x/y","value":1}`, `{"op":"set","path":"/when","value":"x"}`,
		`{"op":"burn","path":"/do/0"}`, `{"op":"group","path":"/if/~if/of/0","value":"some"}`, `{"op":"group","path":"/do/0/if/~if","value":"any"}`, `{"op":"set","path":"/if/~if/of/0/of","value":7}`, `{"op":"set","path":"/do/0/args/text","value":7}`, `{"op":"set","path":"/do/~if/x","value":7}`, `{"op":"set","path":"/name/~why","value":7}`,
	} {
		if got, err := edit(t, edited, e); !errors.Is(err, ErrEdit) {
			t.Errorf("%s: %v\n%s", e, err, got)
		}
	}
}

// FuzzApply shows that no edit panics, and that what an edit makes is a form.
func FuzzApply(f *testing.F) {
	for _, path := range []string{"/if/~if/of/0", "/do/1/args/branches/branches/0/do/0", "/do/0/args/text", "/limit/per", "/do/2/if/~if/of/1/blanks/x", "/do/0/args/text/~value", "/when/events/0"} {
		for _, op := range []Op{Set, Add, Remove, Move, Copy, Group} {
			f.Add(string(op), path, `"any"`, "/do/0")
			f.Add(string(op), path, `{"group":"any","of":[{"sentence":"muted"}]}`, "/if/~if/of/0")
		}
	}
	rule, err := form.Read(builtin.Catalog(), []byte(edited), "x")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, op, path, value, to string) {
		e := Edit{Op: Op(op), Path: path, To: to}
		if json.Unmarshal([]byte(value), &e.Value) != nil {
			return
		}
		got, err := Apply(rule, e)
		if err != nil {
			return
		}
		if again, err := Apply(got, Edit{Op: Set, Path: "/name", Value: got.Name}); err != nil || again.Name != got.Name {
			t.Errorf("%+v makes what is no form: %v", e, err)
		}
	})
}

// TestEmptyTextStays shows that an empty text which a rule remembers survives a change elsewhere.
func TestEmptyTextStays(t *testing.T) {
	t.Parallel()
	text := "rules:\n  - id: x\n    when: manual\n    do:\n      - set: { note: \"\", name: Ana }\n      - log: one\n"
	f, err := form.Read(builtin.Catalog(), []byte(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	if f, err = Apply(f, Edit{Op: Set, Path: "/do/1/args/text", Value: "two"}); err != nil {
		t.Fatal(err)
	}
	out, err := form.Write(builtin.Catalog(), []byte(text), "x", f)
	if want := strings.Replace(text, "one", "two", 1); err != nil || string(out) != want {
		t.Errorf("%v:\n%s", err, out)
	}
}
