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

// The parts of a pass. Each goes on from where it came to by itself.
const (
	partAttendances = "attendances"
	partMessages    = "messages"
	partCards       = "cards"
)

// unneeded is how long a part that no rule needs remembers how far it came: rules may be gone for a
// moment, but one that comes later is not about the past.
const unneeded = time.Hour

// A pass looks once for what was not told.
type pass struct {
	*Source
	now    time.Time
	told   time.Time // no webhook that tells of something until then is on its way
	needed []string
	full   bool     // it takes nothing for granted
	parts  []string // nil is all
	fast   bool     // no webhook tells of cards, so they are looked at in between
	reason string

	looked map[string]*service.Conversation // by their ids; nil is one that cannot be read
	people map[string]map[string]any        // contacts, by their ids
}

// A span is the time that a part of a pass is about.
type span struct {
	since time.Time
	last  time.Time // when it was last looked at, about: what shows no time of its own has happened after that
	first bool      // there was none before: nothing of the past is told
	begun bool      // there was, but nobody has seen everything yet
	long  bool      // nobody has looked for so long that what was seen then tells nothing
	types []string
}

// make makes the pass and reports whether all of it could be looked at.
func (p *pass) make(ctx context.Context) (ok bool) {
	p.looked, p.people = map[string]*service.Conversation{}, map[string]map[string]any{}
	if p.parts == nil {
		p.channels = nil // a number may have become private
	}
	p.note(func(st *State) {
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
		p.note(func(st *State) { st.Part = part.name })
		p.fast = p.fast && part.name != partCards // two looks at cards, one inside of the other, would each tell of a move
		if err := p.part(ctx, part.name, needs(p.needed, part.types...), part.look); err != nil {
			ok = false
			if p.trouble(ctx, part.name, err) {
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

// glance looks at cards in the middle of a pass, where no webhook tells of them and it is time: a
// pass can take long, and moves that follow each other look like one to whoever looks seldom. It
// returns an error where nothing else can be looked at either.
func (p *pass) glance(ctx context.Context) error {
	now := p.options.Now().Round(0)
	if !p.fast || now.Sub(p.Source.cards) < p.options.Cards {
		return nil
	}
	p.Source.cards = now
	q := &pass{Source: p.Source, now: now, told: latest(p.told, now.Add(-p.options.Fresh)), needed: p.needed, parts: []string{partCards}, reason: p.reason, looked: p.looked, people: p.people}
	part := p.State().Part
	p.note(func(st *State) { st.Part = partCards })
	defer p.note(func(st *State) { st.Part = part })
	err := q.part(ctx, partCards, needs(q.needed, cardTypes...), q.cards)
	if err != nil && q.trouble(ctx, partCards, err) {
		return err
	}
	return nil
}

// end writes down that the pass is over.
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
	p.note(func(now *State) {
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

// A position is how far a part has come: everything up to a time is known. It began at another:
// what is older is nobody's affair.
type position struct {
	to, begun time.Time
	partly    bool // since it began no look has come to its end
}

// partly is how it is written down.
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

// part looks for events of these types from where the last pass came to.
func (p *pass) part(ctx context.Context, name string, types []string, look func(context.Context, span) error) error {
	at, err := p.position(ctx, name)
	if err != nil {
		return err
	}
	if len(types) == 0 {
		p.over(name)
		if !at.to.IsZero() && p.now.Sub(at.to) > unneeded {
			return p.setPosition(ctx, name, position{})
		}
		return nil
	}
	sp := span{types: types, begun: at.partly}
	if at.to.IsZero() {
		at, sp.first = position{to: p.now, begun: p.now, partly: true}, true
		// It is written down at once: what happens while we are stopped is then known to be missed.
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
	p.over(name)
	p.over("key")
	at.to, at.partly = latest(at.to, p.told), false
	return p.setPosition(ctx, name, at)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// ripe reports whether no webhook that tells of something can be on its way any more.
func (p *pass) ripe(eventType string, at time.Time) bool {
	return p.options.Undelivered(eventType) || !at.After(p.told)
}

// trouble says what kept a part from being looked at, and reports whether nothing else can be
// either.
func (p *pass) trouble(ctx context.Context, part string, err error) (all bool) {
	e, _ := errors.AsType[*service.Error](err)
	switch {
	case ctx.Err() != nil || errors.Is(err, errLost):
		return true
	case e != nil && e.Status == http.StatusUnauthorized && !e.Local:
		p.say("key", phrases.New(phrases.BackfillKey), "error", err)
		return true
	case e != nil && e.Status == http.StatusForbidden && !e.Local:
		p.say(part, phrases.New(phrases.BackfillScope, e.Scope, part))
		return false
	}
	p.over("key")
	p.say(part, phrases.New(phrases.BackfillPart, part), "error", err)
	return false
}
