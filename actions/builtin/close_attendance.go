package builtin

import "github.com/quandohq/quando/rules"

var closeAttendance = rules.Schema{
	Verb: "close_attendance", Main: "reason", Summary: "Close the conversation's attendance",
	Args: []rules.Arg{
		{Name: "reason", Kind: rules.KindText, Summary: "why, for the team"},
	},
	Needs:   "conversation",
	Scopes:  []string{"attendances:write"},
	Reads:   []string{"attendances:read"},
	Emits:   []string{"attendance.closed", "conversation.updated", "kanban.card.completed", "kanban.card.moved"},
	Example: "No answer for three days",
}
