package story

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// An effect is what a run changed of a conversation, and when: the service tells of it too.
type effect struct {
	kind     string
	from, to time.Time
}

// The kinds of effects that events tell of without a name for who did it.
const (
	place  = "place"  // the sector or the person
	labels = "labels" // of the conversation
)

// effectKinds are the kinds of the verbs that change a conversation.
var effectKinds = map[string]string{
	vocabulary.Transfer: place, vocabulary.SetSector: place, vocabulary.AddLabels: labels, vocabulary.RemoveLabels: labels, vocabulary.SetLabels: labels, vocabulary.UpdateConversation: labels,
}

// icons of what verbs do.
var icons = map[string]string{
	vocabulary.SendMessage: "message", vocabulary.Transfer: "arrow-right", vocabulary.SetSector: "arrow-right", vocabulary.AddLabels: "tag", vocabulary.RemoveLabels: "tag", vocabulary.SetLabels: "tag", vocabulary.MarkRead: "check",
	vocabulary.CloseAttendance: "flag", vocabulary.CreateCard: "layout", vocabulary.MoveCard: "layout", vocabulary.UpdateCard: "layout", vocabulary.CreateContact: "user", vocabulary.UpdateContact: "user", vocabulary.HTTPRequest: "link",
	vocabulary.Mute: "pause", vocabulary.Unmute: "play",
}

// A toldRun is a run as lines.
type toldRun struct {
	lines    []Line
	messages map[string]string // the keys of the messages that it sent, by the ids of their lines
	effects  []effect
	waits    *Line // what it waits for; nil if it is over
}

// A step is a step of a run with its record.
type step struct {
	*journal.Step
	engine.Detail
	rule *rules.Step // as the rule has it; nil if that is not known
}

// steps reads the steps of a run.
func (t *Teller) steps(r *journal.Run, rule *rules.Rule) (list []step) {
	byPath := map[string]*rules.Step{}
	if rule != nil {
		for s := range rule.Steps() {
			byPath[s.Path] = s
		}
	}
	for _, s := range r.Steps {
		d, err := engine.DetailOf(s)
		if err != nil {
			continue // its page says so
		}
		list = append(list, step{s, d, byPath[unindexed(s.Path)]})
	}
	return list
}

// unindexed returns the path of a step in the rule: 4[7].1 is 4[].1 there.
func unindexed(path string) string {
	var b strings.Builder
	inside := false
	for _, r := range path {
		if r == ']' {
			inside = false
		}
		if !inside {
			b.WriteRune(r)
		}
		if r == '[' {
			inside = true
		}
	}
	return b.String()
}

// run tells what a run did and waited for.
func (t *Teller) run(r *journal.Run) toldRun {
	rule := t.Rule(r.Rule, r.Version)
	told := toldRun{messages: map[string]string{}}
	steps := t.steps(r, rule)
	name := t.Name(r.Rule)
	for i, s := range steps {
		line := Line{ID: stepID(r.ID, s.N), At: s.at(), Aside: name, Run: r.ID, Step: s.N, Event: r.Event, order: [2]int64{r.Event, int64(s.N)}}
		switch s.Verb {
		case "wait", "wait_for":
			told.lines = append(told.lines, t.waits(rule, line, s)...)
		default:
			if l, ok := t.step(r, rule, line, steps[:i], s); ok {
				told.lines = append(told.lines, l)
				if value, _ := s.Value.(map[string]any); s.Verb == vocabulary.SendMessage && l.Side != "" {
					id, _ := value["id"].(string)
					told.messages[l.ID] = engine.ObjectKey(id)
				}
				if kind := effectKinds[s.Verb]; kind != "" {
					told.effects = append(told.effects, effect{kind, s.At, cmp.Or(s.Ended, s.At)})
				}
			}
		}
	}
	if end, ok := t.end(r, rule, steps); ok && len(told.lines) > 0 {
		told.lines = append(told.lines, end)
	}
	told.waits = t.waiting(r, rule, steps)
	return told
}

// at is when a step had its effect.
func (s step) at() time.Time {
	if !s.Ended.IsZero() && s.Verb != "wait" && s.Verb != "wait_for" {
		return s.Ended
	}
	return s.At
}

// acts reports whether a step changed something, or tried to.
func (s step) acts() bool {
	switch s.State {
	case journal.StepDone:
		return s.Verb == vocabulary.Mute || s.Verb == vocabulary.Unmute || slices.ContainsFunc(s.Calls, func(c engine.DetailCall) bool { return c.Made })
	case journal.StepWould:
		return s.Verb == vocabulary.Mute || s.Verb == vocabulary.Unmute || len(s.Calls) > 0
	case journal.StepFailed, journal.StepUncertain:
		return true
	case journal.StepSuperseded:
		return true
	case journal.StepSkipped:
		return s.Why != nil && (s.Why.Code == phrases.ConversationMuted || s.Why.Code == phrases.ConversationMutedUntil)
	}
	return false
}

// step tells what a step did; not if it only looked or thought.
func (t *Teller) step(r *journal.Run, rule *rules.Rule, line Line, before []step, s step) (Line, bool) {
	if !s.acts() {
		return line, false
	}
	effect := t.effect(s)
	line.Icon, line.Tone, line.Does = cmp.Or(icons[s.Verb], "zap"), Acts, true
	switch s.State {
	case journal.StepWould:
		words, quoted := effect.Would(t.RulesLanguage())
		line.Icon, line.Tone, line.Head = "moon", Shadow, t.T("story.would", engine.Harmless(quote(words, quoted)))
		return line, true
	case journal.StepFailed:
		line.Icon, line.Tone, line.Head, line.Why = "alert", Failed, t.T("story.failed", t.Or("verb.", s.Verb)), t.Told(s.Error, engine.WhyOf(s.Step))
		return line, true
	case journal.StepUncertain:
		line.Icon, line.Tone, line.Head = "alert", Failed, t.T("story.uncertain", t.Or("verb.", s.Verb))
		return line, true
	case journal.StepSuperseded, journal.StepSkipped:
		line.Tone, line.Head, line.Why, line.Does = Over, t.T("story.left", t.Or("verb.", s.Verb)), t.Told(s.Reason, s.Why), false
		return line, true
	}
	if s.Verb == vocabulary.SendMessage && effect.Args["to"] == nil {
		text, _ := effect.Args["text"].(string)
		line.Side, line.Who, line.Aside, line.Media = "engine", t.T("story.quando", t.Name(r.Rule)), "", effect.Args["media"] != nil
		line.Text, line.Rest = Parted(words.HarmlessLines(text))
		return line, true
	}
	cause := t.causeOf(rule, before)
	line.Head, line.Why = t.did(effect), cause.words
	if cause.unanswered && (s.Verb == vocabulary.Transfer || s.Verb == vocabulary.SetSector) {
		line.Head, line.Tone = t.T("story.escalated", target(effect)), Looks
	} else if reason, _ := effect.Args["reason"].(string); reason != "" {
		line.Why = engine.Harmless(reason)
	} else if !cause.unanswered {
		line.Why = ""
	}
	return line, true
}

// effect returns what a step did, with names for ids.
func (t *Teller) effect(s step) actions.Effect {
	args, _ := words.Teller{Language: t.Language, Zone: t.Location, Names: t.Names}.Named(s.Args).(map[string]any)
	return actions.Effect{Verb: s.Verb, Who: t.Customer, Args: args}
}

// did says in a sentence what an effect was.
func (t *Teller) did(e actions.Effect) string {
	if e.Verb == vocabulary.CreateCard {
		board, _ := e.Args["board"].(string)
		stage, _ := e.Args["stage"].(string)
		return t.fill("story.put_on_board", map[string]string{"board": board, "stage": stage})
	}
	words, quoted := e.Brief(t.RulesLanguage())
	if words == "" || e.Verb == vocabulary.SendMessage {
		words, quoted = e.Did(t.RulesLanguage())
	}
	return upper(engine.Harmless(quote(words, quoted)))
}

// target names whom a transfer was to.
func target(e actions.Effect) string {
	person, _ := e.Args["person"].(string)
	sector, _ := e.Args["sector"].(string)
	return engine.Harmless(cmp.Or(person, sector))
}

// quote puts what an effect quotes behind its words.
func quote(said, quoted string) string {
	if quoted == "" {
		return said
	}
	return said + " “" + words.Cut(strings.Join(strings.Fields(quoted), " "), 90) + "”"
}

// A cause is why a step was taken, as far as waiting had a part in it.
type cause struct {
	words      string
	unanswered bool // the customer waited for an answer
}

// causeOf returns why the step behind some others was taken.
func (t *Teller) causeOf(rule *rules.Rule, before []step) cause {
	var last *step
	waits := 0
	for i, s := range before {
		if s.Verb == "wait" && s.State == journal.StepDone && s.Wait != "" && !strings.HasPrefix(s.Wait, "until ") {
			last = &before[i]
			waits++
		}
	}
	if last == nil {
		return cause{}
	}
	span := t.span(last.Wait)
	switch {
	case rule == nil || !asksForAnswer(rule, before):
		return cause{words: t.T("story.after", span)}
	case waits > 1:
		return cause{t.T("story.still", span), true}
	}
	return cause{t.T("story.unanswered", span), true}
}

// asksForAnswer reports whether a rule goes on only as long as nobody of the team has answered.
func asksForAnswer(rule *rules.Rule, before []step) bool {
	for _, s := range before {
		if s.rule != nil && s.Verb == "stop_if" && s.rule.Condition != nil && slices.ContainsFunc(partsOf(contrary(sentence.Read(s.rule.Condition.Text))), unanswered) {
			return true
		}
	}
	return slices.ContainsFunc(rule.CancelOn, func(m rules.EventMatch) bool { return m.Event == vocabulary.MessageSent }) &&
		slices.ContainsFunc(rule.If, func(x *rules.Expression) bool {
			return slices.ContainsFunc(partsOf(sentence.Read(x.Text)), unanswered)
		})
}

// unanswered reports whether a condition says that the customer waits for an answer.
func unanswered(c sentence.Condition) bool {
	switch {
	case c.Sentence == "known" && c.Not:
		return c.Blanks["x"].Text == "attendance.first_response"
	case c.Sentence == "human_active":
		return c.Not
	}
	return c.Blanks["x"].Value == "customer_waiting" && !c.Not
}
