// Package story tells what happened to one customer: a line for each thing that people wrote, the
// service told or a rule did, and for each line why.
package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// A Teller tells the story of one customer. Every field is required.
type Teller struct {
	words.Language
	Customer string // the name, or what else is known
	Location *time.Location
	Now      time.Time
	Profile  *service.Profile
	Rule     func(id, version string) *rules.Rule // as it was; nil if that is not known
	Name     func(rule string) string             // of a rule
	Names    func(id string) string               // of a thing of the service; empty if that is not known
}

// A Past is what a journal has of a customer.
type Past struct {
	Events []*journal.Event // the oldest first
	Runs   []*journal.Run
	Caused []journal.Caused // by the engine, of the messages, cards and attendances of the events

	From, To time.Time // what is told of the runs; the zero time is no bound
}

// A Story is what happened, the oldest first, and what still waits.
type Story struct {
	Lines   []Line
	Waiting []Line
}

// A Line is one thing that happened.
type Line struct {
	ID    string // names it in addresses: e12 is an event, r3.2 a step of a run
	At    time.Time
	Icon  string
	Tone  Tone
	Head  string // what happened
	Why   string // in a few words; empty if there is nothing to add
	Aside string // a rule, or until when

	Side  string   // of a message: in, out or engine
	Who   string   // wrote it
	Text  []string // its lines
	Rest  []string // the rest of a long one
	Media bool

	Does  bool // a rule did it
	Ahead bool // it is yet to come
	Run   int64
	Step  int
	Event int64 // that it is, or that started the run

	order [2]int64 // at one moment
}

// A Tone is what the colour of a line means.
type Tone string

// The tones.
const (
	Acts   Tone = "acts"
	Looks  Tone = "look" // somebody should look
	Waits  Tone = "waits"
	Failed Tone = "failed"
	Shadow Tone = "shadow"
	Over   Tone = "over"
)

// Tell tells a story.
func (t *Teller) Tell(p Past) Story {
	var s Story
	sent := map[string]Line{} // by the keys of messages
	seen := map[string]bool{}
	for _, e := range p.Events {
		if m, ok := t.message(e); ok {
			seen[engine.ObjectKey(m.ID)] = true
		}
	}
	var effects []effect
	for _, r := range p.Runs {
		told := t.run(r)
		effects = append(effects, told.effects...)
		for _, l := range told.lines {
			if key := told.messages[l.ID]; key != "" && seen[key] {
				sent[key] = l // it is told when the service tells of it
				continue
			}
			if !l.At.Before(p.From) && (p.To.IsZero() || l.At.Before(p.To)) {
				s.Lines = append(s.Lines, l)
			}
		}
		if told.waits != nil {
			s.Waiting = append(s.Waiting, *told.waits)
		}
	}
	s.Lines = append(s.Lines, t.events(p, sent, effects)...)
	for i := range s.Lines {
		s.Lines[i].At = s.Lines[i].At.In(t.Location)
	}
	slices.SortStableFunc(s.Lines, func(a, b Line) int {
		return cmp.Or(a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second)), slices.Compare(a.order[:], b.order[:]))
	})
	slices.SortStableFunc(s.Waiting, func(a, b Line) int { return a.At.Compare(b.At) })
	s.Lines = slices.CompactFunc(s.Lines, func(a, b Line) bool { return a.Icon == officeIcon && a.Head == b.Head && a.At.Equal(b.At) })
	return s
}

// Find returns the line with an id, or else the one that people ask about: what somebody should
// look at if that is of the last day, the newest thing that a rule did, or that a rule had a part
// in.
func (s *Story) Find(id string) *Line {
	for i := range s.Waiting {
		if s.Waiting[i].ID == id {
			return &s.Waiting[i]
		}
	}
	var recent time.Time
	if n := len(s.Lines); n > 0 {
		recent = s.Lines[n-1].At.AddDate(0, 0, -1)
	}
	for _, fits := range []func(Line) bool{
		func(l Line) bool { return id != "" && l.ID == id },
		func(l Line) bool { return (l.Tone == Looks || l.Tone == Failed) && l.At.After(recent) },
		func(l Line) bool { return l.Does },
		func(l Line) bool { return l.Run != 0 },
		func(l Line) bool { return l.Event != 0 },
	} {
		for i := range slices.Backward(s.Lines) {
			if fits(s.Lines[i]) {
				return &s.Lines[i]
			}
		}
	}
	return nil
}

// Last returns the last thing that happened, but for clocks; nil if there is none.
func (s *Story) Last() *Line {
	for i := range slices.Backward(s.Lines) {
		if l := &s.Lines[i]; l.Icon != clockIcon && l.Icon != officeIcon {
			return l
		}
	}
	return nil
}

// A Day is the lines of one day.
type Day struct {
	Name  string
	Date  string // names it in the page
	Lines []Line
}

// Days groups lines by day.
func (t *Teller) Days(lines []Line) (days []Day) {
	for _, l := range lines {
		name := t.Day(l.At)
		if len(days) == 0 || days[len(days)-1].Name != name {
			days = append(days, Day{Name: name, Date: l.At.Format("20060102")})
		}
		last := &days[len(days)-1]
		last.Lines = append(last.Lines, l)
	}
	return days
}

// Day names a day: Friday 13 November.
func (t *Teller) Day(at time.Time) string {
	name := t.T("story.day", t.T("fixed.weekday."+at.Weekday().String()), at.Day(), t.T("fixed.month."+at.Month().String()))
	now := t.Now.In(t.Location)
	if at.Year() != now.Year() {
		name += at.Format(" 2006")
	}
	switch at.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return upper(t.T("story.today")) + ", " + name
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return upper(t.T("story.yesterday")) + ", " + name
	}
	return upper(name)
}

// hour says a time beside what happened on a day: of the same day it is only the clock.
func (t *Teller) hour(at, on time.Time) string {
	at, on = at.In(t.Location), on.In(t.Location)
	if at.Format(time.DateOnly) == on.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return t.Moment(at)
}

// message returns the message of an event, if it has one that can be shown.
func (t *Teller) message(e *journal.Event) (m service.Message, ok bool) {
	if !strings.HasPrefix(e.Type, "message.") {
		return m, false
	}
	m, ok = t.Profile.EventMessage(e.Type, e.Data)
	return m, ok && (m.Text != "" || m.MediaID != "")
}

func eventID(seq int64) string { return fmt.Sprintf("e%d", seq) }

func stepID(run int64, step int) string { return fmt.Sprintf("r%d.%d", run, step) }

// upper begins a sentence.
func upper(s string) string {
	r := []rune(s)
	if len(r) == 0 {
		return s
	}
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}
