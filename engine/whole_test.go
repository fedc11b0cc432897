package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/service/sandbox"
)

// verified is a journal that is verified after every save, as a person may do at any time.
type verified struct {
	fileJournal
	t      *testing.T
	keeper *sqlite.Keeper
}

func (j *verified) Save(ctx context.Context, l *journal.Lane, c *journal.Change) error {
	err := j.fileJournal.Save(ctx, l, c)
	if j.keeper != nil {
		for _, finding := range must(j.keeper.Check(context.WithoutCancel(ctx), func(string) {})).Findings {
			j.t.Error(finding)
		}
	}
	return err
}

// TestWholeAtEveryMoment shows that a verification or a backup of the journal of a running engine
// finds nothing wrong with unfinished runs.
func TestWholeAtEveryMoment(t *testing.T) {
	kept := &verified{t: t}
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    do:
      - send_message: hello
      - wait: 50ms
      - create_card: { board: Sales, title: hello }
      - move_card: Proposal
      - transfer: { sector: Sales, reason: hello }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept.fileJournal = j
			return kept
		}
	})
	kept.keeper = must(sqlite.OpenKeeper(t.Context(), d.file, true))
	t.Cleanup(func() { _ = kept.keeper.Close() })
	d.live()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana", Text: "hello"}))
	d.until("the run is done", func() bool { return slices.Equal(d.states("it"), []journal.State{journal.Done}) })
}
