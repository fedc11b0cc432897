package engine_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/journal"
)

const long = `set: { at: "{{ now() }}", n: "{{ 3 }}", words: "{{ split('a b', ' ') }}" }
      - send_message: first
      - send_message: { text: "to Bia", to: { phone: "` + bia + `", channel: Main } }
      - for_each:
          in: words
          as: word
          do:
            - choose:
                - if: word == "a"
                  do: [{ wait: 3m }, { send_message: "word {{ word }} {{ n + 1 }}" }]
                - else: [{ send_message: { text: "other {{ word }}", to: { phone: "` + bia + `", channel: Main } } }]
            - wait: 2m
      - wait_for: { event: attendance.closed, timeout: 5m }
        id: answer
      - add_labels: [vip]
      - send_message: "{{ n }} {{ answer == nil }}"
      - stop: over`

var stride = flag.Int("stride", 9, "every how many points TestDeathInALongRun kills the engine")

// TestDeathInALongRun shows that a run with waits, branches, loops and moves between lanes ends the
// same wherever the process dies.
func TestDeathInALongRun(t *testing.T) {
	whole := runStep(t, long, 0)
	if whole.state != journal.Stopped {
		t.Fatal(whole.state)
	}
	for n := 3; n <= len(whole.points); n += *stride {
		t.Run(whole.points[n-1], func(t *testing.T) {
			t.Parallel()
			got := runStep(t, long, n)
			if !slices.Equal(got.effects, whole.effects) || got.state != whole.state || !slices.Equal(got.steps, whole.steps) {
				t.Errorf("dead at point %d, %s:\n got %s\nwant %s\n %v %v", n, whole.points[n-1], strings.Join(got.effects, "\n"), strings.Join(whole.effects, "\n"), got.state, got.steps)
			}
		})
	}
}
