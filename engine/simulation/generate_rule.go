package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// oneRule generates a rule. In an exact scenario none of its timers coincides with an act.
func (g *generator) oneRule(id string) Rule {
	for try := 0; ; try++ {
		r := g.anyRule(id, try > 30)
		if !g.s.Exact || timely(&r, g.bursts) {
			return r
		}
	}
}

// anyRule generates a rule; a plain one has no timers.
func (g *generator) anyRule(id string, plain bool) Rule {
	r := Rule{ID: id, When: g.when()}
	g.rule, g.names, g.answers, g.asked, g.waits = &r, 0, nil, 0, 0
	if plain {
		g.waits = 9
	}
	events := len(r.When.Events) > 0
	if events && g.chance(15) {
		r.FromAny = true
	}
	if events && g.chance(12) {
		r.Claimed = true
	}
	if events && !r.FromAny && g.chance(18) && !plain {
		r.Gather = g.gather()
	}
	if r.Gather != nil {
		g.waits++
	}
	if r.FromAny && g.s.Exact {
		g.waits = 9
	}
	f := factsFor(&r, g.s.Exact)
	first := strings.HasPrefix(id, "r1") // it is to do something on most desks
	conditions := weighted(g, choice[int]{50, 0}, choice[int]{38, 1}, choice[int]{12, 2})
	if first && g.chance(50) {
		conditions = 0
	}
	for range conditions {
		r.If = append(r.If, g.cond(f, 0))
	}
	g.keys(&r)
	if first && g.chance(50) {
		r.Do = append(r.Do, g.send(f))
	}
	r.Do = append(r.Do, g.pattern(f)...)
	if !changesAnything(r.Do) && g.chance(85) {
		r.Do = append(r.Do, g.send(f))
	}
	if g.chance(25) || slices.ContainsFunc(r.Do, func(s Step) bool { return s.Verb == "find_card" }) {
		g.answers, g.waits = nil, 9
		f.card, f.sure = false, false
		r.OnError = g.steps(f, 1, 2)
	}
	if g.waitsSomewhere(&r) && g.s.Exact && (r.Mode == "" || r.Mode == "queued") && g.chance(60) {
		r.Mode = pick(g, "single", "restart", "parallel")
	}
	if g.waitsSomewhere(&r) && g.chance(45) {
		r.CancelOn = g.cancelOn()
	}
	return r
}

// changesAnything reports whether steps have an effect, unless a condition prevents it.
func changesAnything(steps []Step) (found bool) {
	everyStep([]Rule{{Do: steps}}, func(s *Step) {
		found = found || s.If == nil && slices.ContainsFunc(touched(s), func(t verbChange) bool { return t.how != 'r' }) && s.Verb != "remove_labels" && s.Verb != "close_attendance"
	})
	return found
}

func (g *generator) waitsSomewhere(r *Rule) (waits bool) {
	everyStep([]Rule{*r}, func(s *Step) { waits = waits || s.Verb == "wait" || s.Verb == "wait_for" })
	return waits
}

func (g *generator) when() When {
	list := func(events ...string) When { return When{Events: events} }
	schedule := weighted(g, choice[string]{40, ""}, choice[string]{35, "attendances"}, choice[string]{25, "cards"})
	every := pick(g, 10*time.Minute, 15*time.Minute, 20*time.Minute, time.Hour, 3*time.Hour)
	at := pick(g, "07:59", "08:00", "09:15", "12:00", "17:30", "22:00")
	if g.s.Exact {
		every, at = pick(g, mark, time.Hour, 3*time.Hour), pick(g, "08:12", "09:18", "11:42", "14:06", "17:48", "22:24")
	}
	return weighted(g,
		choice[When]{30, list(vocabulary.MessageReceived)},
		choice[When]{10, list(vocabulary.AttendanceOpened)},
		choice[When]{9, list(vocabulary.AttendanceClosed)},
		choice[When]{7, list(vocabulary.MessageSent)},
		choice[When]{4, list(vocabulary.ConversationUpdated)},
		choice[When]{4, list(vocabulary.CardCreated)},
		choice[When]{4, list(vocabulary.CardMoved)},
		choice[When]{3, list(vocabulary.CardCompleted)},
		choice[When]{3, list(vocabulary.CardCreated, vocabulary.CardMoved)},
		choice[When]{4, list(vocabulary.MessageReceived, vocabulary.MessageSent)},
		choice[When]{4, list(vocabulary.AttendanceOpened, vocabulary.AttendanceClosed)},
		choice[When]{3, list(vocabulary.MessageReceived, vocabulary.AttendanceClosed)},
		choice[When]{6, When{Manual: true}},
		choice[When]{6, When{Every: every, Each: schedule}},
		choice[When]{4, When{At: at, Each: schedule}},
	)
}

func (g *generator) gather() *Gather {
	if g.s.Exact {
		quiet := time.Duration(pick(g, 6, 12)) * time.Minute
		return &Gather{Quiet: quiet, AtMost: quiet + pick(g, 0, 12*time.Minute) + 12*time.Minute}
	}
	quiet := pick(g, time.Second, 10*time.Second, 40*time.Second, 5*time.Minute)
	return &Gather{Quiet: quiet, AtMost: quiet * time.Duration(pick(g, 0, 1, 2, 5))}
}

// keys generates the keys between the conditions and the steps.
func (g *generator) keys(r *Rule) {
	scheduled, lane := r.When.Every > 0 || r.When.At != "", r.When.Each != "" || r.When.Every == 0 && r.When.At == ""
	by := func() string {
		if !lane {
			return "event.type"
		}
		return pick(g, "contact.id", "contact.id", "event.type", "conversation.kind", "contact.id + event.type")
	}
	if r.ID != "r1" && g.chance(7) {
		r.Stage = "shadow"
	} else if r.ID != "r1" && g.chance(4) {
		r.Stage = "draft"
	}
	if g.chance(4) {
		r.Sample = pick(g, 10, 50, 90)
	}
	if g.chance(20) {
		r.By = by()
	}
	r.Mode = weighted(g, choice[string]{50, ""}, choice[string]{8, "queued"}, choice[string]{18, "single"}, choice[string]{12, "restart"}, choice[string]{12, "parallel"})
	if g.chance(25) {
		r.Limit = &Limit{Times: g.few(1, 4), Per: g.window()}
		if g.chance(30) {
			r.Limit.By = by()
		}
	}
	if g.chance(6) {
		r.Max = g.between(1, 3)
	}
	switch {
	case scheduled && g.chance(30):
		r.Late.Run = pick(g, "last", "all", "none")
	case !scheduled && !r.When.Manual && g.chance(15):
		r.Late.SkipAfter = pick(g, -1, 10*time.Minute, time.Hour, 2*time.Hour)
	}
}

func (g *generator) cancelOn() (out []Match) {
	for _, event := range sample(g, []string{vocabulary.AttendanceClosed, vocabulary.MessageReceived, vocabulary.MessageSent, vocabulary.CardMoved, vocabulary.ConversationUpdated}, g.few(1, 2)) {
		m := Match{Event: event}
		switch {
		case event == vocabulary.MessageSent && g.chance(80):
			m.If = &Cond{Kind: CondByTeam}
		case event == vocabulary.MessageReceived && g.chance(70):
			m.If = &Cond{Kind: CondTextIs, Text: pick(g, g.words...)}
		}
		out = append(out, m)
	}
	return out
}

// known is what the conditions and steps of a rule can use.
type known struct {
	message      bool // always there
	sent         bool // by the team or the engine
	conversation bool
	attendance   bool
	card         bool
	sure         bool   // the card certainly exists
	board        string // of the card, if known
	gathered     bool
	windows      bool // times may be compared
	edges        bool // it may be the minute in which the office opens
	nested       int
}

// factsFor returns what is known at the start of a rule. In an exact scenario it excludes what may
// be missing.
func factsFor(r *Rule, exact bool) known {
	all := func(prefix string) bool {
		return len(r.When.Events) > 0 && !slices.ContainsFunc(r.When.Events, func(e string) bool { return !strings.HasPrefix(e, prefix) })
	}
	scheduled := r.When.Every > 0 || r.When.At != ""
	f := known{
		message: all("message."), sent: all(vocabulary.MessageSent), conversation: !scheduled || r.When.Each != "", card: all("kanban.") || r.When.Each == "cards", windows: true,
		edges: r.When.Every > 0,
	}
	f.sure = f.card
	f.gathered = r.Gather != nil && f.message
	f.attendance = f.conversation && (!exact || all("attendance.") || f.message && !r.FromAny || r.When.Each == "attendances")
	return f
}
