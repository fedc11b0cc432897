package calendar

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// Bounds on an iCalendar file, so that a wrong download costs an error and not memory.
const (
	maxICSBytes = 256 << 10
	maxICSDates = 5000
)

// ParseICS returns the days and the hours that the events of an iCalendar file cover, each in order
// and once.
//
// An event of whole days covers every date from its start to its end. An event with hours covers
// these hours of the wall clock of a zone, in whole minutes: times in UTC or with another TZID are
// converted to the zone, and times without a zone are taken as they are written. Hours over
// midnight come as hours of both days.
//
// Yearly events are expanded to the year 2100; other recurrences are an error. Cancelled events and
// excluded dates are left out. A file may have 256 KiB, and its events may cover 5,000 dates,
// counting one covered twice as two.
func ParseICS(src []byte, zone *time.Location) ([]Date, []ClosedHours, error) {
	if len(src) > maxICSBytes {
		return nil, nil, phrases.Sprintf("the file has %d KiB, but at most %d are read: export only the holidays", (len(src)+1023)>>10, maxICSBytes>>10)
	}
	events, err := parseEvents(src, &zoneNames{calendar: zone, known: map[string]*time.Location{}})
	if err != nil {
		return nil, nil, err
	}
	// An event with a RECURRENCE-ID stands in for one occurrence of the event of the same UID, moved
	// or cancelled.
	replaced := map[string]map[Date]bool{}
	for _, e := range events {
		if e.replaces == (Date{}) {
			continue
		}
		if replaced[e.uid] == nil {
			replaced[e.uid] = map[Date]bool{}
		}
		replaced[e.uid][e.replaces] = true
	}
	var (
		days    []Date
		hours   []ClosedHours
		covered int
	)
	for _, e := range events {
		if e.cancelled {
			continue
		}
		var elsewhere map[Date]bool
		if e.replaces == (Date{}) {
			elsewhere = replaced[e.uid]
		}
		starts := e.starts(elsewhere)
		if covered += len(starts) * e.covers(); covered > maxICSDates {
			return nil, nil, e.line.errorf("with this event the file covers more than %d dates: correct its DTEND, or export only the holidays", maxICSDates)
		}
		for _, start := range starts {
			if e.start.timed {
				hours = append(hours, e.hours(start, zone)...)
			} else {
				days = append(days, e.days(start)...)
			}
		}
	}
	slices.SortFunc(days, Date.Compare)
	slices.SortFunc(hours, ClosedHours.compare)
	return slices.Compact(days), slices.Compact(hours), nil
}

// parseEvents reads the VEVENT components of a file.
func parseEvents(src []byte, zones *zoneNames) ([]*event, error) {
	var (
		events     []*event
		components []string // those begun and not yet ended, outermost first
		begun      property // the BEGIN of the innermost one so far
	)
	for _, line := range unfold(src) {
		p, ok := parseProperty(line)
		switch {
		case len(components) == 0 && !(ok && p.name == "BEGIN" && strings.EqualFold(p.value, "VCALENDAR")):
			return nil, line.errorf("this is not an iCalendar file: BEGIN:VCALENDAR is expected here")
		case !ok:
			return nil, line.errorf("%s is not a property: a name and a value with a colon between them are expected", quote(line.text))
		case p.name == "BEGIN":
			begun = p
			components = append(components, strings.ToUpper(p.value))
			if p.is("VEVENT") {
				events = append(events, &event{line: line, zones: zones})
			}
		case p.name == "END":
			last := len(components) - 1
			if !p.is(components[last]) {
				return nil, line.errorf("END:%s is expected here, not %s: the file is damaged, export it again", components[last], quote(line.text))
			}
			components = components[:last]
			if p.is("VEVENT") {
				if err := events[len(events)-1].finish(); err != nil {
					return nil, err
				}
			}
		case components[len(components)-1] == "VEVENT":
			// Alarms inside an event and the zones beside it have properties of the same names.
			if err := events[len(events)-1].set(p); err != nil {
				return nil, err
			}
		}
	}
	if len(components) > 0 {
		return nil, begun.errorf("BEGIN:%s has no END: the file is cut short, export it again", begun.value)
	}
	return events, nil
}

// line is a logical line of the file, and the number of the physical one it begins on.
type line struct {
	number int
	text   string
}

func (l line) errorf(format string, args ...any) error {
	return phrases.Sprintf("line %d: %s", l.number, phrases.Sprintf(format, args...))
}

// unfold joins folded lines: a line that begins with a space or a tab continues the one before. It
// drops empty lines.
func unfold(src []byte) []line {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	var (
		lines   []line
		text    []byte
		started int
	)
	flush := func() {
		if len(text) > 0 {
			lines = append(lines, line{started, string(text)})
		}
		text = text[:0]
	}
	number := 0
	for physical := range bytes.Lines(src) {
		number++
		physical = bytes.TrimRight(physical, "\r\n")
		if len(physical) > 0 && (physical[0] == ' ' || physical[0] == '\t') && len(text) > 0 {
			text = append(text, physical[1:]...)
			continue
		}
		flush()
		started = number
		text = append(text, bytes.TrimSpace(physical)...)
	}
	flush()
	return lines
}

// property is a parsed line: its name in upper case, its parameters and its value.
type property struct {
	line
	name, parameters, value string
}

// is reports whether the value is the given name of a component.
func (p property) is(component string) bool { return strings.EqualFold(p.value, component) }

// parseProperty splits a line at the first colon that is not within quotes.
func parseProperty(l line) (property, bool) {
	quoted := false
	for i, r := range l.text {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ':' && !quoted:
			name, parameters, _ := strings.Cut(l.text[:i], ";")
			return property{l, strings.ToUpper(name), parameters, strings.TrimSpace(l.text[i+1:])}, name != ""
		}
	}
	return property{}, false
}

// parameter returns the value of a parameter, without quotes.
func (p property) parameter(name string) (string, bool) {
	quoted := false
	for part := range strings.FieldsFuncSeq(p.parameters, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ';' && !quoted
	}) {
		if key, value, ok := strings.Cut(part, "="); ok && strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.Trim(strings.TrimSpace(value), `"`), true
		}
	}
	return "", false
}

// quote quotes what a file says, shortened to fit a message.
func quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
