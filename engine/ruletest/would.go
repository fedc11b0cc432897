package ruletest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// expectWould compares what rules in shadow would have done since the last such expectation with
// what is expected, in order.
func (t *storyRun) expectWould(ctx context.Context, s rules.TestStep) error {
	actual, err := t.wouldEffects(ctx)
	if err != nil {
		return err
	}
	if at, message := t.difference(s.Would, actual, wouldWords); message != "" {
		return &failure{line: s.Line, message: message, expected: s.Would, actual: actual, differs: at}
	}
	return nil
}

// A shadowStep is a step that a run in shadow did not really take.
type shadowStep struct {
	run    *journal.Run
	step   *journal.Step
	record engine.Record
}

// wouldEffects returns what runs in shadow would have done since the last call, in order.
func (t *storyRun) wouldEffects(ctx context.Context) ([]Effect, error) {
	var steps []shadowStep
	filter := journal.RunFilter{Limit: most}
	for {
		runs, err := t.process.journal.ListRuns(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("read the runs in shadow: %w", err)
		}
		for _, r := range runs {
			more, err := t.shadowSteps(r)
			if err != nil {
				return nil, err
			}
			steps = append(steps, more...)
		}
		if len(runs) < most {
			break
		}
		filter.Before = runs[len(runs)-1].ID
	}
	slices.SortFunc(steps, func(a, b shadowStep) int {
		return cmp.Or(a.record.Ended.Compare(b.record.Ended), cmp.Compare(a.run.ID, b.run.ID), cmp.Compare(a.step.N, b.step.N))
	})
	c := readCompany(t.service)
	var out []Effect
	for _, s := range steps {
		out = append(out, c.would(s, t.people, t.options.Location))
	}
	return out, nil
}

// shadowSteps returns the steps of a run that change something, were not really taken, and were not
// returned before.
func (t *storyRun) shadowSteps(r *journal.Run) ([]shadowStep, error) {
	var out []shadowStep
	for _, s := range r.Steps {
		if s.State != journal.StepWould || t.seenWould[s.Key] || !changes(s.Verb) {
			continue
		}
		record, err := engine.ReadRecord(s)
		if err != nil {
			return nil, fmt.Errorf("step %s of %s: %w", s.Path, r.Rule, err)
		}
		if t.seenWould == nil {
			t.seenWould = map[string]bool{}
		}
		t.seenWould[s.Key] = true
		out = append(out, shadowStep{r, s, record})
	}
	return out, nil
}

// changes reports whether a verb changes something: in the service, in another system, or whom
// rules write to.
func changes(verb string) bool {
	switch verb {
	case vocabulary.HTTPRequest, vocabulary.Mute, vocabulary.Unmute:
		return true
	}
	return builtin.Operation(verb) != ""
}

// would describes a step that was not really taken as the effect that it would have had.
func (c *company) would(s shadowStep, people service.People, zone *time.Location) Effect {
	decoded, _ := engine.DecodeValue(s.record.Args) // a step whose arguments cannot be read has none
	recorded, _ := decoded.(map[string]any)
	args := map[string]any{}
	for name, v := range recorded {
		if v != nil {
			args[name] = c.plainNames(v)
		}
	}
	about := s.subject()
	id := cmp.Or(about.Conversation, about.Contact, about.Card)
	out := Effect{Verb: s.step.Verb, Args: args, On: text(c.name(id)), At: s.record.Ended.In(zone), subject: id, would: true}
	switch s.step.Verb {
	case vocabulary.SendMessage, vocabulary.Mute, vocabulary.Unmute:
		to := c.recipient(s, people, cmp.Or(recorded["to"], recorded["conversation"]))
		out.subject, out.On = to, text(cmp.Or(to["contact"], to["phone"], to["conversation"]))
	case vocabulary.UpdateContact:
		out.subject, out.On = about.Contact, text(c.name(about.Contact))
	case vocabulary.CreateCard:
		c.firstStage(args)
	case vocabulary.MoveCard, vocabulary.UpdateCard:
		out.putCard(c, about.Card)
	case vocabulary.HTTPRequest:
		out.putCall(s.record)
	}
	return out
}

// subject returns what the step would have changed: what the planned call names, else what the run
// is about.
func (s *shadowStep) subject() actions.Subject {
	about := s.run.About
	if s.record.Intent == nil {
		return about
	}
	request := fields(s.record.Intent.Request)
	for name, id := range map[string]*string{"conversation": &about.Conversation, "contact": &about.Contact, "card": &about.Card} {
		if named, ok := request[name].(string); ok && named != "" {
			*id = named
		}
	}
	return about
}

// plainNames returns a recorded value with names instead of ids, and times as texts.
func (c *company) plainNames(v any) any {
	switch v := v.(type) {
	case string:
		return c.name(v)
	case time.Time:
		return v.Format(time.RFC3339)
	case time.Duration:
		return duration.Format(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.plainNames(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = c.plainNames(v[name])
		}
		return out
	}
	return v
}

// recipient returns whom a message would have gone to, or who would have been muted: the
// conversation that the call names, or that of the run, or somebody with whom there is none yet.
func (c *company) recipient(s shadowStep, people service.People, to any) map[string]any {
	described, _ := c.plainNames(to).(map[string]any)
	if phone, err := people.Find(text(described["person"])); err == nil {
		described["phone"], described["channel"] = phone.Number, phone.Channel
	}
	var conversation any = s.run.About.Conversation
	if id, named := to.(string); named {
		conversation = id
	}
	if described != nil {
		conversation = nil
		if s.record.Intent != nil {
			conversation = fields(s.record.Intent.Request)["conversation"]
		}
	}
	out := c.to(conversation)
	if contact := c.contact(text(cmp.Or(described["contact"], described["phone"]))); contact != nil {
		out["contact"], out["phone"] = contact["name"], contact["phone"]
	}
	for name, v := range described {
		if out[name] == nil {
			out[name] = v
		}
	}
	return out
}

// firstStage puts a new card without a stage on the first one of its board.
func (c *company) firstStage(args map[string]any) {
	if args["stage"] != nil {
		return
	}
	if board := c.last("boards", "name", args["board"]); board != nil {
		if stages, _ := board["stages"].([]any); len(stages) > 0 {
			first, _ := stages[0].(map[string]any)
			args["stage"] = first["name"]
		}
	}
}

// putCard says which card a change is about, on which board it is, and which stage it would leave.
func (e *Effect) putCard(c *company, id string) {
	card := c.last("cards", "id", id)
	if card == nil {
		return
	}
	e.On, e.subject, e.from = text(card["title"]), id, c.name(card["stage_id"])
	if e.Verb == vocabulary.MoveCard && e.Args["board"] == nil {
		e.Args["board"] = c.name(card["board_id"])
	}
}

// putCall says which call to another system would have been made.
func (e *Effect) putCall(r engine.Record) {
	var call struct {
		Method string          `json:"method"`
		URL    string          `json:"url"`
		Body   json.RawMessage `json:"body"`
	}
	if r.Intent == nil || json.Unmarshal(r.Intent.Request, &call) != nil {
		return
	}
	e.Args = map[string]any{"method": call.Method, "url": call.URL}
	if len(call.Body) > 0 {
		e.Args["json"] = value(call.Body)
	}
	if u, err := url.Parse(call.URL); err == nil {
		e.On = u.Host
	}
}
