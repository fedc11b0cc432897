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
	maxMissed = 1000 // ticks of one rule that late: {run: all} catches up on
	maxAtOnce = 500  // events per call of the sink

	// asleep is the gap between two ticks after which the machine counts as suspended, and what came
	// due in between as missed. If the clock has gone back by less than this, the source waits for it.
	asleep = time.Minute

	again = time.Second // delay before a retry

	century = 100 * 365 * 24 * time.Hour
)

// Tick passes every tick that is due at a time to the sink, and returns when the next one is due,
// or the zero time. It keeps what the sink does not accept, and offers it again with the next call.
// After an error, next is when to retry.
func (s *Source) Tick(ctx context.Context, now time.Time, to triggers.Sink) (next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Wall-clock times only: a monotonic clock stands still while the machine sleeps.
	now = now.Round(0)
	errs := []error{s.deleteCursors(ctx)}
	slept := now.Sub(s.looked) > asleep
	s.looked = now
	for _, p := range s.positions {
		if err := s.collectDue(ctx, p, now, slept); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.deliver(ctx, now, to))
	for _, p := range s.positions {
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

// collectDue collects the due ticks of one schedule.
func (s *Source) collectDue(ctx context.Context, p *position, now time.Time, slept bool) error {
	if !p.known {
		at, err := s.begin(ctx, p, now)
		if err != nil {
			return err
		}
		p.known, p.at = true, at
		p.next = p.schedule.Next(at, s.options.Location)
	}
	if p.at.Sub(now) > asleep {
		// The clock was ahead. Its ticks come again with the same event ids, and are recorded once.
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
		// A tick that is less than a minute old was not missed: after a restart at nine, the tick of nine
		// still fires.
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

// begin returns the time up to which a schedule's ticks were accepted. A schedule without a cursor,
// or with other times than the cursor's, starts now.
func (s *Source) begin(ctx context.Context, p *position, now time.Time) (time.Time, error) {
	value, err := s.options.Cursors.Cursor(ctx, s.cursor(p.rule))
	if err != nil {
		return now, fmt.Errorf("read how far the schedule of %s has come: %w", p.rule, err)
	}
	text, print, _ := strings.Cut(value, " ")
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && print == p.print {
		return at, nil
	}
	// Stored at once, so that ticks during a downtime count as missed.
	p.unsaved = true
	return now, nil
}

// between returns the newest ticks of a schedule since the last look, at most so many, oldest
// first.
func (s *Source) between(p *position, now time.Time, most int) []time.Time {
	// A schedule may have been down for years. The search goes back from now in growing spans until it
	// has enough ticks.
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
func (s *Source) newest(p *position, from, now time.Time, most int) (ticks []time.Time, more bool) {
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

// deliver passes the collected ticks to the sink, in order of time, and then stores each schedule's
// position.
func (s *Source) deliver(ctx context.Context, now time.Time, to triggers.Sink) error {
	var events []rules.Event
	for _, p := range s.positions {
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
			p := s.positions[e.Rule]
			p.pending = slices.DeleteFunc(p.pending, func(at time.Time) bool { return at.Equal(e.CreatedAt) })
		}
	}
	var errs []error
	for _, p := range s.positions {
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

// event returns the event of a tick. Every engine gives it the same id.
func (s *Source) event(rule string, at, now time.Time) rules.Event {
	at = at.UTC()
	return rules.Event{
		Workspace: s.options.Workspace, ID: rule + "/" + at.Format(time.RFC3339), Type: EventType, Rule: rule, Lane: "schedule:" + rule,
		CreatedAt: at, ReceivedAt: now, Data: map[string]any{},
	}
}

// deleteCursors deletes the cursors of removed rules: a rule that comes back starts anew.
func (s *Source) deleteCursors(ctx context.Context) error {
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
