package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// A sentence is a rule in words: when, if, do.
type sentence struct {
	When     string
	If       []string
	Steps    []sentenceStep
	OnError  []sentenceStep
	Besides  []string // bounds and modes
	CancelOn []string
}

// A sentenceStep is one step in words, with those inside of it.
type sentenceStep struct {
	Words, Detail string
	If            string
	Ways          []sentenceWay
}

// A sentenceWay is one way of a choose, or what a for_each does.
type sentenceWay struct {
	If    string // empty is otherwise
	Else  bool
	Steps []sentenceStep
}

// sentence puts a rule into words.
func (w words) sentence(r *rules.Rule) sentence {
	s := sentence{When: w.trigger(r), Steps: w.steps(r.Do), OnError: w.steps(r.OnError)}
	for _, x := range r.If {
		s.If = append(s.If, conditionText(x))
	}
	for _, m := range r.CancelOn {
		text := w.or("when.", m.Event)
		if m.If != nil {
			text += " (" + conditionText(m.If) + ")"
		}
		s.CancelOn = append(s.CancelOn, text)
	}
	if r.Gather != nil {
		s.Besides = append(s.Besides, w.t("rule.gather", rules.FormatDuration(r.Gather.Quiet)))
	}
	if r.Limit != nil {
		s.Besides = append(s.Besides, w.t("rule.limit", w.number(r.Limit.Times), rules.FormatDuration(r.Limit.Per)))
	}
	if r.Mode != rules.Queued && r.Mode != "" {
		s.Besides = append(s.Besides, w.t("rule.mode."+string(r.Mode)))
	}
	if r.Sample > 0 && r.Sample < 1 {
		s.Besides = append(s.Besides, w.t("rule.sample", fmt.Sprintf("%.0f %%", r.Sample*100)))
	}
	if r.FromAny {
		s.Besides = append(s.Besides, w.t("rule.from_any"))
	}
	return s
}

// conditionText is an expression as people may see it.
func conditionText(x *rules.Expression) string { return engine.Harmless(rules.HideText(x.Text)) }

// trigger says what starts a rule.
func (w words) trigger(r *rules.Rule) string {
	var parts []string
	for _, e := range r.When.Events {
		parts = append(parts, w.or("when.", e))
	}
	if r.When.Manual {
		parts = append(parts, w.t("when.manual"))
	}
	if s := r.When.Schedule; s != nil {
		parts = append(parts, w.schedule(s))
	}
	return strings.Join(parts, w.t("list.or"))
}

func (w words) schedule(s *rules.Schedule) string {
	text := ""
	switch {
	case s.Every > 0:
		text = w.t("when.every", rules.FormatDuration(s.Every))
	case s.Cron != "":
		text = w.t("when.cron", s.Cron)
	default:
		var times, days []string
		for _, at := range s.At {
			times = append(times, time.Time{}.Add(at).Format("15:04"))
		}
		for _, d := range s.On {
			days = append(days, w.t("day."+d.String()))
		}
		text = w.t("when.at", strings.Join(times, ", "))
		if len(days) > 0 {
			text += " (" + strings.Join(days, ", ") + ")"
		}
	}
	if s.Each != "" {
		text += ", " + w.t("when.each", w.or("each.", s.Each))
	}
	return text
}

func (w words) steps(list []*rules.Step) (out []sentenceStep) {
	for _, s := range list {
		v := sentenceStep{Words: w.or("verb.", s.Verb), Detail: engine.Harmless(stepDetail(s))}
		if s.If != nil {
			v.If = conditionText(s.If)
		}
		for _, b := range s.Branches {
			way := sentenceWay{Else: b.If == nil, Steps: w.steps(b.Do)}
			if b.If != nil {
				way.If = conditionText(b.If)
			}
			v.Ways = append(v.Ways, way)
		}
		if s.Verb == "for_each" {
			v.Ways = append(v.Ways, sentenceWay{If: engine.Harmless(s.As) + " in " + conditionText(s.In), Steps: w.steps(s.Do)})
		}
		out = append(out, v)
	}
	return out
}

// stepDetail says in a line what a step is asked for, without what must not be told.
func stepDetail(s *rules.Step) string {
	var parts []string
	if s.Span.Length > 0 {
		parts = append(parts, s.Span.String())
	}
	parts = append(parts, s.Events...)
	if s.Condition != nil {
		parts = append(parts, conditionText(s.Condition))
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
