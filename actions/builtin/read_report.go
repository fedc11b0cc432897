package builtin

import "github.com/quandohq/quando/rules"

var readReport = rules.Schema{
	Verb: "read_report", Summary: "Read the manager report of a period",
	Args: []rules.Arg{
		{Name: "from", Kind: rules.KindWhen, Required: true, Summary: "the first day"},
		{Name: "to", Kind: rules.KindWhen, Required: true, Summary: "the last day"},
		{Name: "sector", Kind: rules.KindName, Refers: "sector", Summary: "one sector only"},
		{Name: "person", Kind: rules.KindName, Refers: "person", Summary: "one person only"},
	},
	Result:  rules.ReportType,
	Scopes:  []string{"reports:read"},
	Example: "{ from: \"{{ day(now(), -1) }}\", to: \"{{ day(now(), -1) }}\" }",
}
