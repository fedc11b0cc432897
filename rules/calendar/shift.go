package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// Shift is a stretch of opening hours, in whole minutes from midnight of the day it starts on. End
// is greater than Start; a shift that crosses midnight ends after 24 hours, and at the latest after
// 48.
type Shift struct{ Start, End time.Duration }

const day = 24 * time.Hour

// ParseShift reads a shift such as "08:00-12:00". An end that is not after the start is on the next
// day: "22:00-02:00" crosses midnight and "18:00-00:00" is the same as "18:00-24:00". A shift that
// ends when it starts is an error, because it may be meant as nothing or as a whole day;
// "00:00-24:00" is the whole day.
func ParseShift(s string) (Shift, error) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		return Shift{}, phrases.Sprintf("%q is not a shift: write its start and end with a plain - between them, as in 08:00-12:00", s)
	}
	start, err := ParseTimeOfDay(strings.TrimSpace(from))
	if err != nil {
		return Shift{}, err
	}
	end, err := ParseTimeOfDay(strings.TrimSpace(to))
	if err != nil {
		return Shift{}, err
	}
	switch {
	case start == day:
		return Shift{}, phrases.Sprintf("the shift %q cannot start at 24:00: let it start at 00:00 of the next day", s)
	case start == end:
		return Shift{}, phrases.Sprintf("the shift %q ends when it starts: write 00:00-24:00 for the whole day, or leave it out", s)
	case end < start:
		end += day
	}
	return Shift{start, end}, nil
}

// String returns the shift as ParseShift reads it.
func (s Shift) String() string {
	end := s.End
	if end > day {
		end -= day
	}
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute) }
	return clock(s.Start) + "-" + clock(end)
}

// Overlaps reports whether two shifts of one day have time in common.
func (s Shift) Overlaps(other Shift) bool { return s.Start < other.End && other.Start < s.End }

// ParseTimeOfDay reads "9:00" or "09:00" as the time since midnight.
func ParseTimeOfDay(s string) (time.Duration, error) {
	hours, minutes, _ := strings.Cut(s, ":")
	h, okHours := digits(hours, 1, 2)
	m, okMinutes := digits(minutes, 2, 2)
	d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if !okHours || !okMinutes || m > 59 || d > day {
		return 0, phrases.Sprintf("%q is not a time of day between 00:00 and 24:00: write it like 08:00 or 18:30", s)
	}
	return d, nil
}

// digits reads a number written with at least least and at most most digits, and nothing else.
func digits(s string, least, most int) (int, bool) {
	if len(s) < least || len(s) > most || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// check refuses what ParseShift would not have returned.
func (s Shift) check() error {
	switch {
	case s.Start < 0 || s.Start >= day:
		return phrases.Sprintf("a shift must start between 00:00 and 23:59")
	case s.End <= s.Start:
		return phrases.Sprintf("a shift must end after it starts")
	case s.End > 2*day:
		return phrases.Sprintf("a shift must end by the end of the day after it starts")
	case s.Start%time.Minute != 0 || s.End%time.Minute != 0:
		return phrases.Sprintf("a shift must start and end on a whole minute")
	}
	return nil
}
