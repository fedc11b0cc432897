package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

var errFlaky = errors.New("disk full")

// flaky is a journal that fails now and then, before or after an operation.
type flaky struct {
	fileJournal
	mu     sync.Mutex
	random *rand.Rand
	share  float64
	failed int
}

func (j *flaky) fails() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.random.Float64() >= j.share {
		return nil
	}
	j.failed++
	return errFlaky
}

func (j *flaky) heal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.share = 0
}

func (j *flaky) failures() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

func (j *flaky) around(do func() error) error {
	if err := j.fails(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return j.fails()
}

func (j *flaky) Save(ctx context.Context, l *journal.Lane, c *journal.Change) error {
	return j.around(func() error { return j.fileJournal.Save(ctx, l, c) })
}

func (j *flaky) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	if err := j.fails(); err != nil {
		return nil, err
	}
	return j.fileJournal.Caused(ctx, workspace, typ, objects, since)
}

func (j *flaky) Happened(ctx context.Context, workspace, lane string, types []string, since time.Time, n int) ([]*journal.Event, error) {
	if err := j.fails(); err != nil {
		return nil, err
	}
	return j.fileJournal.Happened(ctx, workspace, lane, types, since, n)
}

// TestFlakyJournal shows that a journal that fails for a while loses nothing, duplicates nothing,
// and leaves no lane claimed.
func TestFlakyJournal(t *testing.T) {
	var broken *flaky
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    cancel_on: [attendance.closed]
    do:
      - send_message: "one {{ message.text }}"
      - add_labels: [vip]
      - wait: 100ms
      - create_card: { board: Sales, title: "{{ message.text }}" }
      - send_message: "two {{ message.text }}"
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			broken = &flaky{fileJournal: j, random: rand.New(rand.NewPCG(1, 2)), share: 0.25}
			return broken
		}
		o.timeout = 300 * time.Millisecond
	})
	d.live()
	const customers = 30
	for i := range customers {
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", i), Name: "Somebody", Text: fmt.Sprint(i)}))
	}
	d.until("it has failed often", func() bool { return broken.failures() >= 60 })
	broken.heal()
	d.until("every run is done", func() bool {
		return len(d.states("it")) == customers && !slices.ContainsFunc(d.states("it"), func(s journal.State) bool { return s != journal.Done })
	})
	got := d.effects()
	all := len(got)
	slices.Sort(got)
	if n := len(slices.Compact(got)); all != 4*customers || n != 2*customers+2 {
		t.Errorf("%d effects, %d of them different", all, n)
	}
}
