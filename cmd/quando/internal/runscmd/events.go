package runscmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// NewEvents returns the command events, which lists recorded events.
func NewEvents() *cobra.Command {
	var f listFlags
	var typ string
	var data bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the recorded events, and what each rule made of them",
		Long: `Events lists what the journal has recorded, the newest first, with the verdict of every rule that was asked: fired, or
why not. It works while an engine runs. An event that no webhook told is marked as found. Times are those of the configuration's timezone.

--since takes a length of time (90m, 14d) or a day or time (2026-11-13, "2026-11-13 17:50").`,
		Example: `  quando events
  quando events --contact Bia
  quando events --rule away-reply --since 2h
  quando events --type message.received --output json | jq '.events[].verdicts'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return view.Open(cmd, f.workspace, func(v *view.View) error {
				since, err := v.ParseSince(f.since)
				if err != nil {
					return err
				}
				who, err := f.narrow(cmd, v)
				if err != nil {
					return err
				}
				if err := knownType(cmd, v, typ); err != nil {
					return err
				}
				filter := journal.EventFilter{Workspace: cmp.Or(f.workspace, who.Workspace), Type: typ, Rule: f.rule, Lane: who.Lane, Since: since, Limit: f.limit}
				events, err := v.ListEvents(cmd.Context(), filter)
				if err != nil {
					return fmt.Errorf("list events: %w", err)
				}
				names, err := customersOf(cmd.Context(), v, events, func(e *journal.Event) (string, string) { return e.Workspace, e.Lane })
				if err != nil {
					return err
				}
				if f.output == "json" {
					return cli.WriteJSON(cmd.OutOrStdout(), eventList(events, names, data))
				}
				writeEvents(v, cmd.OutOrStdout(), cmd.ErrOrStderr(), events, names, &f)
				return nil
			})
		},
	}
	f.add(cmd, "on which this rule has a verdict", "received")
	cmd.Flags().StringVar(&typ, "type", "", "only those of this `type`, such as message.received")
	cmd.Flags().BoolVar(&data, "data", false, "with --output json: also what the events carry")
	return cmd
}

// listFlags are what the lists can be narrowed by.
type listFlags struct {
	customerFlags
	rule, since, workspace, output string
	limit                          int
}

func (f *listFlags) add(cmd *cobra.Command, rule, since string) {
	flags := cmd.Flags()
	flags.StringVar(&f.rule, "rule", "", "only those "+rule+", by its `id`")
	f.customerFlags.add(cmd, "only those")
	flags.StringVar(&f.since, "since", "", "only those "+since+" since then, such as 14d or 2026-11-13")
	flags.StringVar(&f.workspace, "workspace", "", "only those of this workspace, by its `name`")
	flags.IntVar(&f.limit, "limit", 100, "at most so many")
	cli.OutputFlag(cmd, &f.output)
	cli.JournalFlag(cmd)
}

func (f *listFlags) check() error {
	if f.limit < 1 {
		return fmt.Errorf("--limit is at least 1, not %d", f.limit)
	}
	return cli.CheckOutput(f.output)
}

// narrow returns the conversation that is asked for, if there is one, and refuses the name of a
// rule that is neither loaded nor recorded.
func (f *listFlags) narrow(cmd *cobra.Command, v *view.View) (journal.Who, error) {
	if f.rule != "" {
		if err := v.KnownRule(cmd, f.workspace, f.rule); err != nil {
			return journal.Who{}, err
		}
	}
	return f.find(cmd, v, f.workspace)
}

// knownType refuses a type of event that no service has and that is not recorded.
func knownType(cmd *cobra.Command, v *view.View, typ string) error {
	if typ == "" || vocabulary.EventOf(typ) != nil {
		return nil
	}
	events, err := v.ListEvents(cmd.Context(), journal.EventFilter{Type: typ, Limit: 1})
	if err != nil || len(events) > 0 {
		return err
	}
	var known []string
	for _, e := range vocabulary.Events() {
		known = append(known, e.Type)
	}
	return fmt.Errorf("there is no event type %q (%s)", typ, cmp.Or(source.DidYouMean(typ, known).String(), "such as message.received or attendance.opened"))
}

// The JSON of events. Every member is always there: programs read it.
type (
	eventsJSON struct {
		Events []eventJSON `json:"events"`
	}
	eventJSON struct {
		ID         string         `json:"id"`
		Workspace  string         `json:"workspace"`
		Type       string         `json:"type"`
		Lane       string         `json:"lane"`
		Contact    string         `json:"contact"` // the customer's name; empty when it is not known
		CreatedAt  time.Time      `json:"created_at"`
		ReceivedAt time.Time      `json:"received_at"`
		Found      bool           `json:"found"` // by a backfill
		Decided    bool           `json:"decided"`
		Verdicts   []verdictJSON  `json:"verdicts"`
		Data       map[string]any `json:"data,omitzero"`
	}
	verdictJSON struct {
		Rule    string          `json:"rule"`
		Outcome journal.Outcome `json:"outcome"`
		Clause  string          `json:"clause"`
		Values  map[string]any  `json:"values"`
		Error   string          `json:"error"`
		Run     string          `json:"run"`
		Stage   rules.Stage     `json:"stage"`
	}
)

func eventList(events []*journal.Event, names customers, data bool) eventsJSON {
	list := eventsJSON{Events: []eventJSON{}}
	for _, e := range events {
		one := eventJSON{
			ID: e.ID, Workspace: e.Workspace, Type: e.Type, Lane: e.Lane, Contact: names[[2]string{e.Workspace, e.Lane}].Name, CreatedAt: e.CreatedAt.UTC(), ReceivedAt: e.ReceivedAt.UTC(),
			Found: e.Found(), Decided: e.Decided, Verdicts: []verdictJSON{},
		}
		for _, d := range e.Verdicts {
			one.Verdicts = append(one.Verdicts, newVerdictJSON(d))
		}
		if data {
			one.Data = cli.OrEmpty(e.Data)
		}
		list.Events = append(list.Events, one)
	}
	return list
}

func newVerdictJSON(d journal.Verdict) verdictJSON {
	return verdictJSON{Rule: d.Rule, Outcome: d.Outcome, Clause: d.Clause, Values: cli.OrEmpty(d.Values), Error: d.Error, Run: d.Run, Stage: cmp.Or(d.Stage, rules.Live)}
}

func writeEvents(v *view.View, w, notes io.Writer, events []*journal.Event, names customers, f *listFlags) {
	if len(events) == 0 {
		fmt.Fprintln(notes, "No such events.")
		return
	}
	c := cli.Colours(w)
	t := &cli.Table{Head: []string{"RECEIVED (" + v.ZoneName() + ")", "AGE", "TYPE", "EVENT", "CUSTOMER"}}
	for _, e := range events {
		who := names.name(e.Workspace, e.Lane)
		if who == "event:"+e.ID {
			who = "" // it says nothing more
		}
		workspace := ""
		if e.Workspace != config.DefaultWorkspaceName && f.workspace == "" {
			workspace = "workspace " + e.Workspace
		}
		typ := e.Type
		if e.Found() {
			typ += " (found)"
		}
		t.Add([]cli.Cell{{Text: v.Stamp(e.ReceivedAt)}, {Text: cli.Span(v.Now.Sub(e.ReceivedAt)), Paint: c.Dim}, {Text: typ, Paint: c.Bold}, {Text: e.ID, Paint: c.Dim}, {Text: who}}, workspace, verdictSummary(e))
	}
	t.Write(w, c)
	if len(events) == f.limit {
		fmt.Fprintf(notes, "These are the newest %d; --limit shows more.\n", f.limit)
	}
}

// verdictSummary summarizes the verdicts on an event, fired rules first.
func verdictSummary(e *journal.Event) string {
	switch {
	case !e.Decided:
		return "not decided yet"
	case len(e.Verdicts) == 0:
		return "no rule asked for it"
	}
	verdicts := slices.Clone(e.Verdicts)
	slices.SortStableFunc(verdicts, func(a, b journal.Verdict) int { return cmp.Compare(weight(a.Outcome), weight(b.Outcome)) })
	parts := make([]string, len(verdicts))
	for i, d := range verdicts {
		parts[i] = d.Rule + " " + verdictWords(d)
	}
	return strings.Join(parts, ", ")
}

// weight puts what happened, and what went wrong, before what did not happen.
func weight(o journal.Outcome) int {
	switch o {
	case journal.Fired:
		return 0
	case journal.Failed:
		return 1
	case journal.False:
		return 3
	}
	return 2
}

// verdictWords says what a verdict is, with the clause that was not true or what stood in the way.
func verdictWords(d journal.Verdict) string {
	words := string(d.Outcome)
	if d.Outcome == journal.Fired && d.Stage == rules.Shadow {
		words = "would have acted (shadow)"
	}
	why := []string{}
	if d.Clause != "" {
		why = append(why, d.Clause)
	}
	if d.Error != "" {
		why = append(why, d.Error)
	}
	if len(why) > 0 {
		words += ": " + strings.Join(why, ": ")
	}
	return words
}
