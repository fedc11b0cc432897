package words

import (
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/plain"
)

// A Teller puts into words what the steps of one run did.
type Teller struct {
	Language
	Who   string                 // the customer
	Zone  *time.Location         // of the workspace
	Names func(id string) string // of the service's objects; may be nil
	Span  func(s string) string  // says a length of time such as 15m of office; may be nil
}

// quoteMost is how much of a message is quoted, in characters.
const quoteMost = 80

// quiet are the verbs that change nothing that a customer or the team would notice.
var quiet = map[string]bool{"wait": true, "wait_for": true, "choose": true, "for_each": true, "stop_if": true, "stop": true, "set": true, "log": true}

// HasEffect reports whether a step changed something, or would have: it made a call that was not
// only a question.
func HasEffect(s *journal.Step) bool {
	if quiet[s.Verb] || strings.HasPrefix(s.Verb, "read_") || strings.HasPrefix(s.Verb, "list_") || strings.HasPrefix(s.Verb, "find_") {
		return false
	}
	return s.State == journal.StepDone || s.State == journal.StepWould
}

// Effects says what a run did, or would have done, in one line; empty is nothing.
func (t Teller) Effects(r *journal.Run) string {
	var list []string
	for _, s := range r.Steps {
		if HasEffect(s) {
			list = append(list, t.Step(s))
		}
	}
	return strings.Join(list, ", ")
}

// Step says what a step did, does, or would have done.
func (t Teller) Step(s *journal.Step) string {
	record, err := engine.ReadRecord(s)
	if err != nil {
		return t.Or("verb.", s.Verb)
	}
	switch s.Verb {
	case "wait", "wait_for":
		return t.wait(s, record)
	}
	if quiet[s.Verb] || !HasEffect(s) || len(record.Args) == 0 {
		return t.Or("verb.", s.Verb)
	}
	args, _ := engine.DecodeValue(record.Args) // without them it is told all the same
	named, _ := t.Named(args).(map[string]any)
	delete(named, "reason")
	e := actions.Effect{Verb: s.Verb, Who: t.Who, Args: named}
	if s.State == journal.StepWould {
		return t.quoting(e.Would(t.RulesLanguage()))
	}
	text, quoted := e.Brief(t.RulesLanguage())
	if text == "" {
		text = t.T("step.sent")
	}
	return t.quoting(text, quoted)
}

// quoting joins words with the text that they are about.
func (t Teller) quoting(text, quoted string) string {
	text = engine.Harmless(text)
	if quoted == "" {
		return text
	}
	return text + " “" + Cut(engine.Harmless(strings.Join(strings.Fields(quoted), " ")), quoteMost) + "”"
}

// wait says what is or was waited for.
func (t Teller) wait(s *journal.Step, record engine.Record) string {
	until, span := record.Until.In(t.zone()), record.Wait
	if t.Span != nil && span != "" {
		span = t.Span(span)
	}
	switch {
	case s.State == journal.StepWaiting && s.Verb == "wait_for" && record.Until.IsZero():
		return t.T("step.waits_answer_open")
	case s.State == journal.StepWaiting && s.Verb == "wait_for":
		return t.T("step.waits_answer", t.Moment(until))
	case s.State == journal.StepWaiting:
		return t.T("step.waits", t.Moment(until))
	case s.State != journal.StepDone:
		return t.Or("verb.", s.Verb)
	case s.Verb == "wait" && span != "":
		return t.T("step.waited", engine.Harmless(span))
	case s.Verb == "wait":
		return t.T("step.waited_until", t.Moment(until))
	}
	return t.T("step.heard", t.Heard(record))
}

// Heard says whether what a step waited for came.
func (t Teller) Heard(record engine.Record) string {
	if value, err := engine.DecodeValue(record.Value); err == nil && value != nil {
		return t.T("step.answered")
	}
	return t.T("step.unanswered")
}

func (t Teller) zone() *time.Location {
	if t.Zone == nil {
		return time.UTC
	}
	return t.Zone
}

// Named returns arguments with what their ids stand for, and times as people say them. An id
// without a name is left out: nobody knows it by that. The text of a message stays as it is.
func (t Teller) Named(v any) any {
	switch v := v.(type) {
	case string:
		if t.Names != nil && len(v) < 100 {
			if name := t.Names(v); name != "" {
				return name
			}
		}
		if plain.IsUUID(v) {
			return nil
		}
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return t.Moment(at.In(t.zone()))
		}
		if day, err := time.ParseInLocation(time.DateOnly, v, t.zone()); err == nil {
			return t.Day(day)
		}
		return v
	case time.Time:
		return t.Moment(v.In(t.zone()))
	case []any:
		var out []any
		for _, item := range v {
			if item = t.Named(item); item != nil {
				out = append(out, item)
			}
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			if name != "text" {
				item = t.Named(item)
			}
			if item != nil {
				out[name] = item
			}
		}
		return out
	}
	return v
}
