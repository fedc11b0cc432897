package calendar

import (
	"strings"
	"time"
)

// moment is a date of an iCalendar file, or a time with the zone whose wall clock shows it.
type moment struct {
	clock time.Time // what the wall clock shows, as if in UTC
	zone  *time.Location
	timed bool // it has a time of day
}

// in returns what the wall clock of another zone shows at that time. A date stays as it is.
func (m moment) in(zone *time.Location) moment {
	if !m.timed || zone == nil || m.zone.String() == zone.String() {
		return m
	}
	t := wallClock(m.clock, m.zone).In(zone)
	return moment{wallClock(t, time.UTC), zone, true}
}

// wallClock returns when the wall clock of a zone shows what t shows.
func wallClock(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(year, month, day, hour, minute, second, 0, zone)
}

// clockOf returns the time since midnight that t shows.
func clockOf(t time.Time) time.Duration { return t.Sub(dateOf(t).midnight()) }

// zoneNames finds the zones that a file names.
type zoneNames struct {
	calendar *time.Location            // of times without a zone
	known    map[string]*time.Location // by TZID
}

// moment reads a date (20261224) or a date with a time (20261224T090000, with a Z for UTC).
func (z *zoneNames) moment(p property, value string) (moment, error) {
	if t, err := time.Parse("20060102", value); err == nil {
		return moment{clock: t}, nil
	}
	written, utc := strings.CutSuffix(value, "Z")
	t, err := time.Parse("20060102T150405", written)
	if err != nil {
		return moment{}, p.errorf("%s %s is not a date that exists: write it as 20261224 or 20261224T090000", p.name, quote(value))
	}
	if utc {
		return moment{t, time.UTC, true}, nil
	}
	zone, err := z.find(p)
	return moment{t, zone, true}, err
}

// find returns the zone of a property's times.
func (z *zoneNames) find(p property) (*time.Location, error) {
	name, ok := p.parameter("TZID")
	if !ok {
		return z.calendar, nil
	}
	if zone := z.known[name]; zone != nil {
		return zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, p.errorf("the time zone %s of TZID is unknown: an IANA name such as America/Sao_Paulo is needed", quote(name))
	}
	z.known[name] = zone
	return zone, nil
}

// appendMoments appends the dates or times of a list.
func (z *zoneNames) appendMoments(list []moment, p property) ([]moment, error) {
	for value := range strings.SplitSeq(p.value, ",") {
		m, err := z.moment(p, strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}
