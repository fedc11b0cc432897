package rules_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
)

func mustCompile(t *testing.T, text string) *rules.Set {
	t.Helper()
	set, problems := compile("r.yaml", text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set
}

// TestLastGoodVersion shows that the last good version of a broken rule stays in use, among the
// others, and the reasons stay visible.
func TestLastGoodVersion(t *testing.T) {
	before := mustCompile(t, `rules:
  - { id: a, when: message.received, if: message.by == "customer", do: [mark_read] }
  - { id: b, when: message.received, if: message.by == "customer", do: [mark_read] }
  - { id: gone, when: message.received, do: [mark_read] }
`)
	after, problems := compile("r.yaml", `rules:
  - { id: aa, when: message.received, do: [mark_read] }
  - { id: a, when: message.received, if: mesage.by == "customer", do: [mark_read] }
  - { id: c, when: message.received, if: message.text == "7", do: [mark_read] }
  - { id: b, when: message.received, if: message.text == "7", do: [mark_read] }
`)
	if len(problems) != 1 || len(after.Broken) != 1 {
		t.Fatal(problems)
	}
	set := after.With(before.Rule("a"))
	known := map[string]any{"message": map[string]any{"by": "customer", "text": "hello"}}
	if diff := cmp.Diff([]string{"a", "aa"}, candidateIDs(set, "message.received", known)); diff != "" {
		t.Errorf("a message of a customer (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "aa", "b", "c"}, candidateIDs(set, "message.received", nil)); diff != "" {
		t.Errorf("a message that tells nothing (-want +got)\n%s", diff)
	}
	if set.Rule("a").Version != before.Rule("a").Version || set.Rule("gone") != nil || after.Rule("a") != nil {
		t.Error("other rules are there than were asked for")
	}
	if diff := cmp.Diff(after.Broken, set.Broken); diff != "" {
		t.Errorf("what is broken (-want +got)\n%s", diff)
	}
	if v := set.Rule("a").Decide(context.Background(), newWorld()); v.Outcome != rules.Fired {
		t.Errorf("%+v", v)
	}
	replaced := set.With(before.Rule("b"))
	if replaced.Rule("b").Version != before.Rule("b").Version || len(replaced.Rules) != 4 || set.Rule("b").Version == before.Rule("b").Version {
		t.Error("the rule of the same id was not replaced, or in the wrong set")
	}
	if diff := cmp.Diff([]string{"a", "aa", "b"}, candidateIDs(replaced, "message.received", known)); diff != "" {
		t.Errorf("a message of a customer (-want +got)\n%s", diff)
	}
	// The sets that it was made of are as they were.
	if diff := cmp.Diff([]string{"a", "b", "gone"}, candidateIDs(before, "message.received", nil)); diff != "" {
		t.Errorf("the old set (-want +got)\n%s", diff)
	}
}

// TestLastGoodVersionClosesNoCycle shows that an old version is left out where it and today's rules
// would start each other for ever.
func TestLastGoodVersionClosesNoCycle(t *testing.T) {
	old := mustCompile(t, `rules:
  - { id: a, when: message.sent, from: any, do: [close_attendance] }
  - { id: d, when: message.sent, do: [mark_read] }
`)
	now := mustCompile(t, `rules:
  - { id: b, when: attendance.closed, from: any, do: [send_message: "hello"] }
`)
	set := now.With(old.Rule("a"), old.Rule("d"))
	if diff := cmp.Diff([]string{"d"}, candidateIDs(set, "message.sent", nil)); diff != "" || len(set.Cycles()) > 0 {
		t.Errorf("(-want +got)\n%s%v", diff, set.Cycles())
	}
	if diff := cmp.Diff([]string{"b"}, candidateIDs(set, "attendance.closed", nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
