// Package hours shows a calendar as people change it, a week of bars with special days and
// holidays, and writes it back into its file.
package hours

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/source"
)

// A Span is a stretch of opening hours: "08:00" to "18:00". One that ends before it begins ends on
// the next day, and the whole day is "00:00" to "24:00". A span that a person typed may be wrong.
type Span struct{ From, To string }

// A Day has hours of its own.
type Day struct {
	Date  string // "2026-12-24", or "12-24" for every year
	Spans []Span // none is closed
	Name  string // may be empty
}

// A Sheet is what people change of a calendar.
type Sheet struct {
	Week     [7][]Span // from Monday on
	Special  []Day
	Holidays []string // as they are written: a country's code, a date, hours of a date, or a file
}

// ErrNone is what reading a calendar returns that a file does not have.
var ErrNone = errors.New("the file has no such calendar")

// Weekdays are the days of a Sheet's week, in its order.
var Weekdays = [7]time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday}

// place returns the index of a day in a Sheet's week.
func place(d time.Weekday) int { return (int(d) + 6) % 7 }

// Read returns a calendar of a rule file, and a mark that differs when the calendar does.
func Read(text, name string) (sheet *Sheet, mark string, err error) {
	_, node, err := find(text, name)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256([]byte(node.Flow()))
	sheet, err = readSheet(node)
	return sheet, hex.EncodeToString(sum[:8]), err
}

// find returns a file, and a calendar in it.
func find(text, name string) (*source.File, *source.Node, error) {
	file, problems := source.Read("", []byte(text))
	if problems.HasErrors() || file.Root == nil {
		return nil, nil, fmt.Errorf("the file cannot be read: %w", problems.Err())
	}
	all := file.Root.Get("calendars")
	if all == nil || all.Get(name) == nil || all.Get(name).Kind != source.Mapping {
		return nil, nil, ErrNone
	}
	return file, all.Get(name), nil
}

func readSheet(n *source.Node) (*Sheet, error) {
	s := &Sheet{}
	if open := n.Get("open"); open != nil {
		for _, p := range open.Pairs {
			days, err := calendar.ParseDays(p.Key.Value)
			if err != nil {
				return nil, err
			}
			spans, err := readSpans(p.Value)
			if err != nil {
				return nil, err
			}
			for _, d := range days {
				s.Week[place(d)] = spans
			}
		}
	}
	if special := n.Get("special"); special != nil {
		for _, p := range special.Pairs {
			day := Day{Date: p.Key.Value}
			hours := p.Value
			if hours.Kind == source.Mapping {
				hours = p.Value.Get("open")
				if name := p.Value.Get("name"); name != nil {
					day.Name = name.Value
				}
			}
			var err error
			if day.Spans, err = readSpans(hours); err != nil {
				return nil, err
			}
			s.Special = append(s.Special, day)
		}
	}
	for _, item := range items(n.Get("holidays")) {
		s.Holidays = append(s.Holidays, item.Value)
	}
	return s, nil
}

// items returns the items of a list, or the one value that stands in its place.
func items(n *source.Node) []*source.Node {
	switch {
	case n == nil || n.Kind == source.Null:
		return nil
	case n.Kind == source.List:
		return n.Items
	}
	return []*source.Node{n}
}

func readSpans(n *source.Node) (spans []Span, err error) {
	for _, item := range items(n) {
		span, err := readSpan(item.Value)
		if err != nil {
			return nil, err
		}
		spans = append(spans, span)
	}
	return spans, nil
}

// readSpan reads a span as files have it.
func readSpan(text string) (Span, error) {
	shift, err := calendar.ParseShift(text)
	if err != nil {
		return Span{}, err
	}
	from, to, _ := strings.Cut(shift.String(), "-")
	return Span{from, to}, nil
}

// Typed returns a span as a person typed it: "8" or "8h" is 08:00, "830" is 08:30. The end of a day
// is 24:00. What is no time of day stays as it is.
func Typed(from, to string) Span {
	s := Span{clock(from), clock(to)}
	if s.To == "00:00" {
		s.To = "24:00"
	}
	return s
}

func clock(text string) string {
	text = strings.TrimSpace(text)
	plain := strings.TrimRight(strings.NewReplacer("h", ":", "H", ":", ".", ":").Replace(text), ":")
	if !strings.Contains(plain, ":") {
		switch len(plain) {
		case 1, 2:
			plain += ":00"
		case 3, 4:
			plain = plain[:len(plain)-2] + ":" + plain[len(plain)-2:]
		}
	}
	at, err := calendar.ParseTimeOfDay(plain)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%02d:%02d", int(at.Hours()), int(at.Minutes())%60)
}

// String returns the span as files have it.
func (s Span) String() string { return s.From + "-" + s.To }

// Minutes returns the beginning and the end of a span in minutes of the day it begins on; the end
// of one over midnight is above 1440. It is false for what is no span.
func (s Span) Minutes() (from, to int, ok bool) {
	shift, err := calendar.ParseShift(s.String())
	if err != nil {
		return 0, 0, false
	}
	return int(shift.Start.Minutes()), int(shift.End.Minutes()), true
}

// sameSpans reports whether two days have the same hours.
func sameSpans(a, b []Span) bool { return slices.Equal(a, b) }

// same reports whether two special days are the same.
func (d Day) same(other Day) bool {
	return d.Date == other.Date && d.Name == other.Name && sameSpans(d.Spans, other.Spans)
}
