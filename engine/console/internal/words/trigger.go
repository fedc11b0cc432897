package words

import (
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// Trigger says what starts a rule.
func (w Language) Trigger(r *rules.Rule) string {
	var parts []string
	for _, e := range r.When.Events {
		parts = append(parts, w.Or("when.", e))
	}
	if r.When.Manual {
		parts = append(parts, w.T("when.manual"))
	}
	if s := r.When.Schedule; s != nil {
		parts = append(parts, w.schedule(s))
	}
	return strings.Join(parts, w.T("list.or"))
}

func (w Language) schedule(s *rules.Schedule) string {
	text := ""
	switch {
	case s.Every > 0:
		text = w.T("when.every", duration.Format(s.Every))
	case s.Cron != "":
		text = w.T("when.cron", s.Cron)
	default:
		var times, days []string
		for _, at := range s.At {
			times = append(times, time.Time{}.Add(at).Format("15:04"))
		}
		for _, d := range s.On {
			days = append(days, w.T("day."+d.String()))
		}
		text = w.T("when.at", strings.Join(times, ", "))
		if len(days) > 0 {
			text += " (" + strings.Join(days, ", ") + ")"
		}
	}
	if s.Each != "" {
		text += ", " + w.T("when.each", w.Or("each.", s.Each))
	}
	return text
}
