package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
)

// slowVersions is a journal that is slow to read the version of one rule, once it is told to be.
type slowVersions struct {
	fileJournal
	rule   string
	slow   atomic.Bool
	answer chan struct{}
	reads  atomic.Int64
}

func (j *slowVersions) Version(ctx context.Context, hash string) (string, error) {
	source, err := j.fileJournal.Version(ctx, hash)
	if err == nil && strings.Contains(source, j.rule) {
		j.reads.Add(1)
		if j.slow.CompareAndSwap(true, false) {
			select {
			case <-j.answer:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	return source, err
}

// TestVersionsDoNotWaitForEachOther shows that while the version of a run is read and compiled,
// runs of other versions continue, and those of the same one wait for it instead of reading it,
// too.
func TestVersionsDoNotWaitForEachOther(t *testing.T) {
	kept := &slowVersions{rule: "slow", answer: make(chan struct{})}
	d := newDesk(t, `
rules:
  - { id: slow, when: message.received, if: message.text == "slow", do: [{ wait: 10m }, { send_message: "slow" }] }
  - { id: quick, when: message.received, if: message.text == "quick", do: [{ wait: 10m }, { send_message: "quick" }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept.fileJournal = j
			return kept
		}
	})
	d.customer(ana, "slow")
	d.customer("+5511966665555", "slow")
	d.customer(bia, "quick")
	if err := d.engine.SetRules("default", desktest.Compile(t, "rules: []")); err != nil {
		t.Fatal(err)
	}
	kept.slow.Store(true)
	d.live()
	d.until("the slow version is read", func() bool { return kept.reads.Load() > 0 })
	d.until("the run of another version goes on", func() bool { return slices.Equal(d.states("quick"), []journal.State{journal.Done}) })
	close(kept.answer)
	d.until("those of the slow version do too", func() bool { return slices.Equal(d.states("slow"), []journal.State{journal.Done, journal.Done}) })
	d.expectInAnyOrder(send+"slow", send+"slow", send+"quick")
	if n := kept.reads.Load(); n != 1 {
		t.Errorf("the version was read %d times", n)
	}
}
