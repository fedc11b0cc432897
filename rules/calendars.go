package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// maxCalendars bounds the calendars of one file.
const maxCalendars = 200

var calendarName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// compileCalendars compiles the calendars of a file into the set: all of its rules share them.
func (c *compiler) compileCalendars() {
	c.vars, c.varTypes = nil, Object()
	if c.file.calendars == nil {
		return
	}
	if n := len(c.file.calendars.Pairs); n > maxCalendars {
		c.report(c.file.calendars, nil, "the file has %d calendars; at most %d are allowed", n, maxCalendars)
		return
	}
	for _, p := range c.file.calendars.Pairs {
		name := p.Key.Value
		if !calendarName.MatchString(name) {
			c.report(p.Key, say("use letters, digits, - and _"), "%q is not a calendar's name", name)
			continue
		}
		first, written := c.calendars[name], c.sources[name]
		// A calendar with problems stays defined, so that rules that use it are not reported too.
		compiled := c.compileCalendar(p.Value, name)
		if first == nil {
			c.calendars[name], c.set.Calendars[name] = p.Key, compiled
			continue
		}
		// Rule sets that are used together may repeat a calendar if it is identical.
		if compiled != nil && c.sources[name] != written {
			c.report(p.Key, say("the first is in %s", place(first)), "there are two calendars %q, and they differ", name)
			c.sources[name] = written
		}
	}
}

// place returns a node's file and line.
func place(n *source.Node) string {
	p := n.At(source.Error, nil, nil)
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

func (c *compiler) compileCalendar(n *source.Node, name string) *calendar.Calendar {
	const what = "a calendar"
	before := len(c.problems)
	if !c.mapping(n, what, "timezone", "open", "holidays", "special") {
		return nil
	}
	config := calendar.Config{Open: make(map[time.Weekday][]calendar.Shift)}
	if zone := c.required(n, what, "timezone"); zone != nil {
		config.Location = c.zone(zone)
	}
	if open := c.required(n, what, "open"); open != nil {
		c.openingHours(open, &config)
	}
	if special := n.Get("special"); special != nil {
		c.specialDays(special, &config)
	}
	if holidays := n.Get("holidays"); holidays != nil {
		for _, item := range oneOrMore(holidays) {
			c.holiday(item, &config)
		}
	}
	if n.Broken || c.problems[before:].HasErrors() {
		return nil
	}
	c.sources[name] = calendarSource(n, config)
	cal, err := calendar.New(config)
	if err != nil {
		c.report(n, nil, "the calendar %q: %v", name, err)
		return nil
	}
	return cal
}

// calendarSource writes a calendar as YAML that depends on no other file.
func calendarSource(n *source.Node, config calendar.Config) string {
	var holidays []string
	for _, code := range config.Countries {
		holidays = append(holidays, fmt.Sprintf("%q", code))
	}
	for _, d := range config.Holidays {
		holidays = append(holidays, fmt.Sprintf("%q", d.String()))
	}
	for _, h := range config.Closed {
		holidays = append(holidays, fmt.Sprintf("%q", h.String()))
	}
	special := ""
	if n.Get("special") != nil {
		special = ", special: " + n.Get("special").Flow()
	}
	return fmt.Sprintf("{timezone: %s, open: %s, holidays: [%s]%s}", n.Get("timezone").Flow(), n.Get("open").Flow(), strings.Join(holidays, ", "), special)
}

// calendarHint suggests a name for an unknown calendar.
func calendarHint(name string, calendars []string) *phrases.Message {
	if len(calendars) == 0 {
		return say("there is none; describe it under `calendars`")
	}
	return source.OneOf(name, calendars)
}

// zone reads the name of a time zone.
func (c *compiler) zone(n *source.Node) *time.Location {
	s, ok := c.text(n, "a time zone")
	if !ok {
		return nil
	}
	loc, err := time.LoadLocation(s)
	if err != nil || s == "" || s == "Local" {
		c.report(n, say("an IANA name such as America/Sao_Paulo or Europe/Lisbon"), "unknown time zone %q", s)
		return nil
	}
	if offset, ok := strings.CutPrefix(s, "Etc/GMT-"); ok && offset != "0" {
		c.warn(n, say("an IANA name such as America/Sao_Paulo or Europe/Lisbon"), "%s is %s hours ahead of UTC, not behind it", s, offset)
	}
	return loc
}

func (c *compiler) openingHours(n *source.Node, config *calendar.Config) {
	if n.Kind != source.Mapping {
		c.report(n, say("as in %s", "mon-fri: [08:00-12:00, 13:30-18:00]"), "open must be a mapping of days to hours, not %s", n.Kind)
		return
	}
	days := make(map[time.Weekday]*source.Node)
	for _, p := range n.Pairs {
		weekdays, err := calendar.ParseDays(p.Key.Value)
		if err != nil {
			c.report(p.Key, nil, "%v", err)
			continue
		}
		shifts := c.shifts(p.Value, say("leave out the days on which it is closed"))
		for _, day := range weekdays {
			if days[day] != nil {
				c.report(p.Key, say("it stands in %q too", days[day].Value), "the hours of %s are given twice", phrases.Word(day.String()))
			}
			days[day] = p.Key
			config.Open[day] = shifts
		}
	}
}

// shifts reads one or several shifts. The hint tells what to write for a closed day.
func (c *compiler) shifts(n *source.Node, closedHint *phrases.Message) (shifts []calendar.Shift) {
	for _, item := range oneOrMore(n) {
		s, ok := c.text(item, "opening hours")
		if !ok {
			continue
		}
		shift, err := calendar.ParseShift(s)
		if err != nil {
			var hint *phrases.Message
			if strings.EqualFold(s, "closed") || strings.EqualFold(s, "fechado") {
				hint = closedHint
			}
			c.report(item, hint, "%v", err)
			continue
		}
		shifts = append(shifts, shift)
	}
	return shifts
}

// specialDays reads the hours of single days.
func (c *compiler) specialDays(n *source.Node, config *calendar.Config) {
	if n.Kind != source.Mapping {
		c.report(n, say("as in %s", "{ 2026-12-24: [08:00-12:00], 12-26: [] }"), "special must be a mapping of days to hours, not %s", n.Kind)
		return
	}
	for _, p := range n.Pairs {
		date, err := calendar.ParseSpecialDate(p.Key.Value)
		if err != nil {
			c.report(p.Key, nil, "%v", err)
			continue
		}
		if p.Value.Kind == source.Null {
			c.report(p.Value, say("write [] for a day on which it is closed"), "the hours of %s are missing", p.Key.Value)
			continue
		}
		hours, name := p.Value, ""
		if hours.Kind == source.Mapping {
			if hours, name = c.namedDay(p.Value); hours == nil {
				continue
			}
		}
		shifts := c.shifts(hours, say("write [] for a day on which it is closed"))
		for i, shift := range shifts {
			if j := slices.IndexFunc(shifts[:i], shift.Overlaps); j >= 0 {
				c.report(p.Value, nil, "the shifts %s and %s of %s overlap", shifts[j], shift, p.Key.Value)
				break
			}
		}
		config.Special = append(config.Special, calendar.SpecialDay{Date: date, Shifts: shifts, Name: name})
	}
}

// namedDay reads the hours of a special day that has a name. The hours are nil if something is
// wrong.
func (c *compiler) namedDay(n *source.Node) (hours *source.Node, name string) {
	if !c.mapping(n, "a special day", "open", "name") {
		return nil, ""
	}
	if called := n.Get("name"); called != nil {
		name, _ = c.text(called, "a name")
	}
	return c.required(n, "a special day", "open"), name
}

func (c *compiler) holiday(n *source.Node, config *calendar.Config) {
	s, ok := c.text(n, "a holiday")
	if !ok {
		return
	}
	switch {
	case strings.HasSuffix(s, ".ics"):
		if c.options.ReadFile == nil {
			c.report(n, nil, "no file can be read here")
			return
		}
		text, err := c.options.ReadFile(c.file.Name, s)
		if err != nil {
			c.report(n, say("the path starts from the rule file's folder"), "%v", err)
			return
		}
		if config.Location == nil {
			return // the missing zone is reported
		}
		dates, hours, err := calendar.ParseICS(text, config.Location)
		if err != nil {
			c.report(n, nil, "%s: %v", s, err)
			return
		}
		config.Holidays = append(config.Holidays, dates...)
		config.Closed = append(config.Closed, hours...)
	case calendar.IsCountry(s):
		config.Countries = append(config.Countries, s)
	case strings.Contains(s, " "):
		hours, err := calendar.ParseClosedHours(s)
		if err != nil {
			c.report(n, say("hours of a day are written like 2026-12-24 14:00-18:00"), "%v", err)
			return
		}
		config.Closed = append(config.Closed, hours)
	default:
		date, err := calendar.ParseDate(s)
		if err != nil {
			if len(s) == 2 {
				c.report(n, say("write its dates, such as 2026-12-24, or an .ics file; the lists are %s", strings.Join(calendar.Countries(), ", ")), "there is no list of the holidays of %q", s)
				return
			}
			c.report(n, say("a country code such as br, a date such as 2026-12-24, or an .ics file"), "%q is no holiday", s)
			return
		}
		config.Holidays = append(config.Holidays, date)
	}
}
