package backfill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// The parts of a pass. Each has its own position.
const (
	partAttendances = "attendances"
	partMessages    = "messages"
	partCards       = "cards"
)

// unneeded is how long a part that no rule needs keeps its position: rules may be missing for a
// moment, but a rule added later does not apply to the past.
const unneeded = time.Hour

// A pass searches the service once for events that were not delivered.
type pass struct {
	*Source
	now    time.Time
	told   time.Time // webhooks for anything up to then are no longer in flight
	needed []string
	full   bool     // it relies on nothing that earlier passes read
	parts  []string // to run; nil is all
	fast   bool     // webhooks do not deliver card events, so the pass scans cards in between
	reason string

	looked map[string]*service.Conversation // by id; nil if it cannot be read
	people map[string]map[string]any        // contacts by id
}

// A span is the time that a part of a pass covers.
type span struct {
	since time.Time
	last  time.Time // about when the last scan ran: a change that shows no time happened after it
	first bool      // the first scan: events of the past are not reported
	begun bool      // there was a scan before, but none was complete
	long  bool      // the last scan is too old to compare with
	types []string
}

// run runs the pass and reports whether every part was complete.
func (p *pass) run(ctx context.Context) (ok bool) {
	p.looked, p.people = map[string]*service.Conversation{}, map[string]map[string]any{}
	if p.parts == nil {
		p.channels = nil // a channel may have become private
	}
	p.updateState(func(st *State) {
		*st = State{Looking: true, Began: p.now, Ended: st.Ended, Reason: p.reason, Problem: st.Problem, Why: st.Why}
	})
	ok = true
	for _, part := range []struct {
		name  string
		types []string
		look  func(context.Context, span) error
	}{
		{partAttendances, vocabulary.FindableEvents(vocabulary.Attendance), p.attendances},
		{partMessages, vocabulary.FindableEvents(vocabulary.Message), p.messages},
		{partCards, cardTypes, p.cards},
	} {
		if p.parts != nil && !slices.Contains(p.parts, part.name) || ctx.Err() != nil {
			continue
		}
		p.updateState(func(st *State) { st.Part = part.name })
		p.fast = p.fast && part.name != partCards // a card scan nested in another would report each move twice
		if err := p.runPart(ctx, part.name, needs(p.needed, part.types...), part.look); err != nil {
			ok = false
			if p.logFailure(ctx, part.name, err) {
				break
			}
		}
	}
	p.end(ctx, ok && ctx.Err() == nil)
	if p.parts == nil && ok && ctx.Err() == nil {
		p.options.Looked(ctx, p.told)
	}
	return ok
}

// scanCardsBetween scans cards during a pass, if webhooks do not deliver card events and a scan is
// due: a pass can take long, and a rare scan sees several moves as one. It returns an error if the
// pass must stop.
func (p *pass) scanCardsBetween(ctx context.Context) error {
	now := p.options.Now().Round(0)
	if !p.fast || now.Sub(p.Source.cards) < p.options.Cards {
		return nil
	}
	p.Source.cards = now
	q := &pass{Source: p.Source, now: now, told: latest(p.told, now.Add(-p.options.Fresh)), needed: p.needed, parts: []string{partCards}, reason: p.reason, looked: p.looked, people: p.people}
	part := p.State().Part
	p.updateState(func(st *State) { st.Part = partCards })
	defer p.updateState(func(st *State) { st.Part = part })
	err := q.runPart(ctx, partCards, needs(q.needed, cardTypes...), q.cards)
	if err != nil && q.logFailure(ctx, partCards, err) {
		return err
	}
	return nil
}

// end records the end of the pass.
func (p *pass) end(ctx context.Context, ok bool) {
	whole := p.parts == nil
	p.Source.cards = latest(p.Source.cards, p.now)
	if whole {
		p.all = p.now
	}
	switch {
	case !ok:
		p.failed++
	case whole:
		p.failed = 0
		if err := p.options.Journal.SetCursor(ctx, p.name("pass"), p.now.UTC().Format(time.RFC3339Nano)); err != nil {
			p.log.Debug("other engines are not told of a pass", "error", err)
		}
	}
	var st State
	p.updateState(func(now *State) {
		now.Looking, now.Part, now.Ended = false, "", p.options.Now().Round(0)
		st = *now
	})
	args := []any{"reason", p.reason, "looked", st.Looked, "found", st.Found, "calls", st.Calls, "took", st.Ended.Sub(st.Began).Round(time.Millisecond)}
	if p.full || st.Found > 0 {
		p.log.Info("looked for what no webhook told", args...)
	} else {
		p.log.Debug("looked for what no webhook told", args...)
	}
}

// A position is how far a part has come: everything between two times is recorded. What happened
// before began is out of scope.
type position struct {
	to, begun time.Time
	partly    bool // no scan has completed since it began
}

// partly is the stored form of position.partly.
const partly = "partly"

func (p *pass) position(ctx context.Context, part string) (at position, err error) {
	value, err := p.options.Journal.Cursor(ctx, p.name(part))
	if err != nil {
		return at, fmt.Errorf("read how far the backfill of %s has come: %w", part, err)
	}
	to, begun, _ := strings.Cut(value, " ")
	begun, at.partly = strings.CutSuffix(begun, " "+partly)
	var wrong [2]error
	at.to, wrong[0] = time.Parse(time.RFC3339Nano, to)
	at.begun, wrong[1] = time.Parse(time.RFC3339Nano, begun)
	if wrong[0] != nil || wrong[1] != nil {
		return position{}, nil
	}
	return at, nil
}

func (p *pass) setPosition(ctx context.Context, part string, at position) error {
	value := ""
	if !at.to.IsZero() {
		value = at.to.UTC().Format(time.RFC3339Nano) + " " + at.begun.UTC().Format(time.RFC3339Nano)
	}
	if at.partly {
		value += " " + partly
	}
	if err := p.options.Journal.SetCursor(ctx, p.name(part), value); err != nil {
		return fmt.Errorf("write down how far the backfill of %s has come: %w", part, err)
	}
	return nil
}

// runPart searches for events of these types from the end of the last pass on.
func (p *pass) runPart(ctx context.Context, name string, types []string, look func(context.Context, span) error) error {
	at, err := p.position(ctx, name)
	if err != nil {
		return err
	}
	if len(types) == 0 {
		p.clearProblem(name)
		if !at.to.IsZero() && p.now.Sub(at.to) > unneeded {
			return p.setPosition(ctx, name, position{})
		}
		return nil
	}
	sp := span{types: types, begun: at.partly}
	if at.to.IsZero() {
		at, sp.first = position{to: p.now, begun: p.now, partly: true}, true
		// Stored at once, so that events during a downtime count as missed.
		if err := p.setPosition(ctx, name, at); err != nil {
			return err
		}
	}
	sp.long = p.now.Sub(at.to) > p.options.Most
	sp.since = latest(at.to.Add(-p.options.Overlap), at.begun, p.now.Add(-p.options.Most))
	if sp.last = at.to.Add(p.options.Fresh); sp.last.After(p.now) {
		sp.last = p.now
	}
	if err := look(ctx, sp); err != nil {
		return err
	}
	p.clearProblem(name)
	p.clearProblem("key")
	at.to, at.partly = latest(at.to, p.told), false
	return p.setPosition(ctx, name, at)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// ripe reports whether the webhook of an event can no longer be in flight.
func (p *pass) ripe(eventType string, at time.Time) bool {
	return p.options.Undelivered(eventType) || !at.After(p.told)
}

// logFailure logs why a part failed, and reports whether the other parts would fail too.
func (p *pass) logFailure(ctx context.Context, part string, err error) (all bool) {
	e, _ := errors.AsType[*service.Error](err)
	switch {
	case ctx.Err() != nil || errors.Is(err, errLost):
		return true
	case e != nil && e.Status == http.StatusUnauthorized && !e.Local:
		p.logOnce("key", phrases.New(phrases.BackfillKey), "error", err)
		return true
	case e != nil && e.Status == http.StatusForbidden && !e.Local:
		p.logOnce(part, phrases.New(phrases.BackfillScope, e.Scope, part))
		return false
	}
	p.clearProblem("key")
	p.logOnce(part, phrases.New(phrases.BackfillPart, part), "error", err)
	return false
}
