package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/redact"
)

// A Sentence is a rule in words: when, if, do.
type Sentence struct {
	When     string
	If       []string
	Steps    []SentenceStep
	OnError  []SentenceStep
	Besides  []string // bounds and modes
	CancelOn []string
}

// A SentenceStep is one step in words, with those inside of it.
type SentenceStep struct {
	Words, Detail string
	If            string
	Ways          []SentenceWay
}

// A SentenceWay is one way of a choose, or what a for_each does.
type SentenceWay struct {
	If    string // empty is otherwise
	Else  bool
	Steps []SentenceStep
}

// Sentence puts a rule into words.
func (w Language) Sentence(r *rules.Rule) Sentence {
	s := Sentence{When: w.Trigger(r), Steps: w.steps(r.Do), OnError: w.steps(r.OnError)}
	for _, x := range r.If {
		s.If = append(s.If, ConditionText(x))
	}
	for _, m := range r.CancelOn {
		text := w.Or("when.", m.Event)
		if m.If != nil {
			text += " (" + ConditionText(m.If) + ")"
		}
		s.CancelOn = append(s.CancelOn, text)
	}
	if r.Gather != nil {
		s.Besides = append(s.Besides, w.T("rule.gather", duration.Format(r.Gather.Quiet)))
	}
	if r.Limit != nil {
		s.Besides = append(s.Besides, w.T("rule.limit", w.Number(r.Limit.Times), duration.Format(r.Limit.Per)))
	}
	if r.Mode != rules.Queued && r.Mode != "" {
		s.Besides = append(s.Besides, w.T("rule.mode."+string(r.Mode)))
	}
	switch {
	case r.Split != nil:
		s.Besides = append(s.Besides, w.T("rule.split", fmt.Sprintf("%.0f %%", r.Sample*100), r.Split.Group))
	case r.Sample > 0 && r.Sample < 1:
		s.Besides = append(s.Besides, w.T("rule.sample", fmt.Sprintf("%.0f %%", r.Sample*100)))
	}
	if r.FromAny {
		s.Besides = append(s.Besides, w.T("rule.from_any"))
	}
	if r.TakesClaimed {
		s.Besides = append(s.Besides, w.T("rule.claimed_run"))
	}
	if r.TakesInternal {
		s.Besides = append(s.Besides, w.T("rule.internal_run"))
	}
	return s
}

// ConditionText is an expression as people may see it.
func ConditionText(x *rules.Expression) string { return engine.Harmless(redact.Text(x.Text)) }

// Trigger says what starts a rule.
func (w Language) Trigger(r *rules.Rule) string {
	var parts []string
	for _, e := range r.When.Events {
		parts = append(parts, w.Or("when.", e))
	}
	if r.When.Manual {
		parts = append(parts, w.T("when.manual"))
	}
	if s := r.When.Schedule; s != nil {
		parts = append(parts, w.schedule(s))
	}
	return strings.Join(parts, w.T("list.or"))
}

func (w Language) schedule(s *rules.Schedule) string {
	text := ""
	switch {
	case s.Every > 0:
		text = w.T("when.every", duration.Format(s.Every))
	case s.Cron != "":
		text = w.T("when.cron", s.Cron)
	default:
		var times, days []string
		for _, at := range s.At {
			times = append(times, time.Time{}.Add(at).Format("15:04"))
		}
		for _, d := range s.On {
			days = append(days, w.T("day."+d.String()))
		}
		text = w.T("when.at", strings.Join(times, ", "))
		if len(days) > 0 {
			text += " (" + strings.Join(days, ", ") + ")"
		}
	}
	if s.Each != "" {
		text += ", " + w.T("when.each", w.Or("each.", s.Each))
	}
	return text
}

func (w Language) steps(list []*rules.Step) (out []SentenceStep) {
	for _, s := range list {
		v := SentenceStep{Words: w.Or("verb.", s.Verb), Detail: engine.Harmless(StepDetail(s))}
		if s.If != nil {
			v.If = ConditionText(s.If)
		}
		for _, b := range s.Branches {
			way := SentenceWay{Else: b.If == nil, Steps: w.steps(b.Do)}
			if b.If != nil {
				way.If = ConditionText(b.If)
			}
			v.Ways = append(v.Ways, way)
		}
		if s.Verb == "for_each" {
			v.Ways = append(v.Ways, SentenceWay{If: engine.Harmless(s.As) + " in " + ConditionText(s.In), Steps: w.steps(s.Do)})
		}
		out = append(out, v)
	}
	return out
}

// StepDetail says in a line what a step is asked for, without what must not be told.
func StepDetail(s *rules.Step) string {
	var parts []string
	if s.Span.Length > 0 {
		parts = append(parts, s.Span.String())
	}
	parts = append(parts, s.Events...)
	if s.Condition != nil {
		parts = append(parts, ConditionText(s.Condition))
	}
	if s.Schema != nil && s.Schema.Main != "" && s.Args[s.Schema.Main] != nil {
		parts = append(parts, s.Args[s.Schema.Main].Shown(s.Schema.Main))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Args)) {
		if s.Schema == nil || name != s.Schema.Main {
			parts = append(parts, name+": "+s.Args[name].Shown(name))
		}
	}
	for _, a := range s.Assignment {
		parts = append(parts, a.Name+" = "+a.Value.Shown(a.Name))
	}
	return strings.Join(parts, " · ")
}
