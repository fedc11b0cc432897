package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testStyle orders the keys of rules and sets rules apart, like the rule files' own style.
var testStyle = Style{
	Order: func(path string) []string {
		if path == "rules[]" {
			return []string{"id", "when", "if", "do"}
		}
		return nil
	},
	Apart: func(path string) bool { return path == "" || path == "rules" },
}

func TestFormat(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"indentation and spaces", "rules:\n- id:   a\n  do:\n      - x: [1,2,  3]\n", "rules:\n  - id: a\n    do:\n      - x: [1, 2, 3]\n"},
		{"keys in order", "rules:\n  - do: [a]\n    id: x\n    when: y\n", "rules:\n  - id: x\n    when: y\n    do: [a]\n"},
		{"comments move with their keys", "rules:\n  - # about do\n    do: [a] # beside do\n    # about id\n    id: x\n", "rules:\n  # about id\n  - id: x\n    # about do\n    do: [a] # beside do\n"},
		{"empty lines", "a: 1\n\n\n\nb: 2\nrules:\n  - id: x\n  - id: y\n", "a: 1\n\nb: 2\n\nrules:\n  - id: x\n\n  - id: y\n"},
		{"braces get their spaces", "a: {b: 1,c: {d: 2}}\n", "a: { b: 1, c: { d: 2 } }\n"},
		{"empty collections", "a: {  }\nb: [ ]\n", "a: {}\n\nb: []\n"},
		{"single quotes become double", "a: 'it''s'\nb: 'say \"hi\"'\n", "a: \"it's\"\n\nb: 'say \"hi\"'\n"},
		{"double quotes keep their escapes", "a: \"x\\u00e9\\ty\"\n", "a: \"x\\u00e9\\ty\"\n"},
		{"a folded plain text is joined", "a: one\n  two\n", "a: one two\n"},
		{"a literal block", "a: |\n     one\n       two\n\n     three\n", "a: |\n  one\n    two\n\n  three\n"},
		{"a folded block keeps its lines", "a: >-\n    one\n    two\n\n    three\n", "a: >-\n  one\n  two\n\n  three\n"},
		{"a block with a comment on its header", "a: | # why\n   text # not a comment\n", "a: | # why\n  text # not a comment\n"},
		{"a block that keeps its last lines", "a: |+\n  x\n\n\nb: 1\n", "a: |+\n  x\n\n\nb: 1\n"},
		{"a comment at the end of a list", "a:\n  - x\n  # last\nb: 1\n", "a:\n  - x\n  # last\n\nb: 1\n"},
		{"a comment at the end of the file", "a:\n  - x\n\n# the end\n", "a:\n  - x\n\n# the end\n"},
		{"a comment inside braces opens them", "a: { b: 1, # one\n  c: 2 }\n", "a:\n  b: 1 # one\n  c: 2\n"},
		{"a line too long opens its braces", "a: { b: \"" + strings.Repeat("x", 60) + "\", c: \"" + strings.Repeat("y", 60) + "\" }\n", "a:\n  b: \"" + strings.Repeat("x", 60) + "\"\n  c: \"" + strings.Repeat("y", 60) + "\"\n"},
		{"a commented-out rule stays before the next", "rules:\n  - id: a\n\n  # - id: b\n  #   do: []\n\n  - id: c\n", "rules:\n  - id: a\n\n  # - id: b\n  #   do: []\n\n  - id: c\n"},
		{"comments behind keys of blocks", "rules: # all of them\n  - id: a\n    do: # steps\n      - x\n", "rules: # all of them\n  - id: a\n    do: # steps\n      - x\n"},
		{"anchors and aliases", "a: &x [1,2]\nb: *x\n", "a: &x [1, 2]\n\nb: *x\n"},
		{"anchored blocks", "a: &x\n  k: 1\nb: *x\n", "a: &x\n  k: 1\n\nb: *x\n"},
		{"nothing as a value", "a:\nb: {c: , d}\n", "a:\n\nb: { c: null, d: null }\n"},
		{"a list in a list", "a:\n  - - 1\n    - 2\n  - - 3\n", "a:\n  - - 1\n    - 2\n  - - 3\n"},
		{"only comments", "\n\n# hello\n\n\n# you\n", "# hello\n\n# you\n"},
		{"nothing", "", ""},
		{"windows line ends", "a: 1\r\nb:\r\n  - x # c\r\n", "a: 1\n\nb:\n  - x # c\n"},
		{"two comments beside a value", "if: # why\n  a # note\n", "# note\nif: a # why\n"},
		{"a pair in a list is not the list", "a: [b: 1]\nc: 2\n# d\ne: 3\n", "a: [{ b: 1 }]\n\nc: 2\n\n# d\ne: 3\n"},
		{"comment lines stay in order", "a:\n  - x\n  # one\n    # two\nb: 1\n", "a:\n  - x\n  # one\n  # two\n\nb: 1\n"},
		{"a comment behind the dash of nothing", "a: &q   \n\n-  # d", "a: &q\n  -\n\n# d\n"},
		{"a comment far below a list that is opened", "do: &q [a, # e\n b]\n\n     # d", "do: &q\n  - a # e\n  - b\n\n# d\n"},
		{"tags", "a: !!str 12\n", "a: !!str 12\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := Format("f.yaml", []byte(tt.in), testStyle)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again, problems := Format("f.yaml", got, testStyle)
			if len(problems) > 0 || string(again) != string(got) {
				t.Errorf("formatted again: %v\n%s", problems, cmp.Diff(string(got), string(again)))
			}
		})
	}
}

// meaning writes what a file means: the values in the file's order of lists, with the keys of
// mappings sorted.
func meaning(n *Node) string {
	if n == nil || n.Kind == Null {
		return "null"
	}
	switch n.Kind {
	case List:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = meaning(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case Mapping:
		parts := make([]string, len(n.Pairs))
		for i, p := range n.Pairs {
			parts[i] = meaning(p.Key) + ":" + meaning(p.Value)
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return n.yaml.ShortTag() + quote(n.Value)
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{
		"rules:\n- id: a # c\n  do:\n  - x: {a: 1}\n", "a: |\n  x\n # c\n", "a: >\n  x\n  y\n", "&a [*a]", "a: &x {b: *x}", "- - 1\n  - 2\n", "? a\n: b\n",
		"a: \"x\n\n  y\"\n", "{a: 1, # c\n b: 2}", "'a': 'b''c'", "a: !!int 3", "# c\n---\na: 1\n", "a: [\n# c\n]\n", "%YAML 1.2\n---\na\n", "a: |+\n\n\nb: 1\n",
		"a: *b", "a:\n  # c\n", "a: -\n", "- \n-\n", "\"a\\\n  b\": 1\n", "a: 'x\n  y'", "a: [b\n c]", "a:\n  b\n  c\n#d\n", "a: |1\n x\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out, problems := Format("f.yaml", text, testStyle)
		if len(problems) > 0 {
			return
		}
		before, problems := Read("f.yaml", text)
		if len(problems) > 0 {
			return
		}
		after, problems := Read("f.yaml", out)
		if len(problems) > 0 {
			t.Fatalf("formatted text has problems: %v\n%q", problems, out)
		}
		if a, b := meaning(before.Root), meaning(after.Root); a != b {
			t.Fatalf("meaning changed\nfrom %s\nto   %s\n%q\n%q", a, b, text, out)
		}
		again, problems := Format("f.yaml", out, testStyle)
		if len(problems) > 0 || string(again) != string(out) {
			t.Fatalf("not idempotent: %v\n%q\n%q\n%q", problems, text, out, again)
		}
	})
}
