package backtest

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
)

// customer returns the customer of an event: from its data, from the facts read at the time, or
// from other events of its lane.
func (b *bench) customer(ctx context.Context, e *journal.Event, facts map[string]any, runs ...*journal.Run) (string, error) {
	if name := nameIn(facts); name != "" {
		return name, nil
	}
	answers := []journal.Answers{e.Answers}
	for _, r := range runs {
		answers = append(answers, answersOf(r)...)
	}
	for _, a := range answers {
		told := make(map[string]any)
		for _, fact := range []string{"contact", "conversation"} {
			told[fact], _ = engine.AnswerTo(a, fact)
		}
		if name := nameIn(told); name != "" {
			return name, nil
		}
	}
	name, known := b.names[e.Lane]
	if known {
		return name, nil
	}
	others, err := b.Journal.ListEvents(ctx, journal.EventFilter{Workspace: b.Workspace, Lane: e.Lane, Limit: 20})
	if err != nil {
		return "", fmt.Errorf("look for a name: %w", err)
	}
	for _, other := range others {
		facts, _, err := b.carried(ctx, other)
		if err != nil {
			return "", fmt.Errorf("look for a name: %w", err)
		}
		if name = nameIn(facts); name != "" {
			break
		}
	}
	b.names[e.Lane] = name
	return name, nil
}

// nameIn returns the name of a customer, or else of a card.
func nameIn(facts map[string]any) string {
	for _, field := range [][2]string{{"contact", "name"}, {"conversation", "name"}, {"card", "title"}} {
		fact, _ := facts[field[0]].(map[string]any)
		if text, ok := fact[field[1]].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

func answersOf(r *journal.Run) []journal.Answers {
	var list []journal.Answers
	for _, s := range r.Steps {
		if rec, err := engine.ReadRecord(s); err == nil {
			list = append(list, rec.Answers)
		}
	}
	return list
}
