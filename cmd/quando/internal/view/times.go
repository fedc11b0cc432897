package view

import (
	"fmt"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules/duration"
)

// Stamp writes a time for a table.
func (v *View) Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(v.Zone).Format("2006-01-02 15:04:05")
}

// Ago writes a time with its distance: 2026-11-13 17:50:02, 3m ago.
func (v *View) Ago(t time.Time) string {
	if t.After(v.Now) {
		return v.Stamp(t)
	}
	return v.Stamp(t) + ", " + cli.Span(v.Now.Sub(t)) + " ago"
}

// Ahead formats a future time: Mon 09:00, in 3h. One that is more than a week away has its date.
func (v *View) Ahead(t time.Time) string {
	layout := "Mon 15:04"
	switch d := t.Sub(v.Now); {
	case d < time.Minute:
		layout = "15:04:05"
	case d > 6*24*time.Hour:
		layout = "Mon 2006-01-02 15:04"
	}
	if !t.After(v.Now) {
		return t.In(v.Zone).Format("2006-01-02 15:04:05") + ", which is due"
	}
	return t.In(v.Zone).Format(layout) + ", in " + cli.Span(t.Sub(v.Now))
}

// ZoneName names the zone of the times in a table's head.
func (v *View) ZoneName() string { return v.Now.In(v.Zone).Format("MST") }

// ParseSince reads --since: a length of time back from now, or a day or a time.
func (v *View) ParseSince(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := duration.Parse(s); err == nil {
		return v.Now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, v.Zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q is neither a length of time such as 90m or 14d nor a day or time such as 2026-11-13 or \"2026-11-13 17:50\"", s)
}
