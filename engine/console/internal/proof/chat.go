package proof

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Line is one line of a conversation.
type Line struct {
	Kind string // in of the customer, team, out of the rule; note, wait, why and time in the middle
	At   time.Time
	Who  string
	Text string

	rank int // the order at one moment
}

// A Teller says what only somebody who knows the rule's text can say.
type Teller struct {
	words.Language
	Rule      string                         // its id
	Name      string                         // of the rule
	Condition func(expression string) string // in words; empty where it has none
	Span      func(text string) string       // a length of time in words
}

// Ranks of what happens at one moment: first what people do, then what comes of it.
const (
	rankEntry = iota
	rankBegun
	rankEffect
	rankWait
	rankEnd
)

// Chat returns what customer and team would see of a story.
func (t *Teller) Chat(s *Story, trial *ruletest.Trial, set *rules.Set) []Line {
	var lines []Line
	for _, e := range s.Entries {
		lines = append(lines, t.entry(s, e))
	}
	for _, e := range trial.Effects {
		lines = append(lines, t.effect(s, e))
	}
	for _, e := range trial.Trace.Events {
		lines = append(lines, t.verdicts(e)...)
	}
	for _, r := range trial.Trace.Runs {
		if r.Rule == t.Rule {
			lines = append(lines, t.run(r, set.Rule(t.Rule), trial.Until)...)
		}
	}
	slices.SortStableFunc(lines, func(a, b Line) int {
		return cmp.Or(a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second)), cmp.Compare(a.rank, b.rank))
	})
	return t.withTimes(lines, s, set)
}

func (t *Teller) entry(s *Story, e Entry) Line {
	text := strings.TrimSpace(e.Text)
	if text == "" {
		text = "…"
	}
	line := Line{Kind: "note", At: e.At, Text: engine.Harmless(text), rank: rankEntry}
	switch e.Do {
	case Customer:
		line.Kind, line.Who = "in", engine.Harmless(s.Customer)
	case Team:
		line.Kind, line.Who = "team", t.T("chat.team")
	case Moves:
		line.Text = t.T("chat.did.moves", line.Text)
	case Event:
		line.Text = t.Or("when.", e.Text)
	default:
		line.Text = t.T("chat.did." + e.Do)
	}
	return line
}

// effect shows what the rule does: a message to the customer as a bubble, anything else as a note.
func (t *Teller) effect(s *Story, e ruletest.Effect) Line {
	effect := actions.Effect{Verb: e.Verb, Who: e.On, Args: e.Args}
	if e.Verb == vocabulary.SendMessage && strings.EqualFold(e.On, s.Customer) {
		text, _ := e.Args["text"].(string)
		if file, ok := e.Args["media"].(string); ok {
			text = strings.TrimSpace(text + "\n📎 " + file)
		}
		return Line{Kind: "out", At: e.At, Who: t.Name, Text: strings.Join(words.HarmlessLines(text), "\n"), rank: rankEffect}
	}
	said, quoted := effect.Did(t.RulesLanguage())
	if quoted != "" {
		said += " “" + quoted + "”"
	}
	return Line{Kind: "note", At: e.At, Text: engine.Harmless(said), rank: rankEffect}
}

// verdicts says why the rule left an event alone.
func (t *Teller) verdicts(e *journal.Event) (lines []Line) {
	for _, v := range e.Verdicts {
		if v.Rule != t.Rule || v.Outcome == journal.Fired || v.Outcome == journal.Gathered || v.Outcome == journal.Own {
			continue
		}
		line := Line{Kind: "why", At: e.CreatedAt, Text: t.T("chat.quiet", t.Or("outcome.", string(v.Outcome))), rank: rankBegun}
		if said := t.Condition(v.Clause); v.Outcome == journal.False && said != "" {
			line.Text = t.T("chat.not_so", engine.Harmless(said))
		}
		lines = append(lines, line)
	}
	return lines
}

// run shows what of a run nobody sees in the conversation: what it collected, its waits, its end.
func (t *Teller) run(r *journal.Run, rule *rules.Rule, until time.Time) (lines []Line) {
	note := func(kind string, at time.Time, rank int, text string) {
		lines = append(lines, Line{Kind: kind, At: at, Text: text, rank: rank})
	}
	if n := len(r.Gathered); n > 1 {
		note("note", r.StartedAt, rankBegun, t.N("chat.collected", n))
	}
	for _, s := range r.Steps {
		rec, err := engine.ReadRecord(s)
		if err != nil || rec.Wait == "" {
			continue
		}
		text := t.T("chat.waits_for", t.Span(rec.Wait))
		switch {
		case s.Verb == "wait" && strings.HasPrefix(rec.Wait, "until "):
			text = t.T("chat.waits_until", t.clock(rec.Until.In(until.Location())))
		case s.Verb == "wait":
			text = t.Span(rec.Wait)
		}
		note("wait", rec.At, rankWait, "… "+text+" …")
	}
	switch r.State {
	case journal.Cancelled:
		note("note", r.FinishedAt, rankEnd, t.T("chat.cancelled"))
	case journal.Stopped:
		note("note", r.FinishedAt, rankEnd, t.stopped(r, rule))
	case journal.FailedRun:
		note("note", r.FinishedAt, rankEnd, t.T("chat.failed", t.Told(r.Reason, r.Why)))
	case journal.Waiting:
		note("note", until, rankEnd, t.T("chat.waiting"))
	}
	return lines
}

// stopped says why a run stopped, where its last step asked for something.
func (t *Teller) stopped(r *journal.Run, rule *rules.Rule) string {
	for s := range rule.Steps() {
		if last := r.Steps[len(r.Steps)-1]; s.Path == last.Path && s.Condition != nil && t.Condition(s.Condition.Text) != "" {
			return t.T("chat.stopped_because", engine.Harmless(t.Condition(s.Condition.Text)))
		}
	}
	return t.T("chat.stopped")
}

// withTimes puts the time before what happens after a while.
func (t *Teller) withTimes(lines []Line, s *Story, set *rules.Set) (out []Line) {
	var last time.Time
	for i, line := range lines {
		at := line.At.In(s.Until.Location())
		if i == 0 || at.Sub(last) >= time.Minute {
			out = append(out, Line{Kind: "time", At: at, Text: t.clock(at) + t.openOrClosed(at, set)})
			last = at
		}
		line.At = at
		out = append(out, line)
	}
	return out
}

// clock says a moment as people do: Friday 18:20.
func (t *Teller) clock(at time.Time) string {
	return t.T("day."+at.Weekday().String()) + at.Format(" 15:04")
}

// openOrClosed says what the calendar says, where there is one.
func (t *Teller) openOrClosed(at time.Time, set *rules.Set) string {
	if len(set.Calendars) != 1 {
		return ""
	}
	for name, c := range set.Calendars {
		if c.Open(at) {
			return " · " + t.T("chat.open", name)
		}
		return " · " + t.T("chat.closed", name)
	}
	return ""
}

// Last returns when the last thing happens in a trial.
func Last(trial *ruletest.Trial) (at time.Time) {
	for _, e := range trial.Effects {
		if e.At.After(at) {
			at = e.At
		}
	}
	return at
}
