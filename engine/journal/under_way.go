package journal

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// An UnderWay is a call whose intent is recorded and whose result is not: the request may be on its
// way to the service.
type UnderWay struct {
	Run       int64     `json:"run,string"`
	Key       string    `json:"key"` // of the run
	Workspace string    `json:"workspace"`
	Rule      string    `json:"rule"`
	Lane      string    `json:"lane"` // where the call runs: conversation:… or another
	Step      string    `json:"step"` // its path: 2, 2.else.1, 4[7].1
	Verb      string    `json:"verb"`
	Since     time.Time `json:"since,omitzero"` // when the intent was recorded
}

// Compare orders calls by when their intents were recorded.
func (u UnderWay) Compare(other UnderWay) int {
	return cmp.Or(u.Since.Compare(other.Since), cmp.Compare(u.Run, other.Run), strings.Compare(u.Step, other.Step))
}

// CallUnderWay returns the call of a run's step that is under way; ok is false if there is none. A
// call whose record cannot be read counts as under way.
func CallUnderWay(r *Run, s *Step) (call UnderWay, ok bool) {
	if s.State != StepOpen {
		return call, false
	}
	var rec struct { // the part of the engine's record that decides
		Intent         json.RawMessage
		Answered, Lost bool
		Tried          time.Time
	}
	err := json.Unmarshal(s.Record, &rec)
	if len(s.Record) == 0 || err == nil && (len(rec.Intent) == 0 || rec.Answered || rec.Lost) {
		return call, false
	}
	call = UnderWay{Run: r.ID, Key: r.Key, Workspace: r.Workspace, Rule: r.Rule, Lane: r.Lane, Step: s.Path, Verb: s.Verb}
	if err == nil {
		call.Since = rec.Tried
	}
	return call, true
}
