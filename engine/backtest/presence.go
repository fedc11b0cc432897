package backtest

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
)

// presence is what is known for certain of when people of the team wrote: messages of theirs that
// were recorded, and spans of which the service said that there was none.
type presence map[string]*conversation

type conversation struct {
	wrote  []time.Time
	silent []span
}

type span struct{ from, to time.Time }

// hear notes what an event tells: a message of the team, and the answers that rules had.
func (p presence) hear(e *journal.Event, facts map[string]any, id string) {
	if id == "" {
		return
	}
	if m, ok := facts["message"].(map[string]any); ok && m["by"] == "team" {
		if at, ok := m["created_at"].(time.Time); ok {
			p.of(id).wrote = append(p.of(id).wrote, at)
		}
	}
	at, _ := engine.AnswerTo(e.Answers, journal.AnswerNow)
	now, ok := at.(time.Time)
	if !ok {
		return
	}
	for question := range e.Answers {
		if strings.HasPrefix(question, journal.AnswerNow+" ") {
			return // some were answered later, to a rule that gathers
		}
	}
	for question := range e.Answers {
		within, ok := withinOf(question)
		if active, _ := engine.AnswerTo(e.Answers, question); ok && active == false {
			c := p.of(id)
			c.silent = append(c.silent, span{now.Add(-within), now})
		}
	}
}

func (p presence) of(id string) *conversation {
	c := p[id]
	if c == nil {
		c = &conversation{}
		p[id] = c
	}
	return c
}

// withinOf reads the length in human_active(15m).
func withinOf(question string) (time.Duration, bool) {
	const before, after = "human_active(", ")"
	if len(question) < len(before)+len(after) || question[:len(before)] != before || question[len(question)-1:] != after {
		return 0, false
	}
	d, err := duration.Parse(question[len(before) : len(question)-1])
	return d, err == nil
}

// activeWithin reports what answers of the same moment, for other lengths of time, tell of a
// length: who wrote within five minutes did so within fifteen.
func activeWithin(answers iter.Seq2[string, json.RawMessage], length time.Duration) (active, known bool) {
	for question, raw := range answers {
		within, ok := withinOf(question)
		if !ok || json.Unmarshal(raw, &active) != nil {
			continue
		}
		if active && within <= length || !active && within >= length {
			return active, true
		}
	}
	return false, false
}

// activeIn reports whether somebody of the team wrote in a span, if that is known for certain.
func (p presence) activeIn(id string, from, to time.Time) (active, known bool) {
	c := p[id]
	if c == nil {
		return false, false
	}
	if slices.ContainsFunc(c.wrote, func(at time.Time) bool { return !at.Before(from) && !at.After(to) }) {
		return true, true
	}
	// Silence is known where the spans of it leave no gap.
	slices.SortFunc(c.silent, func(a, b span) int { return a.from.Compare(b.from) })
	reached := from
	for _, s := range c.silent {
		if s.from.After(reached) {
			break
		}
		if s.to.After(reached) {
			reached = s.to
		}
	}
	return false, !reached.Before(to)
}
