package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/costtest"
)

// TestMentionsAreToldOnce shows that each person whom an event mentions is listed once: a contact
// before a conversation of the same name, in the order of the event.
func TestMentionsAreToldOnce(t *testing.T) {
	got := journal.Mentions(map[string]any{
		"a": map[string]any{"chat": map[string]any{"name": "Ana"}, "conversation": map[string]any{"name": "Team"}},
		"b": map[string]any{"contact": map[string]any{"name": "Ana", "phone": "1"}},
		"c": map[string]any{"customer": map[string]any{"name": "Bia", "phone": "1"}, "chat": map[string]any{"name": "Bia"}},
	})
	want := []journal.Mention{
		{Kind: journal.MentionName, Text: "Ana"}, {Kind: journal.MentionPhone, Text: "1"}, {Kind: journal.MentionName, Text: "Bia"}, {Kind: journal.MentionName, Text: "Team"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestManyMentions shows that finding the mentions of an event takes about 32 times as long for
// 32 times as many.
func TestManyMentions(t *testing.T) {
	of := func(n int) func() {
		data := map[string]any{}
		for i := range n {
			name := fmt.Sprint(i)
			data["o"+name] = map[string]any{"chat": map[string]any{"name": "x" + name, "phone": name}, "contact": map[string]any{"name": name}}
		}
		return func() {
			if got := len(journal.Mentions(data)); got != 3*n {
				t.Fatalf("%d mentions of %d", got, 3*n)
			}
		}
	}
	if got := costtest.Ratio(of(500), of(16_000)); got > 100 { // it would be 1,024 if the cost were quadratic
		t.Errorf("16,000 objects take %.0f times as long as 500", got)
	}
}
