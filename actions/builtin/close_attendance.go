package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var closeAttendance = rules.Schema{
	Verb: "close_attendance", Main: "reason", Summary: "Close the conversation's attendance",
	Args: []rules.Arg{
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
	},
	Needs:   "conversation",
	Pins:    "attendance",
	Scopes:  []string{"attendances:write"},
	Reads:   []string{"attendances:read"},
	Emits:   []string{"attendance.closed", "kanban.card.completed", "kanban.card.moved"},
	Example: "No answer for three days",
}

// planCloseAttendance closes the attendance that the run is about. The call names the conversation, so a newer attendance
// of the customer must not be the one that it meets.
func planCloseAttendance(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callClose); ok {
		return done(nil)
	}
	a := args(s.Args)
	id, err := a.of("conversation", s.Conversation)
	if err != nil {
		return actions.Next{}, err
	}
	current, err := d.openAttendance(ctx, id)
	switch {
	case err != nil:
		return actions.Next{}, err
	case current == "":
		return already(nil, phrases.NoOpenAttendance)
	case s.Attendance != "" && s.Attendance != current:
		return already(nil, phrases.AttendanceClosed)
	}
	return intend(s, callClose, actions.Intent{Emits: closeAttendance.Emits},
		closeRequest{Conversation: id, Reason: a.text("reason")}, closeBefore{Attendance: current})
}
