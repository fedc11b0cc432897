package engine_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// processorTime returns the processor time that the process has used so far.
func processorTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

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

// TestManyMentions shows that finding the mentions of an event takes four times as long for four
// times as many.
func TestManyMentions(t *testing.T) {
	cost := func(n int) time.Duration {
		data := map[string]any{}
		for i := range n {
			name := fmt.Sprint(i)
			data["o"+name] = map[string]any{"chat": map[string]any{"name": "x" + name, "phone": name}, "contact": map[string]any{"name": name}}
		}
		began := processorTime(t)
		if got := len(journal.Mentions(data)); got != 3*n {
			t.Fatalf("%d mentions of %d", got, 3*n)
		}
		return processorTime(t) - began
	}
	small, large := cost(4000), cost(16000)
	t.Logf("4,000: %v, 16,000: %v", small, large)
	if large > 8*small+time.Second { // it would be four seconds if the cost were quadratic
		t.Errorf("4,000 objects take %v of processor time, and 16,000 take %v", small, large)
	}
}
