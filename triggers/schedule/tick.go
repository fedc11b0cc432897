package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/triggers"
)

const (
	maxMissed = 1000 // ticks of one rule that late: {run: all} makes up for
	maxAtOnce = 500  // events that the sink is given in one go

	// A source that has not looked for longer than this was asleep: what came due meanwhile was
	// missed. A clock that has gone back by less than this is waited for.
	asleep = time.Minute

	again = time.Second // until something that failed is tried again

	century = 100 * 365 * 24 * time.Hour
)

// Tick gives every tick that is due at a time to the sink, and returns when the next one will be;
// the zero time is when there is none. What the sink does not take is kept and given again with the
// next call. Where something has failed, next is when to try again.
func (s *Source) Tick(ctx context.Context, now time.Time, to triggers.Sink) (next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The times that count are those on the wall: a monotonic clock stands still while the machine
	// sleeps.
	now = now.Round(0)
	errs := []error{s.forget(ctx)}
	slept := now.Sub(s.looked) > asleep
	s.looked = now
	for _, p := range s.paces {
		if err := s.look(ctx, p, now, slept); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.give(ctx, now, to))
	for _, p := range s.paces {
		if p.known && !p.next.IsZero() && (next.IsZero() || p.next.Before(next)) {
			next = p.next
		}
	}
	err = errors.Join(errs...)
	if retry := now.Add(again); err != nil && (next.IsZero() || retry.Before(next)) {
		next = retry
	}
	return next, err
}

// look takes the ticks of one schedule that have come due.
func (s *Source) look(ctx context.Context, p *pace, now time.Time, slept bool) error {
	if !p.known {
		at, err := s.begin(ctx, p, now)
		if err != nil {
			return err
		}
		p.known, p.at = true, at
		p.next = p.schedule.Next(at, s.options.Location)
	}
	if p.at.Sub(now) > asleep {
		// The clock was ahead. What it gave then is given again with the same names, and recorded once.
		s.log.Warn("the clock has gone back: the schedule goes on from here", "workspace", s.options.Workspace, "rule", p.rule, "by", p.at.Sub(now).Round(time.Second))
		p.at, p.unsaved = now, true
		p.next = p.schedule.Next(now, s.options.Location)
	}
	missed := slept || !p.awake
	p.awake = true
	if p.next.IsZero() || p.next.After(now) {
		return nil
	}
	var due []time.Time
	switch {
	case !missed || p.late == "all":
		due = s.between(p, now, maxMissed)
	case p.late == "none":
		// One that is hardly over was not missed: whoever restarts at nine still has the tick of nine.
		due = slices.DeleteFunc(s.between(p, now, 1), func(t time.Time) bool { return now.Sub(t) > asleep })
		if len(due) == 0 {
			s.log.Info("ticks were missed and are left out, as late: {run: none} says", "workspace", s.options.Workspace, "rule", p.rule, "since", p.at.UTC())
		}
	default:
		due = s.between(p, now, 1)
	}
	p.pending = append(p.pending, due...)
	if extra := len(p.pending) - maxMissed; extra > 0 {
		p.pending = slices.Delete(p.pending, 0, extra)
	}
	p.at, p.unsaved = now, true
	p.next = p.schedule.Next(now, s.options.Location)
	return nil
}

// begin returns up to when a schedule's ticks have been given: one that has no cursor, or had other
// times then, begins now.
func (s *Source) begin(ctx context.Context, p *pace, now time.Time) (time.Time, error) {
	value, err := s.options.Cursors.Cursor(ctx, s.cursor(p.rule))
	if err != nil {
		return now, fmt.Errorf("read how far the schedule of %s has come: %w", p.rule, err)
	}
	text, print, _ := strings.Cut(value, " ")
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && print == p.print {
		return at, nil
	}
	// It is written down at once: a tick that comes while we are stopped is then known to be missed.
	p.unsaved = true
	return now, nil
}

// between returns the newest ticks of a schedule since it was last looked at, at most so many,
// oldest first.
func (s *Source) between(p *pace, now time.Time, most int) []time.Time {
	// A schedule may have stood still for years. Its ticks are looked for in growing spans back from
	// now, until there are enough.
	for span := time.Hour; ; span *= 4 {
		from := now.Add(-span)
		whole := from.Before(p.at) || span > century
		if whole {
			from = p.at
		}
		ticks, more := s.newest(p, from, now, most)
		if more && most > 1 {
			s.log.Warn("more ticks were missed than are made up for: only the newest are", "workspace", s.options.Workspace, "rule", p.rule, "made_up", most, "since", p.at.UTC())
		}
		if whole || more {
			return ticks
		}
	}
}

// newest returns the last ticks of a span, at most so many, and whether there were more.
func (s *Source) newest(p *pace, from, now time.Time, most int) (ticks []time.Time, more bool) {
	for t := p.schedule.Next(from, s.options.Location); !t.IsZero() && !t.After(now); t = p.schedule.Next(t, s.options.Location) {
		if ticks = append(ticks, t); len(ticks) > 2*most {
			ticks, more = slices.Delete(ticks, 0, most), true
		}
	}
	if extra := len(ticks) - most; extra > 0 {
		ticks, more = slices.Delete(ticks, 0, extra), true
	}
	return ticks, more
}

// give hands what was taken to the sink, in the order of time, and then writes down how far each
// schedule has come.
func (s *Source) give(ctx context.Context, now time.Time, to triggers.Sink) error {
	var events []rules.Event
	for _, p := range s.paces {
		for _, at := range p.pending {
			events = append(events, s.event(p.rule, at, now))
		}
	}
	slices.SortFunc(events, func(a, b rules.Event) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Rule, b.Rule))
	})
	for part := range slices.Chunk(events, maxAtOnce) {
		if _, err := to(ctx, part...); err != nil {
			return fmt.Errorf("record the ticks of schedules: %w", err)
		}
		for _, e := range part {
			p := s.paces[e.Rule]
			p.pending = slices.DeleteFunc(p.pending, func(at time.Time) bool { return at.Equal(e.CreatedAt) })
		}
	}
	var errs []error
	for _, p := range s.paces {
		if !p.unsaved {
			continue
		}
		value := p.at.UTC().Format(time.RFC3339Nano) + " " + p.print
		if err := s.options.Cursors.SetCursor(ctx, s.cursor(p.rule), value); err != nil {
			errs = append(errs, fmt.Errorf("write down how far the schedule of %s has come: %w", p.rule, err))
			continue
		}
		p.unsaved = false
	}
	return errors.Join(errs...)
}

// event makes the event of a tick. Its id is the same whoever gives it.
func (s *Source) event(rule string, at, now time.Time) rules.Event {
	at = at.UTC()
	return rules.Event{
		Workspace: s.options.Workspace, ID: rule + "/" + at.Format(time.RFC3339), Type: EventType, Rule: rule, Lane: "schedule:" + rule,
		CreatedAt: at, ReceivedAt: now, Data: map[string]any{},
	}
}

// forget takes away the cursors of rules that have left: one that comes back begins anew.
func (s *Source) forget(ctx context.Context) error {
	for len(s.gone) > 0 {
		if err := s.options.Cursors.SetCursor(ctx, s.cursor(s.gone[0]), ""); err != nil {
			return fmt.Errorf("forget the schedule of %s: %w", s.gone[0], err)
		}
		s.gone = s.gone[1:]
	}
	return nil
}

func (s *Source) cursor(rule string) string {
	return "schedule/" + s.options.Workspace + "/" + rule
}
