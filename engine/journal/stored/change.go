package stored

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/plain"
)

// A Change is the parts of a journal.Change that are stored as JSON, except those that the journal
// decides on.
type Change struct {
	Starts  []Run
	Runs    []Run
	Caused  []Caused
	Answers []*string // of the decided events

	verdicts []*string // of the decided events, if all runs start as intended
}

// ChangeOf encodes a change.
func ChangeOf(c *journal.Change) (*Change, error) {
	f := &Change{}
	for _, st := range c.Starts {
		r, err := RunOf(st.Run)
		if err != nil {
			return nil, err
		}
		f.Starts = append(f.Starts, r)
	}
	for _, e := range c.Decided {
		f.verdicts = append(f.verdicts, verdictsText(e.Verdicts))
		f.Answers = append(f.Answers, answersText(e.Answers))
	}
	for _, changed := range c.Runs {
		r, err := RunOf(changed.Run)
		if err != nil {
			return nil, err
		}
		f.Runs = append(f.Runs, r)
	}
	f.Caused = make([]Caused, len(c.Caused))
	for i := range c.Caused {
		var err error
		if f.Caused[i], err = CausedOf(&c.Caused[i]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Verdicts returns the stored form of the verdicts on the i-th decided event. Verdicts that the
// journal has not changed are encoded already.
func (f *Change) Verdicts(i int, changed bool, given []journal.Verdict) *string {
	if changed {
		return verdictsText(given)
	}
	return f.verdicts[i]
}

// verdictsText encodes verdicts; nil, which is NULL, if there are none.
func verdictsText(list []journal.Verdict) *string {
	if len(list) == 0 {
		return nil
	}
	b := append(make([]byte, 0, 256*len(list)), '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendVerdict(b, &list[i])
	}
	text := string(append(b, ']'))
	return &text
}

// appendVerdict appends the stored form of a verdict.
func appendVerdict(b []byte, v *journal.Verdict) []byte {
	b = plain.AppendText(append(b, `{"rule":`...), v.Rule)
	b = plain.AppendText(append(b, `,"outcome":`...), string(v.Outcome))
	b = appendMember(b, `,"clause":`, v.Clause)
	if len(v.Values) > 0 {
		b = appendValues(append(b, `,"values":`...), v.Values)
	}
	b = appendMember(b, `,"error":`, v.Error)
	if v.Why != nil {
		b = append(append(b, `,"why":`...), phraseText(v.Why)...)
	}
	b = appendMember(b, `,"run":`, v.Run)
	b = appendMember(b, `,"version":`, v.Version)
	b = appendMember(b, `,"stage":`, string(v.Stage))
	return append(b, '}')
}

// appendMember appends a text, unless it is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return plain.AppendText(append(b, name...), text)
}

// answersText encodes the answers to rules' questions; nil, which is NULL, if there are none. Each
// answer is JSON already.
func answersText(answers journal.Answers) *string {
	if len(answers) == 0 {
		return nil
	}
	var few [8]string
	questions := few[:0]
	for question := range answers {
		questions = append(questions, question)
	}
	slices.Sort(questions)
	b := append(make([]byte, 0, 512), '{')
	for i, question := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(plain.AppendText(b, question), ':'), answers[question]...)
	}
	text := string(append(b, '}'))
	return &text
}

// appendValues appends the stored form of a verdict's values. A value that JSON cannot represent,
// such as NaN, becomes a text.
func appendValues(b []byte, values map[string]any) []byte {
	if all, err := plain.Append(b, values); err == nil {
		return all
	}
	readable := make(map[string]any, len(values))
	for name, value := range values {
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		readable[name] = value
	}
	text, _ := json.Marshal(readable) // cannot fail: each value was tried
	return append(b, text...)
}
