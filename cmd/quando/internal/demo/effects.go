package demo

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// effects says what a step did, or would have done. Steps that only look or think have done
// nothing.
func (t *narrator) effects(r *journal.Run, s *journal.Step) []actions.Effect {
	record, err := engine.ReadRecord(s)
	if err != nil {
		return nil
	}
	if value, err := engine.DecodeValue(record.Value); err == nil {
		t.learn(value)
	}
	would := s.State == journal.StepWould && record.Intent != nil
	if len(record.Receipts) == 0 && !would {
		return nil
	}
	if !would {
		t.totals.add(s.Verb)
	}
	args, _ := engine.DecodeValue(record.Args) // without them it is told all the same
	named, _ := t.named(args).(map[string]any)
	delete(named, "reason") // a line has no room for it
	return []actions.Effect{{Verb: s.Verb, Who: t.about(r), Args: named}}
}

// named returns arguments with what their ids stand for.
func (t *narrator) named(v any) any {
	switch v := v.(type) {
	case string:
		if day, err := time.Parse(time.DateOnly, v); err == nil {
			return day.Format("2 Jan")
		}
		return cmp.Or(t.names[v], v)
	case time.Time:
		return v.In(t.zone).Format("2 Jan")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.named(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = t.named(v[name])
		}
		return out
	}
	return v
}

// about names whom a run is about; one of a schedule is about nobody.
func (t *narrator) about(r *journal.Run) string {
	if r.About.Contact == "" && r.About.Conversation == "" && r.About.Card == "" {
		return "the desk"
	}
	for _, id := range []string{r.About.Contact, r.About.Conversation, r.About.Card} {
		if t.names[id] != "" {
			return t.name(id)
		}
	}
	return "somebody"
}

// waits says what a run waits for, and until when.
func (t *narrator) waits(at time.Time, r *journal.Run, s *journal.Step) string {
	wake := r.WakeAt.In(t.zone)
	until := wake.Format("15:04")
	if wake.YearDay() != at.In(t.zone).YearDay() {
		until = wake.Format("Mon 15:04")
	}
	rule := t.rules.Load().Rule(r.Rule)
	if rule == nil { // it was taken away while it waits
		rule = &rules.Rule{}
	}
	for step := range rule.Steps() {
		switch {
		case step.Path != s.Path:
		case step.Verb == "wait_for":
			return fmt.Sprintf("waits for %s to answer, until %s", t.about(r), until)
		case step.Span != (duration.Span{}):
			return fmt.Sprintf("%s: waits %s, until %s", t.about(r), step.Span, until)
		}
	}
	return fmt.Sprintf("%s: waits until %s", t.about(r), until)
}

// sentence joins effects into one line of a width: Marina: “Olá …”, label after-hours. A name is
// said once, and what effects quote is cut shorter than the rest.
func sentence(effects []actions.Effect, columns int) string {
	effects = mergeEffects(effects)
	fixed, quotes := 0, 0
	var words, quoted []string
	for i, e := range effects {
		w, q := e.Brief(phrases.English)
		switch {
		case i == 0:
			w = e.Who + ": " + w
		case e.Who != effects[i-1].Who:
			w = "; " + e.Who + ": " + w
		default:
			w = ", " + w
		}
		words, quoted = append(words, cli.Harmless(w)), append(quoted, cli.Harmless(strings.Join(strings.Fields(q), " ")))
		if fixed += cli.Width(words[i]); q != "" {
			quotes++
			fixed += 3
		}
	}
	var b strings.Builder
	for i, q := range quoted {
		b.WriteString(words[i])
		if q != "" {
			b.WriteString("“" + cli.Truncate(q, max(20, (columns-fixed)/quotes)) + "”")
		}
	}
	return cli.Truncate(b.String(), columns)
}

// mergeEffects joins those to whom the same was done.
func mergeEffects(effects []actions.Effect) []actions.Effect {
	var out []actions.Effect
	for _, e := range effects {
		if i := len(out) - 1; i >= 0 && out[i].Verb == e.Verb && out[i].Who != e.Who && actions.ArgumentWords(out[i].Args) == actions.ArgumentWords(e.Args) {
			out[i].Who += ", " + e.Who
			continue
		}
		out = append(out, e)
	}
	return out
}
