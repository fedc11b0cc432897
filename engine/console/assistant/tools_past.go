package assistant

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

type listIn struct {
	Workspace    string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Rule         string `json:"rule,omitempty" jsonschema:"only those of this rule"`
	Conversation string `json:"conversation,omitempty" jsonschema:"only those of this conversation, by its id"`
	Since        string `json:"since,omitempty" jsonschema:"a length of time such as 2h or 14d, or a time such as 2026-11-13T17:50:00Z"`
	Limit        int    `json:"limit,omitempty" jsonschema:"how many; 20 by default, at most 50"`
	Cursor       string `json:"cursor,omitempty" jsonschema:"next of the answer before"`
}

// narrowed is what a list is narrowed to.
type narrowed struct {
	space  *console.Workspace
	lane   string
	since  time.Time
	before int64
	limit  int
}

func (c *caller) narrow(in listIn) (n narrowed, err error) {
	n.limit = sizeOf(in.Limit)
	if n.space, err = c.space(in.Workspace); err != nil {
		return n, err
	}
	if in.Conversation != "" {
		n.lane = actions.ConversationLane(in.Conversation)
	}
	if in.Cursor != "" {
		if n.before, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil {
			return n, fmt.Errorf("there is no such cursor %q: take the one of the answer before", in.Cursor)
		}
	}
	if in.Since == "" {
		return n, nil
	}
	if d, err := duration.Parse(in.Since); err == nil {
		n.since = c.options.Now().Add(-d)
		return n, nil
	}
	if n.since, err = time.Parse(time.RFC3339, in.Since); err != nil {
		return n, fmt.Errorf("since %q is neither a length of time such as 14d nor a time such as 2026-11-13T17:50:00Z", in.Since)
	}
	return n, nil
}

type runsIn struct {
	listIn
	State string `json:"state,omitempty" jsonschema:"only those in this state: queued, running, waiting, held, uncertain, done, stopped, cancelled, failed or dealt"`
}

// A runLine is a run in a list.
type runLine struct {
	Run      string        `json:"run"`
	Rule     string        `json:"rule"`
	Stage    rules.Stage   `json:"stage"`
	State    journal.State `json:"state"`
	Lane     string        `json:"lane"`
	Started  time.Time     `json:"started"`
	Wakes    *time.Time    `json:"wakes,omitempty"`
	Steps    []stepLine    `json:"steps"`
	Customer *customerData `json:"customer_data,omitempty"`
}

type stepLine struct {
	Path     string            `json:"path"`
	Verb     string            `json:"verb"`
	State    journal.StepState `json:"state"`
	Attempts int               `json:"attempts"`
}

func (c *caller) runs(ctx context.Context, in runsIn) (any, error) {
	n, err := c.narrow(in.listIn)
	if err != nil {
		return nil, err
	}
	found, err := c.options.Journal.ListRuns(ctx, journal.RunFilter{Workspace: n.space.Name, Rule: in.Rule, State: journal.State(in.State), Lane: n.lane, Since: n.since, Before: n.before, Limit: n.limit})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Runs []runLine `json:"runs"`
		Next string    `json:"next,omitempty"`
	}{Runs: []runLine{}}
	for _, r := range found {
		answer.Runs = append(answer.Runs, c.runLine(n.space, r))
	}
	if len(found) == n.limit {
		answer.Next = strconv.FormatInt(found[len(found)-1].ID, 10)
	}
	return answer, nil
}

func (c *caller) runLine(w *console.Workspace, r *journal.Run) runLine {
	line := runLine{Run: strconv.FormatInt(r.ID, 10), Rule: r.Rule, Stage: r.Stage, State: r.State, Lane: plainLane(r.Home), Started: r.StartedAt.In(w.Location), Steps: []stepLine{}}
	if !r.State.Finished() && !r.WakeAt.IsZero() {
		at := r.WakeAt.In(w.Location)
		line.Wakes = &at
	}
	var failed []string
	for _, s := range r.Steps {
		line.Steps = append(line.Steps, stepLine{s.Path, s.Verb, s.State, s.Attempts})
		if s.Error != "" {
			failed = append(failed, shown(s.Path+": "+s.Error))
		}
	}
	if c.options.Customers {
		line.Customer = &customerData{Words: shown(r.Reason), Errors: failed}
	}
	return line
}

type eventsIn struct {
	listIn
	Type string `json:"type,omitempty" jsonschema:"only those of this type, such as message.received"`
}

// An eventLine is an event in a list.
type eventLine struct {
	Event    string        `json:"event"`
	Type     string        `json:"type"`
	Lane     string        `json:"lane"`
	Received time.Time     `json:"received"`
	Decided  bool          `json:"decided"`
	Verdicts []verdictLine `json:"verdicts"`
	Customer *customerData `json:"customer_data,omitempty"`
}

type verdictLine struct {
	Rule    string          `json:"rule"`
	Outcome journal.Outcome `json:"outcome"`
	Clause  string          `json:"clause,omitempty"` // the first that was not true
	Run     string          `json:"run,omitempty"`
}

func (c *caller) events(ctx context.Context, in eventsIn) (any, error) {
	n, err := c.narrow(in.listIn)
	if err != nil {
		return nil, err
	}
	found, err := c.options.Journal.ListEvents(ctx, journal.EventFilter{Workspace: n.space.Name, Type: in.Type, Rule: in.Rule, Lane: n.lane, Since: n.since, Before: n.before, Limit: n.limit})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Events []eventLine `json:"events"`
		Next   string      `json:"next,omitempty"`
	}{Events: []eventLine{}}
	for _, e := range found {
		line := eventLine{Event: e.ID, Type: e.Type, Lane: plainLane(e.Lane), Received: e.ReceivedAt.In(n.space.Location), Decided: e.Decided, Verdicts: []verdictLine{}}
		for _, v := range e.Verdicts {
			line.Verdicts = append(line.Verdicts, verdictLine{v.Rule, v.Outcome, v.Clause, v.Run})
		}
		if c.options.Customers {
			line.Customer = &customerData{Data: shownData(e.Data)}
		}
		answer.Events = append(answer.Events, line)
	}
	if len(found) == n.limit {
		answer.Next = strconv.FormatInt(found[len(found)-1].Seq, 10)
	}
	return answer, nil
}

type explainIn struct {
	Workspace    string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Event        string `json:"event,omitempty" jsonschema:"the id of an event"`
	Conversation string `json:"conversation,omitempty" jsonschema:"the id of a conversation: its newest 5 events"`
	Run          string `json:"run,omitempty" jsonschema:"the number of a run"`
	Rule         string `json:"rule,omitempty" jsonschema:"only this rule"`
}

// explainedEvents is how many events of a conversation are explained.
const explainedEvents = 5

func (c *caller) explain(ctx context.Context, in explainIn) (any, error) {
	w, err := c.space(in.Workspace)
	if err != nil {
		return nil, err
	}
	events, run, err := c.toExplain(ctx, w, in)
	if err != nil {
		return nil, err
	}
	if w.Editing.Desk == nil {
		return nil, errors.New("there is no record of events here")
	}
	desk, err := w.Editing.Desk(ctx)
	if err != nil {
		return nil, err
	}
	x := explain.New(explain.Options{Journal: c.options.Journal, Desk: desk, Rules: used(w), Catalog: w.Editing.Rules.Catalog, Location: w.Location})
	answer := struct {
		Run    *runLine         `json:"run,omitempty"`
		Events []explainedEvent `json:"events"`
	}{Events: []explainedEvent{}}
	if run != nil {
		line := c.runLine(w, run)
		answer.Run = &line
	}
	for _, e := range events {
		told, err := x.Event(ctx, e)
		if err != nil {
			return nil, err
		}
		answer.Events = append(answer.Events, c.explained(w, told, in.Rule))
	}
	return answer, nil
}

// toExplain finds the events that are asked about.
func (c *caller) toExplain(ctx context.Context, w *console.Workspace, in explainIn) (events []*journal.Event, run *journal.Run, err error) {
	j := c.options.Journal
	switch {
	case in.Event != "":
		e, err := j.FindEvent(ctx, w.Name, engine.ObjectKey(in.Event))
		if errors.Is(err, journal.ErrNoEvent) {
			return nil, nil, errors.New("there is no such event: the tool events lists them")
		}
		return []*journal.Event{e}, nil, err
	case in.Conversation != "":
		events, err = j.ListEvents(ctx, journal.EventFilter{Workspace: w.Name, Lane: actions.ConversationLane(in.Conversation), Limit: explainedEvents})
		return events, nil, err
	case in.Run != "":
		id, err := strconv.ParseInt(in.Run, 10, 64)
		if err != nil {
			return nil, nil, errors.New("run is the number of a run: the tool runs lists them")
		}
		run, err = j.FindRun(ctx, id)
		if errors.Is(err, journal.ErrNoRun) || err == nil && run.Workspace != w.Name {
			return nil, nil, errors.New("there is no such run: the tool runs lists them")
		}
		if err != nil {
			return nil, nil, err
		}
		events, err = j.Events(ctx, run.Event)
		return events, run, err
	}
	return nil, nil, errors.New("say what to explain: an event, a conversation or a run")
}

// An explainedEvent is an event with the decision of each rule.
type explainedEvent struct {
	Event    string          `json:"event"`
	Type     string          `json:"type"`
	Lane     string          `json:"lane"`
	Received time.Time       `json:"received"`
	Rules    []explainedRule `json:"rules"`
	Customer *customerData   `json:"customer_data,omitempty"`
}

type explainedRule struct {
	Rule     string          `json:"rule"`
	Outcome  journal.Outcome `json:"outcome"`
	Would    bool            `json:"would,omitempty"` // it was not asked: this is what it would have decided
	Clauses  []clauseLine    `json:"clauses"`
	Run      string          `json:"run,omitempty"`
	Customer *customerData   `json:"customer_data,omitempty"`
}

type clauseLine struct {
	Clause   string             `json:"clause"`
	Result   rules.ClauseResult `json:"result"`
	Values   map[string]any     `json:"values,omitempty"`
	Customer *customerData      `json:"customer_data,omitempty"`
}

func (c *caller) explained(w *console.Workspace, e *explain.Event, only string) explainedEvent {
	out := explainedEvent{Event: e.ID, Type: e.Type, Lane: plainLane(e.Lane), Received: e.ReceivedAt.In(w.Location), Rules: []explainedRule{}}
	if c.options.Customers {
		out.Customer = &customerData{Name: shown(e.Contact), Words: shown(e.Words)}
	}
	for _, r := range e.Rules {
		if r.Outcome == explain.NotForIt && only == "" || only != "" && r.Rule != only {
			continue
		}
		one := explainedRule{Rule: r.Rule, Outcome: r.Outcome, Would: r.Basis == explain.Would, Clauses: []clauseLine{}}
		if r.Run != nil {
			one.Run = strconv.FormatInt(r.Run.ID, 10)
		}
		if c.options.Customers {
			one.Customer = &customerData{Words: shown(r.Words)}
		}
		for _, clause := range r.Clauses {
			line := clauseLine{Clause: clause.Clause, Result: clause.Result, Values: plainValues(clause.Values)}
			if c.options.Customers {
				line.Customer = &customerData{Data: shownData(clause.Values), Words: shown(clause.Words)}
			}
			one.Clauses = append(one.Clauses, line)
		}
		out.Rules = append(out.Rules, one)
	}
	return out
}
