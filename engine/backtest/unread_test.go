package backtest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service"
)

// TestRecordThatCannotBeRead lets each read of the journal fail once. A replay that continued
// without the answer would let a run go past the event that ended it, and report false differences;
// so it must end.
func TestRecordThatCannotBeRead(t *testing.T) {
	step := int64(1)
	if testing.Short() {
		step = 7
	}
	for _, c := range []struct{ rules, story, from, to string }{
		{sla, nobodyAnswersAna, "15m of", "20m of"},
		{away, evening, `human_active("15m")`, `human_active("30m")`},
		{away, evening, `not human_active("15m")`, `not has_label("vip")`},
	} {
		tell(t, c.rules, c.story, func(s *scene) {
			record := s.options.Journal
			set := desktest.Compile(t, calendar+replace(c.rules, c.from, c.to))
			for at := int64(1); ; at += step {
				torn := &failingJournal{Journal: record, at: at}
				o := s.options
				o.Journal = torn
				o.Desk = builtin.NewOffline(builtin.OfflineOptions{Own: func(ctx context.Context, m service.Message) (bool, error) {
					own, err := torn.Caused(ctx, o.Workspace, "message.sent", []string{m.ID}, time.Time{})
					return len(own) > 0, err
				}})
				_, err := backtest.Run(t.Context(), o, set)
				if torn.reads.Load() < at {
					if err != nil || at < 10 {
						t.Errorf("%d reads: %v", at, err)
					}
					return
				}
				if !errors.Is(err, errTorn) {
					t.Errorf("read %d (%s) fails: %v", at, torn.failed.Load(), err)
				}
			}
		})
	}
}

var errTorn = errors.New("the file cannot be read")

// A failingJournal cannot be read once.
type failingJournal struct {
	backtest.Journal
	at     int64
	reads  atomic.Int64
	failed atomic.Value
}

func (j *failingJournal) tears(what string) error {
	if j.reads.Add(1) != j.at {
		return nil
	}
	j.failed.Store(what)
	return errTorn
}

func (j *failingJournal) ListEvents(ctx context.Context, f journal.EventFilter) ([]*journal.Event, error) {
	if err := j.tears("ListEvents"); err != nil {
		return nil, err
	}
	return j.Journal.ListEvents(ctx, f)
}

func (j *failingJournal) ListRuns(ctx context.Context, f journal.RunFilter) ([]*journal.Run, error) {
	if err := j.tears("ListRuns"); err != nil {
		return nil, err
	}
	return j.Journal.ListRuns(ctx, f)
}

func (j *failingJournal) FindEvent(ctx context.Context, workspace, id string) (*journal.Event, error) {
	if err := j.tears("FindEvent"); err != nil {
		return nil, err
	}
	return j.Journal.FindEvent(ctx, workspace, id)
}

func (j *failingJournal) FindRun(ctx context.Context, id int64) (*journal.Run, error) {
	if err := j.tears("FindRun"); err != nil {
		return nil, err
	}
	return j.Journal.FindRun(ctx, id)
}

func (j *failingJournal) Version(ctx context.Context, hash string) (string, error) {
	if err := j.tears("Version"); err != nil {
		return "", err
	}
	return j.Journal.Version(ctx, hash)
}

func (j *failingJournal) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	if err := j.tears("Caused"); err != nil {
		return nil, err
	}
	return j.Journal.Caused(ctx, workspace, typ, objects, since)
}
