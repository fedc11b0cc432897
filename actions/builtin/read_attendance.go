package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var readAttendance = rules.Schema{
	Verb: "read_attendance", Group: "lists", Main: "attendance", Summary: "Read the attendance afresh",
	Args: []rules.Arg{
		{Name: "attendance", Kind: rules.KindText, Summary: "another attendance's id"},
		anotherConversation,
	},
	Needs: "conversation", Unless: []string{"attendance", "conversation"}, Pins: "attendance",
	Not:    [][2]string{{"attendance", "conversation"}},
	Result: rules.AttendanceType, Gives: "attendance",
	Scopes: []string{"attendances:read"},
}

// planReadAttendance reads the run's attendance, even if the conversation has a newer one. Of
// another conversation it reads the present one.
func planReadAttendance(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	a := args(s.Args)
	if a.has("attendance") || s.Attendance != "" && !a.has("conversation") {
		id, err := a.objectID("attendance", s.Attendance)
		if err != nil {
			return actions.Next{}, err
		}
		attendance, err := d.client.GetAttendance(ctx, id)
		if err != nil {
			return actions.Next{}, err
		}
		return read(d.facts.Attendance(ctx, attendance))
	}
	conversation, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	current, err := d.client.CurrentAttendance(ctx, conversation)
	if err != nil || current == nil {
		return read[any](nil, err)
	}
	return read(d.facts.Attendance(ctx, *current))
}

var readAssignments = rules.Schema{
	Verb: "read_assignments", Group: "lists", Summary: "Read who was responsible for the conversation",
	Args:  []rules.Arg{anotherConversation},
	Needs: "conversation", Unless: []string{"conversation"},
	Result: rules.ListOf(rules.AssignmentType),
	Scopes: []string{"attendances:read"},
}

func planReadAssignments(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	history, err := d.client.ListAssignments(ctx, id)
	list := make([]any, len(history))
	for i, entry := range history {
		list[i] = d.facts.Assignment(entry)
	}
	return read(list, err)
}
