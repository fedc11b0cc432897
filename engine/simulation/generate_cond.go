package simulation

import (
	"strings"

	"github.com/quandohq/quando/rules/vocabulary"
)

// cond generates a condition over the known facts. Words and names are few, so that about half of
// them are true.
func (g *generator) cond(f known, depth int) Cond {
	if depth == 0 && g.chance(15) {
		return Cond{Kind: pick(g, CondAny, CondAll), Not: g.chance(15), Of: []Cond{g.cond(f, 1), g.cond(f, 1)}}
	}
	var list []choice[Cond]
	add := func(weight int, c Cond) { list = append(list, choice[Cond]{weight, c}) }
	if !f.edges || !g.s.Exact {
		add(8, Cond{Kind: CondOpen, Text: pick(g, Calendars...)})
	}
	if events := g.rule.When.Events; len(events) > 0 {
		add(2+3*len(events)/2, Cond{Kind: CondTypeIs, Text: pick(g, events...)})
	}
	if f.message {
		add(14, Cond{Kind: CondSays, Text: pick(g, g.words...)})
		add(10, Cond{Kind: CondTextIs, Text: pick(g, g.words...)})
	}
	if f.sent {
		add(10, Cond{Kind: CondByTeam})
	}
	if f.gathered {
		add(14, Cond{Kind: CondMany, N: g.between(2, 3)})
	}
	if f.conversation {
		add(10, Cond{Kind: CondHasLabel, Text: pick(g, g.labels...)})
		add(5, Cond{Kind: CondHumanActive, For: g.window()})
		add(5, Cond{Kind: CondWaiting, For: g.window()})
		add(4, Cond{Kind: CondAssigned})
		add(4, Cond{Kind: CondSector, Text: pick(g, append([]string{""}, Sectors...)...)})
		add(6, Cond{Kind: CondCount, Text: pick(g, vocabulary.MessageReceived, vocabulary.MessageReceived, vocabulary.MessageSent, vocabulary.AttendanceClosed, vocabulary.ConversationUpdated), For: g.window(), N: g.few(1, 3)})
	}
	if f.attendance {
		add(7, Cond{Kind: CondAttendanceOpen})
		add(6, Cond{Kind: CondAnswered})
		if !f.edges || !g.s.Exact {
			add(4, Cond{Kind: CondBusiness, Text: "office", For: g.window()})
		}
	}
	if f.card && (f.sure || !g.s.Exact) {
		add(14, Cond{Kind: CondStage, Text: pick(g, Boards["Deals"]...)})
	}
	for _, id := range g.answers {
		add(8, Cond{Kind: CondNoAnswer, Text: id})
		add(8, Cond{Kind: CondAnswerIs, Text: id + "=" + pick(g, "1", "2", "3")})
	}
	if len(list) == 0 {
		add(1, Cond{Kind: CondTypeIs, Text: "schedule"})
	}
	c := weighted(g, list...)
	switch c.Kind {
	case CondHasLabel, CondSector, CondAssigned, CondAnswered, CondHumanActive, CondWaiting, CondBusiness, CondStage:
		c.Not = g.chance(60) // at first none of these holds
	default:
		c.Not = g.chance(25)
	}
	return c
}

// askedWords lists the words that rules test messages for.
func askedWords(rules []Rule) (words []string) {
	everyCond(rules, func(c *Cond) {
		switch c.Kind {
		case CondSays, CondTextIs:
			words = union(words, []string{c.Text})
		case CondAnswerIs:
			_, word, _ := strings.Cut(c.Text, "=")
			words = union(words, []string{word})
		}
	})
	return words
}
