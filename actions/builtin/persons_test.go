package builtin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const (
	transferOp = "POST /conversations/{id}/transfer"
	closeOp    = "POST /conversations/{id}/attendance/close"
	moveOp     = "POST /kanban/cards/{id}/move"
	patchOp    = "PATCH /conversations/{id}"
	createOp   = "POST /kanban/cards"
)

// meanwhile runs a step whose n-th attempt is answered 503, after its effect or before, and calls
// happens before it is settled.
func (d *desk) meanwhile(verb string, args m, f sandbox.Fault, happens func()) (actions.Result, *driver) {
	d.t.Helper()
	f.Count = 1
	d.fault(f)
	run := d.drive(verb, d.step(args))
	run.crash = func(point string, _ int) bool {
		if point == "do" && happens != nil {
			happens()
			happens = nil
			return true
		}
		return false
	}
	result, err := run.run()
	if err != nil {
		d.t.Fatal(err)
	}
	return result, run
}

func (d *desk) effects(operation string) int {
	n := 0
	for _, e := range d.Effects() {
		if e.Operation == operation {
			n++
		}
	}
	return n
}

func (d *desk) wantEffects(operation string, want int) {
	d.t.Helper()
	if got := d.effects(operation); got != want {
		d.t.Errorf("%s took effect %d times, want %d", operation, got, want)
	}
}

func wantOutcome(t *testing.T, r actions.Result, want actions.Outcome, reason string) {
	t.Helper()
	if r.Outcome != want || !strings.Contains(r.Why.String(), reason) {
		t.Errorf("ended as %s (%s), want %s (%s)", r.Outcome, r.Why, want, reason)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTransferAnsweredAfterItsEffectIsMadeOnce(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("transfer", m{"sector": "Supervisors"}, sandbox.Fault{Operation: transferOp, Kind: "status_after"}, func() {})
	wantOutcome(t, r, actions.Done, "")
	d.wantEffects(transferOp, 1)
}

func TestTransferThatAPersonOvertookIsSuperseded(t *testing.T) {
	for _, kind := range []string{"status_before", "status_after"} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			r, _ := d.meanwhile("transfer", m{"sector": "Supervisors"}, sandbox.Fault{Operation: transferOp, Kind: kind}, func() {
				must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}))
			})
			wantOutcome(t, r, actions.Superseded, "somebody else")
			if now := d.readConversation(); now.AssigneeID != d.id(service.KindPerson, "Bruno") {
				t.Error("the conversation was taken back from Bruno")
			}
		})
	}
}

// TestTransferThatAPersonTookBackIsNotRepeated shows that a transfer is not repeated after a person
// moved the conversation back: it looks untouched, and only its history shows the transfer.
func TestTransferThatAPersonTookBackIsNotRepeated(t *testing.T) {
	d := newDesk(t)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Ana", Sector: "Support"}))
	r, _ := d.meanwhile("transfer", m{"sector": "Supervisors"}, sandbox.Fault{Operation: transferOp, Kind: "status_after"}, func() {
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Ana", Sector: "Support"}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	d.wantEffects(transferOp, 1)
}

func TestTransferToWhereItIsMakesNoCall(t *testing.T) {
	d := newDesk(t)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Carla", To: "Carla", Sector: "Supervisors"}))
	wantOutcome(t, d.do("transfer", m{"sector": "supervisors"}), actions.Done, "already")
	d.wantEffects(transferOp, 0)
}

// TestTransferAfterAPauseDoesNotTakeTheConversationFromAPerson shows that a transfer reads the
// conversation again after a pause: what was right before may be wrong now.
func TestTransferAfterAPauseDoesNotTakeTheConversationFromAPerson(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("transfer", m{"person": "Carla"}, sandbox.Fault{Operation: transferOp, Kind: "status_before", Status: 429, RetryAfter: 30}, func() {
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno"}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	d.wantEffects(transferOp, 0)
}

func TestSectorThatAPersonChoseStays(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("set_sector", m{"sector": "Support"}, sandbox.Fault{Operation: "PUT /conversations/{id}/sector", Kind: "status_before"}, func() {
		must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", Sector: "Sales"}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	d.wantEffects("PUT /conversations/{id}/sector", 0)
}

func TestSectorNull(t *testing.T) {
	d := newDesk(t)
	d.do("set_sector", m{"sector": "Sales"})
	run := d.drive("set_sector", d.step(m{"sector": nil}))
	run.step.Key += "/2"
	if _, err := run.run(); err != nil {
		t.Fatal(err)
	}
	if now := d.readConversation(); now.SectorID != "" {
		t.Errorf("the sector is %s, want none", now.SectorID)
	}
}

func TestCloseNeverClosesTheNextAttendance(t *testing.T) {
	for _, kind := range []string{"status_before", "status_after"} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			r, _ := d.meanwhile("close_attendance", m{"reason": "silence"}, sandbox.Fault{Operation: closeOp, Kind: kind}, func() {
				if kind == "status_before" {
					must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
				}
				must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "one more thing"}))
			})
			wantOutcome(t, r, actions.Done, "")
			now, err := d.client.CurrentAttendance(context.Background(), d.conversation)
			if err != nil || now == nil || now.ID == d.attendance || now.Status != service.StatusOpen {
				t.Errorf("the customer's next attendance is not open: %+v, %v", now, err)
			}
		})
	}
}

// TestCloseOfAnOlderAttendanceMakesNoCall shows that an attendance of the run that was closed long
// ago is not closed again, whatever is open now.
func TestCloseOfAnOlderAttendanceMakesNoCall(t *testing.T) {
	d := newDesk(t)
	must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
	wantOutcome(t, d.do("close_attendance", nil), actions.Done, "no open attendance")
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "hello again"}))
	wantOutcome(t, d.do("close_attendance", nil), actions.Done, "stays open")
	d.wantEffects(closeOp, 0)
}

// TestCloseOfANamedConversation shows that a step that names the run's own conversation closes what
// is open in it now, such as the attendance that the answer to a survey has opened.
func TestCloseOfANamedConversation(t *testing.T) {
	d := newDesk(t)
	must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "5"}))
	wantOutcome(t, d.do("close_attendance", m{"conversation": d.conversation}), actions.Done, "")
	d.wantEffects(closeOp, 1)
	if now, err := d.client.CurrentAttendance(t.Context(), d.conversation); err != nil || now != nil && now.Status == service.StatusOpen {
		t.Errorf("still open: %+v, %v", now, err)
	}
}

// TestCloseOfWhatWasJustClosed closes the attendance between the read and the call: the service
// refuses, and the step is done.
func TestCloseOfWhatWasJustClosed(t *testing.T) {
	d := newDesk(t)
	d.faults.see(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/attendance/close") {
			d.faults.see(nil)
			must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
		}
	})
	wantOutcome(t, d.do("close_attendance", nil), actions.Done, "")
	d.wantEffects(closeOp, 0)
}
