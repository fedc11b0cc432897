package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var readReport = rules.Schema{
	Verb: "read_report", Group: "lists", Summary: "Read the manager report of a period",
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

func planReadReport(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	a := args(s.Args)
	var q service.ReportQuery
	var err error
	if q.From, err = a.dayOrTime("from", d.location); err != nil {
		return actions.Next{}, err
	}
	if q.To, err = a.dayOrTime("to", d.location); err != nil {
		return actions.Next{}, err
	}
	if q.Sector, err = d.id(ctx, a, "sector", service.KindSector); err != nil {
		return actions.Next{}, err
	}
	if q.User, err = d.id(ctx, a, "person", service.KindPerson); err != nil {
		return actions.Next{}, err
	}
	report, err := d.client.AttendanceReport(ctx, q)
	return read(d.facts.Report(report), err)
}
