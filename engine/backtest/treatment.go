package backtest

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// treatment returns the effects of a run, recorded or replayed, from its steps.
func (b *bench) treatment(r *journal.Run, event string) (Treatment, error) {
	t := Treatment{State: r.State, Stage: r.Stage, Reason: r.Reason, ended: r.FinishedAt}
	names := make(map[string]string) // of the conversations that steps have read
	for _, s := range r.Steps {
		rec, err := engine.ReadRecord(s)
		if err != nil {
			return t, err
		}
		readName(names, rec)
		if !changed(s, rec) || rec.Ended.After(b.Until) {
			continue
		}
		e := Effect{Rule: r.Rule, Event: event, At: rec.Ended, Verb: s.Verb, Stage: r.Stage, About: r.About, args: string(rec.Args)}
		if rec.Elsewhere != "" {
			e.About, e.Who, e.elsewhere = actions.Subject{Conversation: rec.Elsewhere}, names[rec.Elsewhere], true
		}
		if value, err := engine.DecodeValue(rec.Args); err == nil {
			e.Arguments, _ = shown(value).(map[string]any)
		}
		t.Effects = append(t.Effects, e)
	}
	if r.FinishedAt.After(b.Until) {
		t.State, t.Reason = journal.Waiting, "" // as it stood then
	}
	return t, nil
}

// readName notes the name of a conversation that a step has read.
func readName(names map[string]string, rec engine.Record) {
	value, err := engine.DecodeValue(rec.Value)
	conversation, _ := value.(map[string]any)
	if id, ok := conversation["id"].(string); ok && err == nil {
		contact, _ := engine.AnswerTo(rec.Answers, journal.Elsewhere(id, "contact"))
		names[id] = cmp.Or(nameIn(map[string]any{"conversation": conversation, "contact": contact}), names[id])
	}
}

// changed reports whether a step had an effect or, in a shadow run, would have had one. A step that
// found nothing to change had none.
func changed(s *journal.Step, rec engine.Record) bool {
	switch s.State {
	case journal.StepDone:
		return len(rec.Receipts) > 0
	case journal.StepWould:
		return rec.Intent != nil
	}
	return false
}

// shown formats a value: durations as rules write them, times in their zone.
func shown(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return duration.Format(v)
	case time.Time:
		return v.Format(time.RFC3339)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = shown(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = shown(v[i])
		}
		return out
	}
	return v
}

// pending reports whether something is still to come.
func (t *Treatment) pending() bool { return t.State != "" && !t.State.Finished() }

// isEmpty reports whether there is no effect, nor one to come.
func (t *Treatment) isEmpty() bool { return len(t.Effects) == 0 && !t.pending() && t.NotRecorded == "" }

// same reports whether two treatments are the same for the customer: the same effects in the same
// order and, but for some slack, at the same time, live or in shadow, and something or nothing
// still to come.
func (t *Treatment) same(other *Treatment, slack time.Duration) bool {
	if t.pending() != other.pending() || t.pending() && t.Stage != other.Stage {
		return false
	}
	return slices.EqualFunc(t.Effects, other.Effects, func(a, b Effect) bool { return sameEffect(a, b) && a.At.Sub(b.At).Abs() <= slack })
}

const (
	// exactly is the slack between the effects of two replays.
	exactly = time.Second
	// roughly is the slack between a replay and the record, in which calls take time.
	roughly = time.Minute
)

// begins reports whether the effects of one treatment are the first of another's.
func (t *Treatment) begins(other *Treatment) bool {
	return len(t.Effects) <= len(other.Effects) && slices.EqualFunc(t.Effects, other.Effects[:len(t.Effects)], sameEffect)
}

func sameEffect(a, b Effect) bool {
	return a.Verb == b.Verb && a.Stage == b.Stage && sameArgs(a.args, b.args)
}

// sameArgs compares recorded arguments. An older journal has none, which count as equal.
func sameArgs(a, b string) bool { return a == b || a == "" || b == "" }

// encodeArgs writes arguments as they are recorded, to compare them.
func encodeArgs(schema *rules.Schema, args map[string]any) string {
	raw, err := engine.EncodeArgs(schema, args)
	if err != nil {
		return "?" // it was not recorded either
	}
	return string(raw)
}

// part returns some of recorded arguments, to compare them.
func part(args string, names ...string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &all) != nil {
		return "?"
	}
	some := make(map[string]json.RawMessage)
	for _, name := range names {
		some[name] = all[name]
	}
	text, _ := json.Marshal(some) // what was just read can be written
	return string(text)
}
