package builtin

import "github.com/quandohq/quando/rules"

var readAttendance = rules.Schema{
	Verb: "read_attendance", Main: "attendance", Summary: "Read the attendance afresh",
	Args: []rules.Arg{
		{Name: "attendance", Kind: rules.KindText, Summary: "another attendance's id"},
	},
	Needs: "conversation", Unless: "attendance",
	Result: rules.AttendanceType, Gives: "attendance",
	Scopes: []string{"attendances:read"},
}
