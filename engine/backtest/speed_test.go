package backtest_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/service"
)

// BenchmarkBacktest tries a changed rule on a journal with b.N thousand messages of a thousand
// customers.
func BenchmarkBacktest(b *testing.B) {
	const text = `
rules:
  - { id: greet, when: message.received, if: 'not (message.text contains "x")', limit: { times: 1, per: 12h }, do: [{ send_message: "Hello {{ contact.name }}" }, { add_labels: [vip] }] }
  - { id: quiet, when: message.received, if: 'message.text == "never"', do: [{ mark_read: }] }
`
	j := must(sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "journal.db"), sqlite.Options{}))
	defer j.Close()
	start := time.Date(2026, 11, 1, 8, 0, 0, 0, saoPaulo)
	end := fill(b, j, text, start, 1000*b.N)
	o := optionsOf(j, "default", service.Snapshot{}, end)
	for _, c := range []struct{ name, from, to string }{{"same", "", ""}, {"changed", "Hello", "Hi"}} {
		set := desktest.Compile(b, replace(text, c.from, c.to))
		began, used := time.Now(), processorTime(b)
		r, err := backtest.Run(b.Context(), o, set)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		used = processorTime(b) - used
		b.ReportMetric(float64(used.Microseconds())/float64(1000*b.N), "cpu-us/event-"+c.name)
		b.Logf("%s: %d events, %d effects, %d differences in %s, %s of a processor", c.name, r.Events, len(r.Effects), len(r.Differences), took.Round(time.Millisecond), used.Round(time.Millisecond))
	}
}

// processorTime is what counts where others use the machine too.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
