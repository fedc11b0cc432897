package form_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

var catalog = builtin.Catalog()

// few is a file with comments in every place, other rules around, and several styles.
const few = `# the desk's rules
calendars:
  office: { timezone: UTC, open: { mon-fri: [08:00-18:00] } }

rules:
  # the first
  - id: first
    when: message.received # any
    do:
      - mark_read

  # the one that is changed
  - id: away-reply
    name: Answer   # for people
    when: message.received
    gather: {quiet: 20s,   at_most: 2m} # bursts
    if:
      - closed("office")
      # a person is still there
      - not human_active("15m") # no
    limit: { times: 1, per: 12h }
    do:
      # say it
      - send_message: "Hello {{ contact.name }}!" # hello
        id: sent
      - add_labels: [after-hours, b]

      # and wait
      - wait: 15m of office
      - choose:
          - if: a == b   # one
            do:
              - stop: No answer
          # or
          - else:
              - log: |
                  several
                  lines
      - transfer: Supervisors

  - {id: last, when: attendance.closed, do: [close_attendance, {log: done}]}
tests: []
`

// changes says what one change of the form does to few: the lines that go and come.
func TestWrite(t *testing.T) {
	arg := func(f *form.Form, step int) *form.Arg { return &f.Do[step].Args[0] }
	tests := []struct {
		name   string
		change func(f *form.Form)
		diff   string
	}{
		{"a text", func(f *form.Form) { f.Name = "Answer: yes" }, `
-    name: Answer   # for people
+    name: "Answer: yes"   # for people`},
		{"a text in quotes", func(f *form.Form) { arg(f, 0).Text = "Bye" }, `
-      - send_message: "Hello {{ contact.name }}!" # hello
+      - send_message: "Bye" # hello`},
		{"a key of its own", func(f *form.Form) { f.Stage = "shadow" }, `
+    stage: shadow`},
		{"a key behind a list", func(f *form.Form) { f.Mode = "single" }, `
+    mode: single`},
		{"a key that goes", func(f *form.Form) { f.Gather = nil }, `
-    gather: {quiet: 20s,   at_most: 2m} # bursts`},
		{"a part of a mapping in braces", func(f *form.Form) { f.Gather.AtMost = "3m" }, `
-    gather: {quiet: 20s,   at_most: 2m} # bursts
+    gather: {quiet: 20s,   at_most: 3m} # bursts`},
		{"a part that goes", func(f *form.Form) { f.Gather.AtMost = "" }, `
-    gather: {quiet: 20s,   at_most: 2m} # bursts
+    gather: {quiet: 20s} # bursts`},
		{"a part that comes", func(f *form.Form) { f.Limit.By = "contact.id" }, `
-    limit: { times: 1, per: 12h }
+    limit: { times: 1, per: 12h, by: contact.id }`},
		{"one of a list", func(f *form.Form) { f.If[0] = `open("office")` }, `
-      - closed("office")
+      - open("office")`},
		{"one that goes with its comments", func(f *form.Form) { f.If = f.If[:1] }, `
-      # a person is still there
-      - not human_active("15m") # no`},
		{"one that comes", func(f *form.Form) { f.If = append(f.If, "x > 1: y") }, `
+      - "x > 1: y"`},
		{"a list that swaps", func(f *form.Form) { f.If[0], f.If[1] = f.If[1], f.If[0] }, `
-      - closed("office")
+      - closed("office")`},
		{"events become several", func(f *form.Form) { f.When.Events = append(f.When.Events, "message.sent") }, `
-    when: message.received
+    when: [message.received, message.sent]`},
		{"a schedule", func(f *form.Form) {
			f.When = form.When{Schedule: &form.Schedule{At: []string{"09:00"}, On: []string{"mon-fri"}}}
		}, `
-    when: message.received
+    when: { at: "09:00", on: mon-fri }`},
		{"a step's option", func(f *form.Form) { f.Do[0].Retry = &form.Retry{Times: "3"} }, `
+        retry: { times: 3 }`},
		{"a step's option that goes", func(f *form.Form) { f.Do[0].ID = "" }, `
-        id: sent`},
		{"another argument", func(f *form.Form) {
			f.Do[0].Args = append(f.Do[0].Args, form.Arg{Name: "reply_to", Text: "{{ message.external_id }}"})
		}, `
-      - send_message: "Hello {{ contact.name }}!" # hello
+      - send_message: { text: "Hello {{ contact.name }}!", reply_to: "{{ message.external_id }}" } # hello`},
		{"a label", func(f *form.Form) { arg(f, 1).List = append(arg(f, 1).List, "yes") }, `
-      - add_labels: [after-hours, b]
+      - add_labels: [after-hours, b, "yes"]`},
		{"a label that goes", func(f *form.Form) { arg(f, 1).List = arg(f, 1).List[1:] }, `
-      - add_labels: [after-hours, b]
+      - add_labels: [b]`},
		{"another verb", func(f *form.Form) {
			f.Do[4] = form.Step{Verb: "set_sector", Args: []form.Arg{{Name: "sector", Text: "Support"}}}
		}, `
-      - transfer: Supervisors
+      - set_sector: Support`},
		{"a step that moves with its comment", func(f *form.Form) {
			f.Do = append([]form.Step{f.Do[4], f.Do[2]}, f.Do[0], f.Do[1], f.Do[3])
		}, `
-      # and wait
-      - wait: 15m of office
-      - transfer: Supervisors
+      - transfer: Supervisors
+      # and wait
+      - wait: 15m of office`},
		{"a step that goes", func(f *form.Form) { f.Do = append(f.Do[:2], f.Do[3:]...) }, `
-      # and wait
-      - wait: 15m of office`},
		{"a step between", func(f *form.Form) {
			f.Do = append(f.Do[:1], append([]form.Step{{Verb: "mark_read"}}, f.Do[1:]...)...)
		}, `
+      - mark_read`},
		{"inside of a branch", func(f *form.Form) {
			b := f.Do[3].Args[0].Branches
			b[1].Do[0].Args[0].Text = "one\ntwo\n"
		}, `
-                  several
-                  lines
+                  one
+                  two`},
		{"a branch's condition", func(f *form.Form) { f.Do[3].Args[0].Branches[0].If = "a != b" }, `
-          - if: a == b   # one
+          - if: a != b   # one`},
		{"a step in a branch", func(f *form.Form) {
			b := &f.Do[3].Args[0].Branches[0]
			b.Do = append([]form.Step{{YAML: "log: x # why\nif: true"}}, b.Do...)
		}, `
+              - log: x # why
+                if: true`},
		{"steps for errors", func(f *form.Form) {
			f.OnError = []form.Step{{Verb: "log", Args: []form.Arg{{Name: "text", Text: "{{ error }}"}}}}
		}, `
+    on_error:
+      - log: "{{ error }}"`},
		{"a long step", func(f *form.Form) {
			f.Do[4].Args = append(f.Do[4].Args, form.Arg{Name: "reason", Text: strings.Repeat("long ", 20) + "enough"})
		}, `
-      - transfer: Supervisors
+      - transfer:
+          sector: Supervisors
+          reason: ` + strings.Repeat("long ", 20) + `enough`},
		{"a key without a field", func(f *form.Form) { f.YAML = map[string]string{"extra": "{a: 1}"} }, `
+    extra: {a: 1}`},
		{"the id", func(f *form.Form) { f.ID = "away" }, `
-  - id: away-reply
+  - id: away`},
		{"what cancels", func(f *form.Form) {
			f.CancelOn = []form.Match{{Events: []string{"attendance.closed"}}, {Events: []string{"message.sent"}, If: `message.by == "team"`}}
		}, `
+    cancel_on:
+      - attendance.closed
+      - { event: message.sent, if: message.by == "team" }`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, text := range []string{few, strings.ReplaceAll(few, "\n", "\r\n"), "\ufeff" + few} {
				f, err := form.Read(catalog, []byte(text), "away-reply")
				if err != nil {
					t.Fatal(err)
				}
				tt.change(&f)
				out, err := form.Write(catalog, []byte(text), "away-reply", f)
				if err != nil {
					t.Fatal(err)
				}
				eol := "\n"
				if strings.Contains(text, "\r\n") {
					eol = "\r\n"
				}
				if strings.Count(string(out), "\n") != strings.Count(string(out), eol) {
					t.Errorf("mixed line ends: %q", out)
				}
				if diff := cmp.Diff(strings.TrimPrefix(tt.diff, "\n"), lineDiff(text, string(out))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// lineDiff returns the lines that go and those that come.
func lineDiff(a, b string) string {
	x, y := lines(a), lines(b)
	length := make([][]int, len(x)+1)
	for i := range length {
		length[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var gone, come []string
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && length[i+1][j] >= length[i][j+1]:
			gone, i = append(gone, "-"+x[i]), i+1
		default:
			come, j = append(come, "+"+y[j]), j+1
		}
	}
	return strings.Join(append(gone, come...), "\n")
}

func lines(s string) []string {
	return strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}

var _ = rules.Parse
