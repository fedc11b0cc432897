// Package duration reads and writes lengths of time as rules name them: 90s, 15m of office, 2d.
package duration

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/phrases"
)

// Max is the longest time that a rule may name.
const Max = 10 * 365 * 24 * time.Hour

// maxText keeps what a customer wrote from being read at length as a duration.
const maxText = 40

var (
	parts = regexp.MustCompile(`(\d+(?:\.\d+)?)(ms|[wdhms])`)
	whole = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:ms|[wdhms]))+$`)
	units = map[string]time.Duration{
		"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
	}
)

// Parse reads a duration such as 90s, 1h30m, 2d or 1w.
func Parse(s string) (time.Duration, error) {
	if len(s) > maxText || !whole.MatchString(s) {
		s = s[:min(len(s), maxText)]
		return 0, phrases.Sprintf("%q is not a duration; write %s", s, cmp.Or(suggest(s), phrases.Sprintf("it like 90s, 15m, 1h30m, 2d or 1w")))
	}
	total := 0.0
	for _, part := range parts.FindAllStringSubmatch(s, -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, phrases.Sprintf("%q is not a duration", s)
		}
		total += n * float64(units[part[2]])
	}
	if total > float64(Max) {
		return 0, phrases.Sprintf("%s is longer than ten years", s)
	}
	return time.Duration(math.Round(total)), nil
}

var (
	inWords = regexp.MustCompile(`^(?i)(\d+(?:[.,]\d+)?)?\s*([a-zçêã]+)\.?$`)
	onClock = regexp.MustCompile(`^(\d{1,3}):(\d{2})(?::(\d{2}))?$`)
	letters = map[string]string{
		"second": "s", "sec": "s", "segundo": "s", "seg": "s", "minute": "m", "min": "m", "minuto": "m", "hour": "h", "hr": "h", "hora": "h", "h": "h", "m": "m", "s": "s", "d": "d", "w": "w",
		"day": "d", "dia": "d", "week": "w", "semana": "w",
	}
)

// suggest returns the duration that a text means, as rules name it, or nil.
func suggest(s string) *phrases.Message {
	if m := inWords.FindStringSubmatch(s); m != nil {
		word := strings.ToLower(m[2])
		unit := cmp.Or(letters[word], letters[strings.TrimSuffix(word, "s")])
		n, err := strconv.ParseFloat(strings.ReplaceAll(cmp.Or(m[1], "1"), ",", "."), 64)
		if unit == "" || err != nil {
			return nil
		}
		return phrases.Sprintf("%s", Format(time.Duration(n*float64(units[unit])).Round(time.Second)))
	}
	if m := onClock.FindStringSubmatch(s); m != nil {
		d, _ := time.ParseDuration(fmt.Sprintf("%sh%sm%ss", m[1], m[2], cmp.Or(m[3], "0")))
		return phrases.Sprintf("%s", Format(d))
	}
	if _, err := strconv.Atoi(s); err == nil {
		return phrases.Sprintf("%sm for minutes, or %ss for seconds", s, s)
	}
	return nil
}

// Format writes a duration in the language's own form: 15m, 1h30m, 2d.
func Format(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	for _, unit := range []string{"d", "h", "m", "s", "ms"} {
		if n := d / units[unit]; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit)
			d -= n * units[unit]
		}
	}
	return b.String()
}

// Readable writes a duration for people, rounded: 30 s, 45 min, 2 h 10 min, 3 d 4 h. It has seconds
// below a minute only, minutes below a day, and else hours.
func Readable(d time.Duration) string {
	if d < 0 {
		return "-" + Readable(max(d, -math.MaxInt64).Abs())
	}
	const day = 24 * time.Hour
	large, small, largeUnit, smallUnit := time.Duration(0), time.Duration(0), "", ""
	switch minutes := d.Round(time.Minute); {
	case d.Round(time.Second) < time.Minute:
		small, smallUnit = d.Round(time.Second)/time.Second, "s"
	case minutes < day:
		large, small, largeUnit, smallUnit = minutes/time.Hour, minutes%time.Hour/time.Minute, "h", "min"
	default:
		hours := d.Round(time.Hour)
		large, small, largeUnit, smallUnit = hours/day, hours%day/time.Hour, "d", "h"
	}
	switch {
	case large == 0:
		return fmt.Sprintf("%d %s", small, smallUnit)
	case small == 0:
		return fmt.Sprintf("%d %s", large, largeUnit)
	}
	return fmt.Sprintf("%d %s %d %s", large, largeUnit, small, smallUnit)
}

// A Span is a length of time, in opening hours where it names a calendar.
type Span struct {
	Length   time.Duration
	Calendar string
}

// ParseSpan reads "15m" and "15m of office".
func ParseSpan(s string) (Span, error) {
	length, name, of := strings.Cut(s, " of ")
	d, err := Parse(strings.TrimSpace(length))
	if err != nil {
		return Span{}, err
	}
	name = strings.TrimSpace(name)
	if of && name == "" {
		return Span{}, phrases.Sprintf("%q names no calendar behind \"of\"", s)
	}
	return Span{Length: d, Calendar: name}, nil
}

// End returns when the span that begins at a time is over. The calendar is the one that the span
// names, nil if it names none.
func (s Span) End(from time.Time, c *calendar.Calendar) (time.Time, error) {
	switch {
	case s.Calendar == "":
		return from.Add(s.Length), nil
	case c == nil:
		return time.Time{}, phrases.Sprintf("there is no calendar %q", s.Calendar)
	}
	return c.Add(from, s.Length)
}

// String writes the span as it stands in a rule.
func (s Span) String() string {
	if s.Calendar == "" {
		return Format(s.Length)
	}
	return Format(s.Length) + " of " + s.Calendar
}
