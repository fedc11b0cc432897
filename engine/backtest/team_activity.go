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

// teamActivity is what is known for certain of when the team wrote: recorded messages, and spans in
// which the service reported none.
type teamActivity map[string]*conversation

type conversation struct {
	wrote  []time.Time
	silent []span
}

type span struct{ from, to time.Time }

// addEvent notes an event: a message of the team, and the answers that rules had.
func (p teamActivity) addEvent(e *journal.Event, facts map[string]any, id string) {
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

func (p teamActivity) of(id string) *conversation {
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

// activeWithin derives an answer for a length of time from answers of the same moment for other
// lengths: a message within five minutes is one within fifteen.
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

// activeIn reports whether the team wrote in a span, if that is known for certain.
func (p teamActivity) activeIn(id string, from, to time.Time) (active, known bool) {
	c := p[id]
	if c == nil {
		return false, false
	}
	if slices.ContainsFunc(c.wrote, func(at time.Time) bool { return !at.Before(from) && !at.After(to) }) {
		return true, true
	}
	// Silence is known if the spans of it leave no gap.
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
