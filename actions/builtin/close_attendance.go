package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var closeAttendance = rules.Schema{
	Verb: "close_attendance", Group: "people", Main: "reason", Summary: "Close the conversation's attendance",
	Args: []rules.Arg{
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
		anotherConversation,
	},
	Needs: "conversation", Unless: []string{"conversation"}, Pins: "attendance",
	Scopes:  []string{"attendances:write"},
	Reads:   []string{"attendances:read"},
	Emits:   []string{"attendance.closed", "kanban.card.completed", "kanban.card.moved"},
	Example: "No answer for three days",
}

// planCloseAttendance plans to close the run's attendance. The call names only the conversation, so
// it must not close a newer attendance of the customer. Of a conversation that the step names, be
// it the run's own, it is the present attendance.
func planCloseAttendance(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callClose); ok {
		return done(nil)
	}
	a := args(s.Args)
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	current, err := d.openAttendance(ctx, id)
	switch {
	case err != nil:
		return actions.Next{}, err
	case current == "":
		return alreadyDone(nil, phrases.NoOpenAttendance)
	case s.Attendance != "" && s.Attendance != current && !a.has("conversation"):
		return alreadyDone(nil, phrases.AttendanceClosed)
	}
	return planCall(s, callClose, actions.Intent{Lane: conversationLane(s, id), Emits: closeAttendance.Emits},
		closeRequest{Conversation: id, Reason: a.text("reason")}, closeBefore{Attendance: current})
}

// callClose is POST …/attendance/close. It names the conversation, not the attendance: before a
// repeat, the conversation's open attendance must still be the intended one. If it is closed
// already, the call is done.
const callClose = "close"

type closeCall struct{ *desk }

type closeRequest struct {
	Conversation string `json:"conversation"`
	Reason       string `json:"reason,omitempty"`
}

type closeBefore struct {
	Attendance string `json:"attendance"`
}

// openAttendance returns which attendance of a conversation is open; empty if none is.
func (d *desk) openAttendance(ctx context.Context, conversation string) (string, error) {
	a, err := d.client.CurrentAttendance(ctx, conversation)
	if err != nil || a == nil || a.Status == service.StatusClosed {
		return "", err
	}
	return a.ID, nil
}

func (c closeCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, before, err := decodeIntent[closeRequest, closeBefore](i)
	if err != nil {
		return actions.Receipt{}, err
	}
	_, err = c.client.CloseAttendance(ctx, in.Conversation, in.Reason)
	if isConflict(err) {
		// Most likely it was closed a moment ago.
		if now, lookErr := c.openAttendance(ctx, in.Conversation); lookErr == nil && now != before.Attendance {
			err = nil
		}
	}
	if err != nil {
		return actions.Receipt{}, err
	}
	return before.receipt(), nil
}

func (c closeCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[closeRequest, closeBefore](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	now, err := c.openAttendance(ctx, in.Conversation)
	if err != nil {
		return actions.Settlement{}, err
	}
	if now == before.Attendance {
		return repeat()
	}
	// None is open, or a newer one is: either way the intended one is closed.
	return happened(before.receipt())
}

// receipt lists the events that the service raises: the attendance is closed, and its card, of
// which only the attendance is known, moves to the final stage.
func (b closeBefore) receipt() actions.Receipt {
	card := encodeSet(map[string]any{"attendance_id": b.Attendance})
	return receipt(nil,
		actions.Caused{Event: "attendance.closed", Object: b.Attendance, Set: encodeSet(map[string]any{"status": service.StatusClosed})},
		actions.Caused{Event: "kanban.card.moved", Set: card},
		actions.Caused{Event: "kanban.card.completed", Set: card})
}
