package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// verdictWords describes a verdict in a sentence. The judgement is the result of the conditions on
// the recorded facts.
func (x *Explainer) verdictWords(ctx context.Context, f *facts, v journal.Verdict, rule *rules.Rule, r *Rule, j judgement) (string, error) {
	at, reason := "", phrases.Told(x.o.Language, v.Error, v.Why)
	if v.Outcome != journal.Fired {
		at = x.o.Stamp(f.now)
	}
	switch v.Outcome {
	case journal.Fired:
		return x.firedWords(r, rule, v), nil
	case journal.False:
		return x.t("explain.did_not", x.clauseWords(clauseOf(r.Clauses, v.Clause), v.Clause, r.Values)), nil
	case journal.Failed:
		if v.Clause == "" {
			return x.t("explain.error", reason), nil
		}
		return x.t("explain.clause_error", v.Clause, reason) + x.inBrackets(r.Values, v.Clause), nil
	case journal.Gathered:
		return x.gatheredWords(ctx, f, v)
	case journal.Limited:
		used, err := x.usedBy(ctx, f, rule)
		return x.t("explain.limited", at, reason, used), err
	case journal.Skipped:
		return x.t("explain.skipped", at, reason), nil
	}
	words := string(v.Outcome)
	switch v.Outcome {
	case journal.Late, journal.Own, journal.Looped, journal.Claimed, journal.Internal:
		words = x.t("explain." + phrases.Code(v.Outcome))
	case journal.Paused:
		words = x.t("explain.paused", at)
	}
	words += prefixed(": ", reason)
	if rule != nil {
		words += x.t("explain.otherwise", x.wouldWords(rule, j))
	}
	return words, nil
}

// firedWords describes the run of a rule that fired. The rule, as it was then, may be nil.
func (x *Explainer) firedWords(r *Rule, rule *rules.Rule, v journal.Verdict) string {
	if n, ok := v.Values["items"]; ok && r.Run == nil {
		return x.t("explain.items", n)
	}
	if r.Run == nil {
		return x.t("explain.forgotten")
	}
	words := x.t("explain.fired")
	if r.Run.Stage == rules.Shadow {
		words = x.t("explain.shadow")
		if sampled := rule == nil || rule.Stage == rules.Live; sampled && r.Sample > 0 && r.Sample < 1 {
			words = x.t("explain.outside", x.percent(r.Sample))
		}
	} else if r.Sample > 0 && r.Sample < 1 {
		words = x.t("explain.inside", x.percent(r.Sample))
	}
	return x.t("explain.with_run", words, r.Run.ID, x.o.Stamp(r.Run.StartedAt), r.Run.Words)
}

func (x *Explainer) percent(share float64) string {
	text := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", 100*share), "0"), ".")
	return strings.Replace(text, ".", x.t("explain.decimal_point"), 1) + "%"
}

// gatheredWords describes an event that was gathered.
func (x *Explainer) gatheredWords(ctx context.Context, f *facts, v journal.Verdict) (string, error) {
	e := f.event
	runs, err := x.o.Journal.ListRuns(ctx, journal.RunFilter{Workspace: e.Workspace, Rule: v.Rule, Since: f.now})
	if err != nil {
		return "", fmt.Errorf("look for what was gathered: %w", err)
	}
	for _, r := range runs {
		if slices.Contains(r.Gathered, e.Seq) {
			standing, err := x.Standing(ctx, r)
			return x.t("explain.gathered", len(r.Gathered), r.ID, x.o.Stamp(r.StartedAt), standing), err
		}
	}
	later, err := x.o.Journal.ListEvents(ctx, journal.EventFilter{Workspace: e.Workspace, Lane: e.Lane, Rule: v.Rule, Since: e.ReceivedAt, Limit: 1000})
	if err != nil {
		return "", fmt.Errorf("look for what was gathered: %w", err)
	}
	for _, other := range slices.Backward(later) {
		if o := verdictOf(other, v.Rule).Outcome; other.Seq > e.Seq && o != journal.Gathered {
			return x.t("explain.together", other.ID, x.t("explain.outcome."+phrases.Code(o))), nil
		}
	}
	return x.t("explain.gathers"), nil
}

// usedBy names the runs that used up a rule's limit, or "".
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
	runs, err := x.o.Journal.ListRuns(ctx, journal.RunFilter{Workspace: f.event.Workspace, Rule: rule.ID, Since: since, Limit: 1000})
	if err != nil {
		return "", fmt.Errorf("look for what used up the limit: %w", err)
	}
	var used []string
	for _, r := range slices.Backward(runs) {
		if r.By == by && r.Event != f.event.Seq && !r.StartedAt.After(f.now) {
			used = append(used, x.t("explain.run_of", r.ID, x.o.Stamp(r.StartedAt)))
		}
	}
	const most = 3
	if len(used) > most {
		used = append(used[:most], x.t("explain.more", len(used)-most))
	}
	return prefixed(x.t("explain.used_by"), strings.Join(used, ", ")), nil
}

// wouldWords describes what a rule would have decided. Whether its limit or its mode left room for
// another run then is not worked out.
func (x *Explainer) wouldWords(rule *rules.Rule, j judgement) string {
	switch j.outcome {
	case journal.Fired:
		if rule.Limit != nil || rule.Mode == rules.Single {
			return x.t("explain.would_fire_unless")
		}
		return x.t("explain.would_fire")
	case journal.False:
		c := j.clauses[j.decisive]
		return x.t("explain.would_not", x.clauseWords(&c, c.Clause, c.Values))
	case journal.Failed:
		c := j.clauses[j.decisive]
		return x.t("explain.would_fail", c.Clause, c.Error) + x.inBrackets(c.Values, c.Clause)
	}
	if j.missing == nil {
		return x.t("explain.unjudged")
	}
	return x.t("explain.unjudged_asked", j.missing)
}

// clauseWords explains why a clause was not true, with the values that the words leave out.
func (x *Explainer) clauseWords(c *Clause, clause string, values map[string]any) string {
	if c == nil || c.Words == "" {
		return x.t("explain.untrue", clause) + x.inBrackets(values, "")
	}
	return c.Words + x.inBrackets(values, c.Words)
}

// inBrackets lists values, but for those that the words have already.
func (x *Explainer) inBrackets(values map[string]any, told string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !strings.Contains(told, x.t("explain.was", name, "")) {
			parts = append(parts, x.t("explain.was", name, valueWords(x.o.Language, values[name])))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// ValueWords writes a value of a verdict for people.
func ValueWords(v any) string { return valueWords(rules.English, v) }

func valueWords(l rules.Language, v any) string {
	switch v := v.(type) {
	case nil:
		return phrases.Say(l, "explain.not_set")
	case bool:
		return phrases.Say(l, phrases.Code("explain."+strconv.FormatBool(v)))
	case []any:
		if len(v) == 0 {
			return phrases.Say(l, "explain.empty")
		}
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = valueWords(l, item)
			if text, ok := item.(string); ok {
				items[i] = text
			}
		}
		return strings.Join(items, ", ")
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

// prefixed joins two texts; it is empty if the second is.
func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func (x *Explainer) oneOf(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + x.t("explain.and") + list[len(list)-1]
}
