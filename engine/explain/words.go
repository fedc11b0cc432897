package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// verdictWords says in a sentence what a verdict means. The judgement is what the conditions come to with what was recorded.
func (x *Explainer) verdictWords(ctx context.Context, f *facts, v engine.Verdict, rule *rules.Rule, r *Rule, j judgement) (string, error) {
	at := ""
	if v.Outcome != engine.Fired {
		at = x.o.Stamp(f.now)
	}
	switch v.Outcome {
	case engine.Fired:
		return firedWords(r, v, x.o.Stamp), nil
	case engine.False:
		return "did not fire: " + clauseWords(clauseOf(r.Clauses, v.Clause), v.Clause, r.Values), nil
	case engine.Failed:
		if v.Clause == "" {
			return "did not fire, because of an error: " + v.Error, nil
		}
		return fmt.Sprintf("did not fire, because of an error in %s: %s", v.Clause, v.Error) + inBrackets(r.Values, v.Clause), nil
	case engine.Gathered:
		return x.gatheredWords(ctx, f, v)
	case engine.Limited:
		used, err := x.usedBy(ctx, f, rule)
		return fmt.Sprintf("was limited at %s (%s)%s", at, v.Error, used), err
	case engine.Skipped:
		return fmt.Sprintf("was skipped at %s (%s)", at, v.Error), nil
	}
	words := map[engine.Outcome]string{
		engine.Late: "was not asked, because the event came late", engine.Paused: "was not asked, because the rule was paused at " + at,
		engine.Own: "was not asked, because Quando itself caused the event", engine.Looped: "was not asked, because the rule itself had a part in causing the event",
	}[v.Outcome]
	if words == "" {
		words = string(v.Outcome)
	}
	words += behind(": ", v.Error)
	if rule != nil {
		words += "; otherwise it " + wouldWords(j)
	}
	return words, nil
}

// firedWords says what came of a rule that fired.
func firedWords(r *Rule, v engine.Verdict, stamp stampFunc) string {
	if n, ok := v.Values["items"]; ok && r.Run == nil {
		return fmt.Sprintf("fired: it found %v items, and each of them is an event of its own", n)
	}
	if r.Run == nil {
		return "fired; its run is not in the journal any more"
	}
	words := "fired"
	if r.Run.Stage == rules.Shadow {
		words = "would have acted: it is in shadow"
		if r.Sample > 0 && r.Sample < 1 {
			words = fmt.Sprintf("would have acted: this one is outside of its sample of %s", percent(r.Sample))
		}
	} else if r.Sample > 0 && r.Sample < 1 {
		words = fmt.Sprintf("fired: this one is in its sample of %s", percent(r.Sample))
	}
	return fmt.Sprintf("%s; run %d of %s, %s", words, r.Run.ID, stamp(r.Run.StartedAt), r.Run.Words)
}

func percent(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", 100*share), "0"), ".") + "%"
}

// gatheredWords says what became of an event that waited with others.
func (x *Explainer) gatheredWords(ctx context.Context, f *facts, v engine.Verdict) (string, error) {
	e := f.event
	runs, err := x.o.Journal.ListRuns(ctx, engine.RunFilter{Workspace: e.Workspace, Rule: v.Rule, Since: f.now})
	if err != nil {
		return "", fmt.Errorf("look for what was gathered: %w", err)
	}
	for _, r := range runs {
		if slices.Contains(r.Gathered, e.Seq) {
			standing, err := x.Standing(ctx, r)
			return fmt.Sprintf("gathered it with others (%d in all) into run %d of %s, %s", len(r.Gathered), r.ID, x.o.Stamp(r.StartedAt), standing), err
		}
	}
	later, err := x.o.Journal.ListEvents(ctx, engine.EventFilter{Workspace: e.Workspace, Lane: e.Lane, Rule: v.Rule, Since: e.ReceivedAt, Limit: 1000})
	if err != nil {
		return "", fmt.Errorf("look for what was gathered: %w", err)
	}
	for _, other := range slices.Backward(later) {
		if o := verdictOf(other, v.Rule).Outcome; other.Seq > e.Seq && o != engine.Gathered {
			return fmt.Sprintf("gathered it with others; they were decided on together with the event %s: %s", other.ID, o), nil
		}
	}
	return "gathers it with others; it has not been quiet for long enough", nil
}

// usedBy names the runs that used up a rule's limit; empty where that cannot be told.
func (x *Explainer) usedBy(ctx context.Context, f *facts, rule *rules.Rule) (string, error) {
	if rule == nil || rule.Limit == nil || rule.Limit.By != nil {
		return "", nil
	}
	by := f.event.Lane
	if rule.By != nil {
		v, err := rules.NewEvaluation(ctx, rule, f).Value(rule.By)
		if err != nil || v == nil {
			return "", nil //nolint:nilerr // what it was counted by is not recorded
		}
		by = fmt.Sprint(v)
	}
	since := f.now.Add(-rule.Limit.Per)
	runs, err := x.o.Journal.ListRuns(ctx, engine.RunFilter{Workspace: f.event.Workspace, Rule: rule.ID, Since: since, Limit: 1000})
	if err != nil {
		return "", fmt.Errorf("look for what used up the limit: %w", err)
	}
	var used []string
	for _, r := range slices.Backward(runs) {
		if r.By == by && r.Event != f.event.Seq && !r.StartedAt.After(f.now) {
			used = append(used, fmt.Sprintf("run %d of %s", r.ID, x.o.Stamp(r.StartedAt)))
		}
	}
	const most = 3
	if len(used) > most {
		used = append(used[:most], fmt.Sprintf("%d more", len(used)-most))
	}
	return behind(", used up by ", strings.Join(used, ", ")), nil
}

// wouldWords says what a rule would have made of an event.
func wouldWords(j judgement) string {
	switch j.outcome {
	case engine.Fired:
		return "would have fired"
	case engine.False:
		c := j.clauses[j.decisive]
		return "would not have fired: " + clauseWords(&c, c.Clause, c.Values)
	case engine.Failed:
		c := j.clauses[j.decisive]
		return fmt.Sprintf("would have failed: %s: %s", c.Clause, c.Error) + inBrackets(c.Values, c.Clause)
	}
	if j.missing == nil {
		return "cannot be judged: what it was then is not recorded"
	}
	return "cannot be judged: " + j.missing.Error()
}

// clauseWords says why a clause was not true, with the values that the words do not tell.
func clauseWords(c *Clause, clause string, values map[string]any) string {
	if c == nil || c.Words == "" {
		return clause + " was not true" + inBrackets(values, "")
	}
	return c.Words + inBrackets(values, c.Words)
}

// inBrackets lists values, but for those that words tell already.
func inBrackets(values map[string]any, told string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !strings.Contains(told, name+" was ") {
			parts = append(parts, name+" was "+ValueWords(values[name]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// ValueWords writes a value of a verdict for people.
func ValueWords(v any) string {
	if v == nil {
		return "not set"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if s, ok := v.(string); ok {
		return `"` + s + `"`
	}
	return string(text)
}

func clauseOf(list []Clause, text string) *Clause {
	for i := range list {
		if list[i].Clause == text {
			return &list[i]
		}
	}
	return nil
}

// behind returns a text with what stands before it; nothing where there is no text.
func behind(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func oneOf(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
