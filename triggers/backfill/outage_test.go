package backfill_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/backfill"
)

// rulesOfAll use everything that can be found. The first two answer, and what is older than half an
// hour is late.
const rulesOfAll = `
rules:
  - { id: on-received, when: message.received, do: [{ send_message: "heard {{ message.id }}" }] }
  - { id: on-sent, when: message.sent, late: { skip_after: 40m }, do: [{ log: sent }] }
  - { id: on-opened, when: attendance.opened, do: [{ log: opened }] }
  - { id: on-closed, when: attendance.closed, do: [{ log: closed }] }
  - { id: on-created, when: kanban.card.created, do: [{ log: created }] }
  - { id: on-moved, when: kanban.card.moved, do: [{ log: moved }] }
  - { id: on-completed, when: kanban.card.completed, do: [{ log: completed }] }
`

// story is random activity on a desk, with the expected events.
type story struct {
	*desk
	random *rand.Rand
	want   map[string]bool // what happened, by type and identity
	cards  []*deal
	done   int
}

// A deal is a card on the board Sales.
type deal struct {
	id    string
	stage int
	blind bool // it was moved while the engine was down
}

var salesStages = []string{"Lead", "Proposal", "Follow-up", "Won"}

// goOn generates activity for a while. A card is moved at most once between two passes.
func (s *story) goOn(length time.Duration) {
	for end := s.clock().Add(length); s.clock().Before(end); s.pass(time.Duration(1+s.random.IntN(9)) * time.Minute) {
		n := s.random.IntN(12)
		switch s.random.IntN(5) {
		case 0, 1:
			w := s.customer(n, fmt.Sprint("message ", s.done))
			s.want["message.received "+w.Message.String()] = true
			s.want["attendance.opened "+w.Attendance.String()] = true
		case 2:
			if m, err := s.TeamMessage(sandbox.TeamMessage{Conversation: fmt.Sprintf("+55119%08d", 10000000+n), Person: "Bruno", Text: fmt.Sprint("answer ", s.done)}); err == nil {
				s.want["message.sent "+m.String()] = true
			}
		case 3:
			if a, err := s.TeamClose(sandbox.TeamClose{Conversation: fmt.Sprintf("+55119%08d", 10000000+n), Person: "Bruno"}); err == nil {
				s.want["attendance.closed "+a.String()] = true
			}
		case 4:
			s.moveOne()
		}
		s.done++
	}
}

// moveOne creates a card or moves one on, but not twice while the engine is down: the service does
// not show where a card has been.
func (s *story) moveOne() {
	if len(s.cards) < 20 && s.random.IntN(3) == 0 {
		c := must(s.CreateCard(sandbox.NewCard{Board: "Sales", Title: fmt.Sprint("Deal ", s.done)}))
		s.cards = append(s.cards, &deal{id: c.ID.String()})
		s.want["kanban.card.created "+c.ID.String()] = true
		return
	}
	for _, d := range s.cards {
		if d.stage == len(salesStages)-1 || s.down && d.blind {
			continue
		}
		d.stage++
		d.blind = s.down
		c := must(s.MoveCard(sandbox.MoveCard{Card: d.id, Stage: salesStages[d.stage], Person: "Bruno"}))
		s.want["kanban.card.moved "+d.id+" to "+c.StageID.String()] = true
		if d.stage == len(salesStages)-1 {
			s.want["kanban.card.completed "+d.id] = true
		}
		s.pass(8 * time.Minute) // a pass reads it before it is moved again
		return
	}
}

// TestOutage loses a third of the deliveries, and the engine for eight hours, on a desk with events
// for cards and on one without.
func TestOutage(t *testing.T) {
	for seed, cards := range []bool{true, false} {
		if testing.Short() && !cards {
			continue
		}
		t.Run(fmt.Sprintf("card events %v", cards), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, rulesOfAll, func(o *deskOptions) {
				o.sandbox.KanbanEvents, o.sandbox.Seed = cards, uint64(seed+1)
				o.tune = func(b *backfill.Options) { b.Cards = time.Minute }
			})
			s := &story{desk: d, random: rand.New(rand.NewPCG(uint64(seed), 1)), want: map[string]bool{}}
			d.pass(time.Minute)
			d.fault("delivery", "lose", 0.3, 0, 0)
			s.goOn(3 * time.Hour)
			d.stop()
			s.goOn(8 * time.Hour)
			d.start()
			d.pass(10 * time.Minute)
			s.goOn(3 * time.Hour)
			d.ClearFaults()
			d.pass(8 * time.Hour) // until the last retry of a delivery
			s.check()
		})
	}
}

// check compares the recorded events with the activity.
func (s *story) check() {
	s.t.Helper()
	told := s.identities()
	for what := range s.want {
		if told[what] != 1 {
			s.t.Errorf("%s was told %d times", what, told[what])
		}
	}
	for what, n := range told {
		if n != 1 {
			s.t.Errorf("%s was told %d times", what, n)
		}
	}
	found := 0
	for _, e := range s.all() {
		if e.Found() {
			found++
		}
		if len(e.Verdicts) != 1 && e.Type != "conversation.updated" {
			s.t.Errorf("%s %s has %d verdicts", e.Type, e.ID, len(e.Verdicts))
		}
		for _, v := range e.Verdicts {
			if v.Outcome != journal.Fired && v.Outcome != journal.Late && v.Outcome != journal.Own {
				s.t.Errorf("%s %s: %+v", e.Type, e.ID, v)
			}
		}
	}
	if found == 0 || s.verdicts("on-received")[journal.Late] == 0 || s.verdicts("on-sent")[journal.Own] == 0 {
		s.t.Errorf("found %d, on-received %v, on-sent %v: the story shows nothing", found, s.verdicts("on-received"), s.verdicts("on-sent"))
	}
	runs := must(s.journal.ListRuns(s.t.Context(), journal.RunFilter{Limit: 100000}))
	begun := map[string]int{}
	for _, r := range runs {
		if begun[r.Key]++; r.State != journal.Done || begun[r.Key] > 1 {
			s.t.Errorf("run %s is %s", r.Key, r.State)
		}
	}
	s.answered()
}

// answered checks that each message was answered at most once, and no late one.
func (s *story) answered() {
	s.t.Helper()
	written := map[string]time.Time{}
	for _, e := range s.of("message.received") {
		m, _ := e.Data["message"].(map[string]any)
		written[fmt.Sprint("heard ", m["id"])] = e.CreatedAt
	}
	answers := map[string]int{}
	for _, e := range s.Effects() {
		if e.Operation != "POST /conversations/{id}/messages" {
			continue
		}
		var m struct {
			Text      string    `json:"text"`
			CreatedAt time.Time `json:"created_at"`
		}
		unmarshal(s.t, e.After, &m)
		if answers[m.Text]++; answers[m.Text] > 1 || m.CreatedAt.Sub(written[m.Text]) > 30*time.Minute {
			s.t.Errorf("%q was sent %d times, %s after it was written", m.Text, answers[m.Text], m.CreatedAt.Sub(written[m.Text]))
		}
	}
	if len(answers) == 0 {
		s.t.Error("nothing was answered")
	}
}
