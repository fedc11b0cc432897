package stored

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/plain"
)

// A Change is what of a journal.Change is kept as JSON, as far as the journal has nothing to
// decide.
type Change struct {
	Starts  []Run
	Runs    []Run
	Caused  []Caused
	Answers []*string // of the decided events

	verdicts []*string // of the decided events, if all starts come out as they are meant to
}

// ChangeOf puts everything into the form in which it is kept.
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

// Verdicts are how the verdicts on the decided event with this number in the change are kept. Those
// that did not change meanwhile are encoded already.
func (f *Change) Verdicts(i int, changed bool, given []journal.Verdict) *string {
	if changed {
		return verdictsText(given)
	}
	return f.verdicts[i]
}

// verdictsText is how verdicts are kept; none are NULL.
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

// appendVerdict writes how a verdict is kept.
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

// appendMember writes a text that is left out where it is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return plain.AppendText(append(b, name...), text)
}

// answersText is how the answers to what rules asked are kept; none are NULL. Each is JSON, as the
// engine writes it.
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

// appendValues writes how the values of a verdict are kept. One that JSON does not know, such as
// what is not a number, is kept as a text.
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
	text, _ := json.Marshal(readable) // each of them can be
	return append(b, text...)
}
