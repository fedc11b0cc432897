package service

import (
	"context"
	"net/url"
	"time"
)

var (
	opReport = Operation{"GET", "/reports/attendance", "reports:read"}
)

var reportOperations = []Operation{opReport}

// Totals are the figures of a period, of one person, of one sector, or of one day.
type Totals struct {
	Opened        int
	Closed        int
	FirstResponse *time.Duration // nil: no figure
	Resolution    *time.Duration
}

// ReportRow is the totals of one person, sector or day.
type ReportRow struct {
	ID   string
	Name string
	Day  string
	Totals
}

// Report is the manager's report of a period.
type Report struct {
	From, To string
	Totals
	ByPerson []ReportRow
	BySector []ReportRow
	ByDay    []ReportRow
	Raw      map[string]any
}

// DecodeReport reads a report through the profile.
func DecodeReport(raw map[string]any, p *Profile) Report {
	f, n := fields(raw), &p.Report
	return Report{
		From: f.str(n.From), To: f.str(n.To), Totals: n.totals(f),
		ByPerson: n.rows(f, n.ByPerson), BySector: n.rows(f, n.BySector), ByDay: n.rows(f, n.ByDay), Raw: raw,
	}
}

func (n *ReportFields) totals(f fields) Totals {
	seconds := func(paths Paths) *time.Duration {
		v := f.number(paths)
		if v == nil {
			return nil
		}
		d := time.Duration(*v * float64(time.Second))
		return &d
	}
	return Totals{Opened: f.int(n.Opened), Closed: f.int(n.Closed), FirstResponse: seconds(n.FirstResponseSeconds), Resolution: seconds(n.ResolutionSeconds)}
}

func (n *ReportFields) rows(f fields, paths Paths) []ReportRow {
	var rows []ReportRow
	for _, row := range f.objects(paths) {
		rows = append(rows, ReportRow{ID: row.id(n.RowID), Name: row.str(n.RowName), Day: row.str(n.RowDay), Totals: n.totals(row)})
	}
	return rows
}

// ReportQuery bounds a report. Only the dates of From and To count, as they are in their own time
// zone.
type ReportQuery struct {
	From, To time.Time
	Sector   string
	User     string
}

// AttendanceReport reads the totals of a period, per person, sector and day.
func (c *Client) AttendanceReport(ctx context.Context, q ReportQuery) (Report, error) {
	v := query{}
	if !q.From.IsZero() {
		v.set("from", q.From.Format(time.DateOnly))
	}
	if !q.To.IsZero() {
		v.set("to", q.To.Format(time.DateOnly))
	}
	v.set("sector", q.Sector)
	v.set("user", q.User)
	r, _, err := one(ctx, c, request{op: opReport, query: url.Values(v)}, "report", c.profile.Report.Opened, DecodeReport)
	return r, err
}
