package rulescmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// inWords is how many effects, differences and gaps are told in words; JSON has them all.
const inWords = 20

// A backtestText writes what came of a backtest for people.
type backtestText struct {
	*view.View
	w   io.Writer
	c   cli.Palette
	was string // what is compared with
}

func (t *backtestText) write(r *backtest.Result) {
	fmt.Fprintf(t.w, "%s from %s to %s (%s).\n", cli.Count(r.Events, "event"), t.minute(r.Since), t.minute(r.Until), t.ZoneName())
	t.tried(r)
	t.days(r)
	t.effects(r)
	t.differences(r)
	t.gaps(r)
	t.waiting(r)
}

// tried says which rules were let decide again, and of which the record is the answer.
func (t *backtestText) tried(r *backtest.Result) {
	var lists [3][]string
	for _, n := range r.Rules {
		i := 0
		switch {
		case n.Removed:
			i = 2
		case n.Changed:
			i = 1
		}
		lists[i] = append(lists[i], cli.Harmless(n.ID))
	}
	for i, words := range []string{"As before: ", "Changed or added: ", "Taken away: "} {
		if len(lists[i]) > 0 {
			fmt.Fprintln(t.w, cli.Truncate(words+strings.Join(lists[i], ", ")+".", cli.TableWidth))
		}
	}
}

// minute writes a time of a window.
func (t *backtestText) minute(at time.Time) string {
	return at.In(t.Zone).Format("Mon 2006-01-02 15:04")
}

// days writes the table of what each rule would have done on each day.
func (t *backtestText) days(r *backtest.Result) {
	type cellKey struct{ rule, day string }
	counts := make(map[cellKey]map[string]int)
	for _, e := range r.Effects {
		key := cellKey{e.Rule, e.At.In(t.Zone).Format("2006-01-02 Mon")}
		if counts[key] == nil {
			counts[key] = make(map[string]int)
		}
		counts[key][e.Verb]++
	}
	if len(counts) == 0 {
		fmt.Fprintln(t.w, "They would have done nothing.")
		return
	}
	keys := make([]cellKey, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b cellKey) int { return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.day, b.day)) })
	rows := &cli.Table{Head: []string{"RULE", "DAY", "EFFECTS"}}
	for i, key := range keys {
		rule := key.rule
		if i > 0 && keys[i-1].rule == rule {
			rule = ""
		} else if n := noteOf(r, rule); n.Stage == rules.Shadow {
			rule += " (shadow)"
		}
		rows.Add([]cli.Cell{{Text: rule, Paint: t.c.Bold}, {Text: key.day}, {Text: verbCounts(counts[key])}})
	}
	fmt.Fprintln(t.w)
	rows.Write(t.w, t.c)
}

func noteOf(r *backtest.Result, rule string) backtest.RuleNote {
	for _, n := range r.Rules {
		if n.ID == rule {
			return n
		}
	}
	return backtest.RuleNote{}
}

// verbCounts writes how often each verb was used, the most used first.
func verbCounts(counts map[string]int) string {
	verbs := make([]string, 0, len(counts))
	for verb := range counts {
		verbs = append(verbs, verb)
	}
	slices.SortFunc(verbs, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, verb := range verbs {
		verbs[i] = fmt.Sprintf("%s %d", verb, counts[verb])
	}
	return strings.Join(verbs, ", ")
}

// effects tells the first of what would have been done.
func (t *backtestText) effects(r *backtest.Result) {
	if len(r.Effects) == 0 {
		return
	}
	fmt.Fprintln(t.w)
	for _, e := range r.Effects[:min(inWords, len(r.Effects))] {
		words := "would have "
		if e.Stage == rules.Shadow {
			words = "would have, were it live, "
		}
		line := fmt.Sprintf("%s  %s %s%s", t.moment(r, e.At), cli.Harmless(e.Rule), words, effectWords(e))
		fmt.Fprintln(t.w, cli.Truncate(line, cli.TableWidth))
	}
	t.more(len(r.Effects))
}

// moment writes when something would have been: the day of the week will do within a week.
func (t *backtestText) moment(r *backtest.Result, at time.Time) string {
	if r.Until.Sub(at) < 6*24*time.Hour && r.Until.Sub(at) >= 0 {
		return at.In(t.Zone).Format("Mon 15:04")
	}
	return at.In(t.Zone).Format("2006-01-02 15:04")
}

func (t *backtestText) more(n int) {
	if n > inWords {
		fmt.Fprintln(t.w, t.c.Dim(fmt.Sprintf("… and %d more; --output json has all of them.", n-inWords)))
	}
}

// differences tells who would have been treated otherwise.
func (t *backtestText) differences(r *backtest.Result) {
	if len(r.Differences) == 0 {
		words := "No difference to " + t.was
		if len(r.NotRecorded) > 0 {
			words += ", as far as it can be told"
		}
		fmt.Fprintf(t.w, "\n%s\n", t.c.Green(words+"."))
		return
	}
	fmt.Fprintf(t.w, "\n%s\n", t.c.Yellow(cli.Count(len(r.Differences), "difference")+" to "+t.was+":"))
	for _, d := range r.Differences[:min(inWords, len(r.Differences))] {
		who := cmp.Or(d.Who, "event "+d.Event)
		fmt.Fprintln(t.w, cli.Truncate(fmt.Sprintf("%s  %s, %s", t.moment(r, d.At), cli.Harmless(d.Rule), cli.Harmless(who)), cli.TableWidth))
		for _, side := range []struct {
			name string
			t    backtest.Treatment
		}{{"was", d.Was}, {"would", d.Would}} {
			for i, line := range t.treatment(r, side.t, d) {
				name := ""
				if i == 0 {
					name = side.name
				}
				fmt.Fprintf(t.w, "    %s %s\n", t.c.Dim(fmt.Sprintf("%-5s", name)), cli.Truncate(line, cli.TableWidth-10))
			}
		}
	}
	t.more(len(r.Differences))
}

// treatment says what became of an event for a rule, one effect to a line.
func (t *backtestText) treatment(r *backtest.Result, is backtest.Treatment, d backtest.Difference) (lines []string) {
	for _, e := range is.Effects {
		line := effectWords(e)
		if at := t.moment(r, e.At); at != t.moment(r, d.At) {
			line = at + "  " + line
		}
		if e.Stage == rules.Shadow {
			line = "(shadow) " + line
		}
		lines = append(lines, line)
	}
	switch {
	case is.NotRecorded != "":
		lines = append(lines, "then it is not recorded: "+cli.Harmless(is.NotRecorded))
	case is.State != "" && !is.State.Finished():
		lines = append(lines, "waits")
	case len(lines) == 0:
		lines = append(lines, nothingWords(is))
	}
	return lines
}

// nothingWords says why nothing was done.
func nothingWords(t backtest.Treatment) string {
	words := "nothing"
	switch t.Outcome {
	case "":
		return words + ": " + cli.Harmless(cmp.Or(t.Reason, "there is no such rule"))
	case journal.Fired:
		if t.State != "" && t.State != journal.Done {
			words += ": " + string(t.State)
		}
	default:
		words += ": " + string(t.Outcome)
	}
	if t.Reason != "" {
		words += " (" + cli.Harmless(t.Reason) + ")"
	}
	return words
}

// gaps tells what was not recorded, the same question once.
func (t *backtestText) gaps(r *backtest.Result) {
	if len(r.NotRecorded) == 0 {
		return
	}
	type gap struct{ rule, question string }
	counts := make(map[gap]int)
	var order []gap
	for _, g := range r.NotRecorded {
		key := gap{g.Rule, g.Question}
		if counts[key] == 0 {
			order = append(order, key)
		}
		counts[key]++
	}
	fmt.Fprintf(t.w, "\n%s\n", t.c.Yellow("Not recorded at the time, so nothing is claimed that depends on it:"))
	for _, key := range order[:min(inWords, len(order))] {
		fmt.Fprintln(t.w, cli.Truncate(fmt.Sprintf("  %4d × %s: %s", counts[key], cli.Harmless(key.rule), cli.Harmless(key.question)), cli.TableWidth))
	}
	t.more(len(order))
}

// waiting tells which runs have not come to their end.
func (t *backtestText) waiting(r *backtest.Result) {
	for _, n := range r.Rules {
		if n.Waiting > 0 {
			fmt.Fprintf(t.w, "\n%s of %s would still wait.\n", cli.Count(n.Waiting, "run"), cli.Harmless(n.ID))
		}
	}
}

// effectWords says what an effect is, in words that follow "would have": sent to Marina: “…”.
func effectWords(e backtest.Effect) string {
	who := cmp.Or(e.Who, e.About.Conversation, e.About.Card)
	words, quoted := actions.Effect{Verb: e.Verb, Who: who, Args: e.Arguments}.Did(phrases.English)
	if quoted != "" {
		words += " “" + quoted + "”"
	}
	return cli.Harmless(words)
}
