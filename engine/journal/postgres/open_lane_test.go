package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
)

// TestToldTwiceInATransaction has deliveries of one event in one transaction, into two lanes: one
// is recorded, and the transaction runs once. A retry would delay every other delivery.
func TestToldTwiceInATransaction(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		j := open(t, postgrestest.Shared(t).Database(t), Options{})
		it := func(lane string) rules.Event {
			return rules.Event{Workspace: "default", ID: "it", Type: "message.received", Lane: lane, CreatedAt: time.Now(), ReceivedAt: time.Now()}
		}
		var ops []*operation
		for _, lane := range []string{"a", "b"} {
			e := &journal.Event{Event: it(lane), Decided: true}
			s := ledger.NewSave(j.Open("default", lane), &journal.Change{At: time.Now(), Fresh: e, Decided: []*journal.Event{e}, Release: true})
			if err := s.Encode(); err != nil {
				t.Fatal(err)
			}
			ops = append(ops, &operation{Operation: s.Operation()})
		}
		want := 1 // one of the two
		if accepted {
			ops = append(ops, &operation{Operation: ledger.Accept([]rules.Event{it("c")}, []string{"{}"}, []bool{false})})
			want = 0
		}
		recorded := 0
		for i, err := range j.accepts.commit(ops)[:2] {
			switch {
			case err == nil:
				recorded++
			case !errors.Is(err, journal.ErrOccupied):
				t.Errorf("delivery %d: %v", i, err)
			}
		}
		if recorded != want || j.accepts.n != 1 {
			t.Errorf("accepted %t: %d were recorded with their verdicts in %d transactions, want %d in 1", accepted, recorded, j.accepts.n, want)
		}
	}
}
