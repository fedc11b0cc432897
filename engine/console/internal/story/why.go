package story

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Verdict is what an event meant to a rule, as it was explained.
type Verdict struct {
	Rule    string
	Outcome journal.Outcome
	Clauses []Clause
	Error   string // what stood in the way, in words
}

// A Clause is one condition of a rule.
type Clause struct {
	Text   string
	False  bool
	Part   string // of a false one: the part that made it so
	Values map[string]any
}

// A Why is why something happened.
type Why struct {
	At     time.Time
	Rule   string // that did it; empty if none did
	Lead   string // the reason in a sentence
	Points []Point
	Began  []string // rules that an event started
	Quiet  []Quiet  // rules that it could have started
	Run    int64
}

// A Point is a condition that was true, or a thing that was done.
type Point struct {
	Did    bool
	Here   bool // it is what is explained
	Text   string
	Detail string // the values, as people know them
	At     time.Time
	When   string // the time, and the day if it is another
}

// A Quiet is a rule that did nothing, and why.
type Quiet struct {
	Rule string
	Why  string
}

// Explain says why a line happened. The run is nil for a line without one, and so is the event when
// the journal has forgotten it.
func (t *Teller) Explain(l *Line, r *journal.Run, e *journal.Event, verdicts []Verdict) *Why {
	w := &Why{At: l.At.In(t.Location)}
	if r != nil {
		w.Rule, w.Run = r.Rule, r.ID
		t.explainRun(w, l, r, e, verdicts)
	} else if e != nil {
		w.Lead = t.T("story.lead.event", upper(t.trigger(e.Type)))
		if l.Head != "" {
			w.Lead = t.T("story.lead.event", l.Head)
		}
	}
	for _, v := range verdicts {
		switch {
		case v.Outcome == journal.Fired:
			if r == nil {
				w.Began = append(w.Began, v.Rule)
			}
		case r == nil || v.Rule != r.Rule:
			w.Quiet = append(w.Quiet, Quiet{v.Rule, t.quietWords(v)})
		}
	}
	for i := range w.Points {
		w.Points[i].At = w.Points[i].At.In(t.Location)
		w.Points[i].When = t.hour(w.Points[i].At, w.At)
	}
	return w
}

// quietWords says in few words why a rule did nothing.
func (t *Teller) quietWords(v Verdict) string {
	if v.Outcome == journal.False {
		if i := slices.IndexFunc(v.Clauses, func(c Clause) bool { return c.False }); i >= 0 {
			return t.reason(cmp.Or(v.Clauses[i].Part, v.Clauses[i].Text), true)
		}
	}
	return t.Or("outcome.", string(v.Outcome))
}

// explainRun goes through a run up to the step that a line is about.
func (t *Teller) explainRun(w *Why, l *Line, r *journal.Run, e *journal.Event, verdicts []Verdict) {
	rule := t.Rule(r.Rule, r.Version)
	steps := t.steps(r, rule)
	here := max(slices.IndexFunc(steps, func(s step) bool { return s.N == l.Step }), 0)
	because := ""
	if e != nil {
		because = t.trigger(e.Type)
		w.Points = append(w.Points, Point{Text: upper(because), At: e.CreatedAt})
		conditions := t.conditions(w, rule, e, verdictOf(verdicts, r.Rule))
		if len(conditions) > 0 {
			because = t.T("story.and", because, strings.Join(conditions, t.T("say.and")))
		}
	}
	for i := range steps {
		if i > here && (steps[i].Verb == "wait" || steps[i].Verb == "wait_for") {
			break // what comes later has another reason
		}
		t.point(w, r, steps, i, i == here)
	}
	if len(steps) > 0 {
		w.Lead = t.lead(l, r, rule, steps[:here], steps[here], because)
	}
}

// conditions adds the conditions of a rule that fired, and returns those that say most about why.
func (t *Teller) conditions(w *Why, rule *rules.Rule, e *journal.Event, v Verdict) (telling []string) {
	clauses := v.Clauses
	if len(clauses) == 0 && rule != nil {
		for _, x := range rule.If {
			clauses = append(clauses, Clause{Text: x.Text})
		}
	}
	for _, c := range clauses {
		for _, part := range partsOf(sentence.Read(c.Text)) {
			said := t.past(part)
			if said == "" {
				w.Points = append(w.Points, Point{Text: t.T("story.by_hand"), At: e.ReceivedAt})
				continue
			}
			w.Points = append(w.Points, Point{Text: upper(said), At: e.ReceivedAt})
			if len(telling) < maxTelling && !slices.Contains(plain, part.Sentence+" "+part.Blanks["y"].Text) && len(said) < 120 {
				telling = append(telling, said)
			}
		}
	}
	return telling
}

const maxTelling = 2

// plain are conditions that nearly every rule has, by their sentences and what they compare with.
var plain = []string{"is direct", "is open"}

// point adds what a step contributed.
func (t *Teller) point(w *Why, r *journal.Run, steps []step, i int, here bool) {
	s := steps[i]
	add := func(p Point) {
		p.Here = here
		w.Points = append(w.Points, p)
	}
	switch {
	case s.Verb == "wait" && s.State == journal.StepDone && s.Wait != "" && !strings.HasPrefix(s.Wait, "until "):
		add(Point{Text: upper(t.T("story.passed", t.span(s.Wait))), At: s.Ended})
	case s.Verb == "wait" || s.Verb == "wait_for":
		add(Point{Text: t.clockWords(s, s.At), At: s.At})
	case s.Verb == "stop_if" && s.rule != nil && s.rule.Condition != nil:
		c := sentence.Read(s.rule.Condition.Text)
		if stopped := r.State == journal.Stopped && i == len(steps)-1; !stopped {
			c = contrary(c)
		}
		detail := t.values(s.Values, s.At)
		for _, part := range partsOf(c) {
			if said := t.past(part); said != "" {
				add(Point{Text: upper(said), At: s.At})
			} else {
				add(Point{Text: t.T("story.by_hand"), At: s.At})
			}
		}
		w.Points[len(w.Points)-1].Detail = detail
	case s.Verb == "choose" && s.Branch != nil && s.rule != nil && *s.Branch >= 0 && *s.Branch < len(s.rule.Branches):
		text := t.T("story.otherwise")
		if x := s.rule.Branches[*s.Branch].If; x != nil {
			text = cmp.Or(upper(t.past(sentence.Read(x.Text))), t.T("story.by_hand"))
		}
		add(Point{Text: text, Detail: t.values(s.Values, s.At), At: s.At})
	case s.acts() && (s.State == journal.StepDone || s.State == journal.StepWould):
		add(Point{Did: true, Text: t.did(t.effect(s)), At: s.at()})
	case s.acts():
		add(Point{Did: true, Text: t.T("story.failed", t.Or("verb.", s.Verb)), Detail: t.Told(cmp.Or(s.Error, s.Reason), engine.WhyOf(s.Step)), At: s.at()})
	}
}

// lead says in a sentence why a step was taken.
func (t *Teller) lead(l *Line, r *journal.Run, rule *rules.Rule, before []step, s step, because string) string {
	effect := t.effect(s)
	cause := t.causeOf(rule, before)
	if cause.words != "" {
		because = cause.words
	}
	did, quoted := effect.Did(t.RulesLanguage())
	did = engine.Harmless(quote(did, quoted))
	switch {
	case strings.HasSuffix(l.ID, ".end") && r.State == journal.Cancelled:
		return t.T("story.lead.ended", t.endedBy(r))
	case strings.HasSuffix(l.ID, ".end"):
		return t.T("story.lead.stopped", t.stoppedBy(r, append(before, s)))
	case s.Verb == "wait" || s.Verb == "wait_for":
		span := t.span(s.Wait)
		if s.Wait == "" || strings.HasPrefix(s.Wait, "until ") {
			span = t.T("story.until", t.hour(s.Until, s.At))
		}
		if s.State.Finished() {
			return t.T("story.lead.waited", span, because)
		}
		return t.T("story.lead.waits", span, because)
	case s.State == journal.StepWould:
		would, quoted := effect.Would(t.RulesLanguage())
		return t.T("story.lead.would", engine.Harmless(quote(would, quoted)), because)
	case s.State == journal.StepFailed || s.State == journal.StepUncertain:
		return t.T("story.lead.failed", t.Or("verb.", s.Verb), t.Told(s.Error, engine.WhyOf(s.Step)))
	case s.State == journal.StepSuperseded || s.State == journal.StepSkipped:
		return t.T("story.lead.left", t.Or("verb.", s.Verb), t.Told(s.Reason, s.Why))
	case cause.unanswered && (s.Verb == vocabulary.Transfer || s.Verb == vocabulary.SetSector):
		return t.T("story.lead.escalated", t.Customer, target(effect), because)
	}
	return t.T("story.lead.did", did, because)
}

func verdictOf(list []Verdict, rule string) Verdict {
	for _, v := range list {
		if v.Rule == rule {
			return v
		}
	}
	return Verdict{}
}

// A RuleSum is what came of the events that a rule looked at.
type RuleSum struct {
	Rule  string
	Began int
	Last  time.Time // when it last looked
	Why   string    // it did nothing the last time; empty if it began then
}

// Rules returns each rule that looked at some events, those that began first.
func (t *Teller) Rules(events []*journal.Event) (list []RuleSum) {
	for _, e := range events {
		for _, v := range e.Verdicts {
			i := slices.IndexFunc(list, func(s RuleSum) bool { return s.Rule == v.Rule })
			if i < 0 {
				i = len(list)
				list = append(list, RuleSum{Rule: v.Rule})
			}
			s := &list[i]
			s.Last, s.Why = e.CreatedAt.In(t.Location), ""
			if v.Outcome == journal.Fired {
				s.Began++
				continue
			}
			s.Why = t.quietWords(Verdict{Outcome: v.Outcome, Clauses: []Clause{{Text: v.Clause, False: v.Clause != ""}}})
		}
	}
	slices.SortStableFunc(list, func(a, b RuleSum) int { return cmp.Or(b.Began-a.Began, b.Last.Compare(a.Last)) })
	return list
}
