package calendar

import (
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// ParseDays reads days of the week: "mon", "mon-fri", "fri-mon" (over the weekend), "sat, sun",
// "daily", and lists of these. Names are English, of three letters or in full, in any case. The
// days come in the order written, each once.
func ParseDays(s string) ([]time.Weekday, error) {
	var days []time.Weekday
	add := func(d time.Weekday) {
		if !slices.Contains(days, d) {
			days = append(days, d)
		}
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if strings.EqualFold(part, "daily") {
			part = "mon-sun"
		}
		from, to, isRange := strings.Cut(part, "-")
		first, err := parseDay(from)
		if err != nil {
			return nil, err
		}
		last := first
		if isRange {
			if last, err = parseDay(to); err != nil {
				return nil, err
			}
		}
		for d := first; d != last; d = (d + 1) % 7 {
			add(d)
		}
		add(last)
	}
	return days, nil
}

// otherDays maps other spellings of days to ours.
var otherDays = map[string]string{
	"weekday": "mon-fri", "weekdays": "mon-fri", "workdays": "mon-fri", "weekend": "sat, sun", "weekends": "sat, sun", "everyday": "daily", "every day": "daily", "all": "daily",
	"seg": "mon", "ter": "tue", "qua": "wed", "qui": "thu", "sex": "fri", "sab": "sat", "sáb": "sat", "dom": "sun",
	"segunda": "mon", "terça": "tue", "terca": "tue", "quarta": "wed", "quinta": "thu", "sexta": "fri", "sábado": "sat", "sabado": "sat", "domingo": "sun", "todos": "daily", "dias úteis": "mon-fri", "dias uteis": "mon-fri",
}

// parseDay reads the name of one day.
func parseDay(s string) (time.Weekday, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	meant := ""
	for d := time.Sunday; d <= time.Saturday; d++ {
		full := strings.ToLower(d.String())
		if name == full || name == full[:3] {
			return d, nil
		}
		// Two letters tell the English days apart, so they are enough for a suggestion.
		if strings.HasPrefix(name, full[:2]) {
			meant = full[:3]
		}
	}
	if other := otherDays[name]; other != "" {
		meant = other
	}
	if s = strings.TrimSpace(s); meant != "" {
		return 0, phrases.Sprintf("%q is not a day (did you mean %s?): write mon, tue, wed, thu, fri, sat or sun, a range such as mon-fri, a list such as sat, sun, or daily", s, meant)
	}
	return 0, phrases.Sprintf("%q is not a day: write mon, tue, wed, thu, fri, sat or sun, a range such as mon-fri, a list such as sat, sun, or daily", s)
}
