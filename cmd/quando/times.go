package main

import (
	"fmt"
	"time"

	"github.com/quandohq/quando/rules"
)

// stamp writes a time for a table.
func (v *view) stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(v.zone).Format("2006-01-02 15:04:05")
}

// ago writes a time with its distance: 2026-11-13 17:50:02, 3m ago.
func (v *view) ago(t time.Time) string {
	if t.After(v.now) {
		return v.stamp(t)
	}
	return v.stamp(t) + ", " + span(v.now.Sub(t)) + " ago"
}

// ahead writes a time to come in words: Mon 09:00, in 3h. One that is further away than a week has its date.
func (v *view) ahead(t time.Time) string {
	layout := "Mon 15:04"
	switch d := t.Sub(v.now); {
	case d < time.Minute:
		layout = "15:04:05"
	case d > 6*24*time.Hour:
		layout = "Mon 2006-01-02 15:04"
	}
	if !t.After(v.now) {
		return t.In(v.zone).Format("2006-01-02 15:04:05") + ", which is due"
	}
	return t.In(v.zone).Format(layout) + ", in " + span(t.Sub(v.now))
}

// zoneName names the zone of the times in a table's head.
func (v *view) zoneName() string { return v.now.In(v.zone).Format("MST") }

// span writes a length of time as closely as a person wants to know it: 45s, 12m, 3h20m, 2d4h, 30d.
func span(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= 10*24*time.Hour:
		unit = 24 * time.Hour
	case d >= 24*time.Hour:
		unit = time.Hour
	case d >= time.Minute:
		unit = time.Minute
	}
	return rules.FormatDuration(max(0, d.Truncate(unit)))
}

// parseSince reads --since: a length of time back from now, or a day or a time.
func (v *view) parseSince(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := rules.ParseDuration(s); err == nil {
		return v.now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, v.zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q is neither a length of time such as 90m or 14d nor a day or time such as 2026-11-13 or \"2026-11-13 17:50\"", s)
}
