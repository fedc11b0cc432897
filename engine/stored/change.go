package stored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/plain"
)

// A Change is what of an engine.Change is kept as JSON, as far as the journal has nothing to decide.
type Change struct {
	Starts  []Run
	Runs    []Run
	Caused  []Caused
	Asks    []string
	Answers []*string // of the decided events

	decided  []*engine.Event
	verdicts [][][]byte // in JSON, of the decided events; nil where a start decides
}

// ChangeOf puts everything into the form in which it is kept.
func ChangeOf(c *engine.Change) (*Change, error) {
	f := &Change{decided: c.Decided}
	for _, st := range c.Starts {
		r, err := RunOf(st.Run)
		if err != nil {
			return nil, err
		}
		f.Starts = append(f.Starts, r)
	}
	if err := f.decide(c.Starts); err != nil {
		return nil, err
	}
	for _, changed := range c.Runs {
		r, err := RunOf(changed.Run)
		if err != nil {
			return nil, err
		}
		f.Runs = append(f.Runs, r)
	}
	for _, caused := range c.Caused {
		t, err := CausedOf(caused)
		if err != nil {
			return nil, err
		}
		f.Caused = append(f.Caused, t)
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

// decide forms the verdicts and the answers of decided events, but not the verdicts that starts decide.
func (f *Change) decide(starts []*engine.Start) (err error) {
	for _, e := range f.decided {
		parts := make([][]byte, len(e.Verdicts))
		for i := range e.Verdicts {
			if !slices.ContainsFunc(starts, func(st *engine.Start) bool { return st.Verdict == &e.Verdicts[i] }) {
				if parts[i], err = verdict(e.Verdicts[i]); err != nil {
					return err
				}
			}
		}
		f.verdicts = append(f.verdicts, parts)
		var answers *string
		if len(e.Answers) > 0 {
			t, err := Text(e.Answers)
			if err != nil {
				return err
			}
			answers = &t
		}
		f.Answers = append(f.Answers, answers)
	}
	return nil
}

// Verdicts are the verdicts on the decided event with this number in the change, those of starts as they came out, and how they are kept.
func (f *Change) Verdicts(i int, cameOut func(*engine.Verdict) engine.Verdict) (kept *string, given []engine.Verdict, err error) {
	parts, given := slices.Clone(f.verdicts[i]), slices.Clone(f.decided[i].Verdicts)
	for k := range parts {
		if parts[k] != nil {
			continue
		}
		given[k] = cameOut(&f.decided[i].Verdicts[k])
		if parts[k], err = verdict(given[k]); err != nil {
			return nil, nil, err
		}
	}
	if len(parts) == 0 {
		return nil, given, nil
	}
	list := "[" + string(bytes.Join(parts, []byte(","))) + "]"
	return &list, given, nil
}

// verdict is how a verdict is kept.
func verdict(v engine.Verdict) ([]byte, error) {
	b := append(make([]byte, 0, 256), '{')
	text := func(name, s string) {
		if s != "" {
			b = plain.AppendText(append(plain.AppendText(append(b, ','), name), ':'), s)
		}
	}
	b = plain.AppendText(append(b, `"rule":`...), v.Rule)
	b = plain.AppendText(append(b, `,"outcome":`...), string(v.Outcome))
	text("clause", v.Clause)
	if len(v.Values) > 0 {
		values, err := valuesText(v.Values)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"values":`...), values...)
	}
	text("error", v.Error)
	text("run", v.Run)
	text("version", v.Version)
	text("stage", string(v.Stage))
	return append(b, '}'), nil
}

// valuesText is how the values of a verdict are kept. One that JSON does not know, such as what is not a number, is kept as a text.
func valuesText(values map[string]any) ([]byte, error) {
	if b, err := json.Marshal(values); err == nil {
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
