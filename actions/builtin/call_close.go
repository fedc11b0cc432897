package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// callClose is POST …/attendance/close. It names the conversation, not the attendance: before a repeat the conversation's open
// attendance must still be the one that was meant. Closed already means done.
const callClose = "close"

type closeCall struct{ *desk }

type closeRequest struct {
	Conversation string `json:"conversation"`
	Reason       string `json:"reason,omitempty"`
}

type closeBefore struct {
	Attendance string `json:"attendance"`
}

// openAttendance reads which attendance of a conversation is open; empty when none is.
func (d *desk) openAttendance(ctx context.Context, conversation string) (string, error) {
	a, err := d.CurrentAttendance(ctx, conversation)
	if err != nil || a == nil || a.Status == service.StatusClosed {
		return "", err
	}
	return a.ID, nil
}

func (c closeCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, before, err := recordedBoth[closeRequest, closeBefore](i)
	if err != nil {
		return actions.Receipt{}, err
	}
	_, err = c.CloseAttendance(ctx, in.Conversation, in.Reason)
	if isConflict(err) {
		// Most likely somebody has closed it a moment ago.
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
	in, before, err := recordedBoth[closeRequest, closeBefore](i)
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
	// None is open, or a newer one is: either way the one that was meant is closed.
	return happened(before.receipt())
}

// receipt tells what the service raises: the attendance is closed, and its card, of which only the
// attendance is known, moves to the stage for what is done.
func (b closeBefore) receipt() actions.Receipt {
	card := setting(map[string]any{"attendance_id": b.Attendance})
	return receipt(nil,
		actions.Caused{Event: "attendance.closed", Object: b.Attendance, Set: setting(map[string]any{"status": service.StatusClosed})},
		actions.Caused{Event: "kanban.card.moved", Set: card},
		actions.Caused{Event: "kanban.card.completed", Set: card})
}
