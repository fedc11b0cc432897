package builtin

import "github.com/quandohq/quando/rules"

var readAssignments = rules.Schema{
	Verb: "read_assignments", Summary: "Read who was responsible for the conversation",
	Needs:  "conversation",
	Result: rules.ListOf(rules.AssignmentType),
	Scopes: []string{"attendances:read"},
}
