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
	Asks    []string
	Answers []*string // of the decided events

	decided  []*journal.Event
	starts   []*journal.Start
	verdicts []*string // of the decided events, if all starts come out as they are meant to
}

// ChangeOf puts everything into the form in which it is kept.
func ChangeOf(c *journal.Change) (*Change, error) {
	f := &Change{decided: c.Decided, starts: c.Starts}
	for _, st := range c.Starts {
		r, err := RunOf(st.Run)
		if err != nil {
			return nil, err
		}
		f.Starts = append(f.Starts, r)
	}
	for _, e := range c.Decided {
		verdicts, err := verdictsText(e.Verdicts)
		if err != nil {
			return nil, err
		}
		f.verdicts = append(f.verdicts, verdicts)
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
	for _, a := range c.Asks {
		t, err := Ask(a.Ask)
		if err != nil {
			return nil, err
		}
		f.Asks = append(f.Asks, t)
	}
	return f, nil
}

// Verdicts are the verdicts on the decided event with this number in the change, those of starts as they came out, and how they are kept. Most starts come out as they were
// meant to, and then both are what they were. Of a verdict a journal decides on the outcome, the error and the run.
func (f *Change) Verdicts(i int, cameOut func(*journal.Verdict) journal.Verdict) (kept *string, given []journal.Verdict, err error) {
	meant := f.decided[i].Verdicts
	for k := range meant {
		v := &meant[k]
		if !slices.ContainsFunc(f.starts, func(st *journal.Start) bool { return st.Verdict == v }) {
			continue
		}
		if is := cameOut(v); is.Outcome != v.Outcome || is.Error != v.Error || is.Run != v.Run {
			if given == nil {
				given = slices.Clone(meant) // the change stays as it is until it is recorded
			}
			given[k] = is
		}
	}
	if given == nil {
		return f.verdicts[i], meant, nil
	}
	kept, err = verdictsText(given)
	return kept, given, err
}

// verdictsText is how verdicts are kept; none are NULL.
func verdictsText(list []journal.Verdict) (*string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	b := append(make([]byte, 0, 512), '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendVerdict(b, &list[i]); err != nil {
			return nil, err
		}
	}
	text := string(append(b, ']'))
	return &text, nil
}

// appendVerdict writes how a verdict is kept.
func appendVerdict(b []byte, v *journal.Verdict) ([]byte, error) {
	b = plain.AppendText(append(b, `{"rule":`...), v.Rule)
	b = plain.AppendText(append(b, `,"outcome":`...), string(v.Outcome))
	b = appendMember(b, `,"clause":`, v.Clause)
	if len(v.Values) > 0 {
		values, err := valuesText(v.Values)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"values":`...), values...)
	}
	b = appendMember(b, `,"error":`, v.Error)
	b = appendMember(b, `,"run":`, v.Run)
	b = appendMember(b, `,"version":`, v.Version)
	b = appendMember(b, `,"stage":`, string(v.Stage))
	return append(b, '}'), nil
}

// appendMember writes a text that is left out where it is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return plain.AppendText(append(b, name...), text)
}

// answersText is how the answers to what rules asked are kept; none are NULL. Each is JSON, as the engine writes it.
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

// valuesText is how the values of a verdict are kept. One that JSON does not know, such as what is not a number, is kept as a text.
func valuesText(values map[string]any) ([]byte, error) {
	if b, err := plain.Encode(values); err == nil {
		return b, nil
	}
	readable := make(map[string]any, len(values))
	for name, value := range values {
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		readable[name] = value
	}
	return json.Marshal(readable)
}
