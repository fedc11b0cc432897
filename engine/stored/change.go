package stored

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine"
)

// A Change is what of an engine.Change is kept as JSON, as far as the journal has nothing to decide.
type Change struct {
	Starts  []Run
	Runs    []Run
	Caused  []Caused
	Asks    []string
	Answers []*string // of the decided events

	decided  []*engine.Event
	verdicts [][]json.RawMessage // of the decided events; nil where a start decides
}

// ChangeOf puts everything into the form in which it is kept.
func ChangeOf(c *engine.Change) (*Change, error) {
	f := &Change{decided: c.Decided}
	open := map[*engine.Verdict]bool{}
	for _, st := range c.Starts {
		open[st.Verdict] = true
		r, err := RunOf(st.Run)
		if err != nil {
			return nil, err
		}
		f.Starts = append(f.Starts, r)
	}
	if err := f.decide(open); err != nil {
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

// decide forms the verdicts and the answers of decided events, but not the verdicts that are open.
func (f *Change) decide(open map[*engine.Verdict]bool) (err error) {
	for _, e := range f.decided {
		parts := make([]json.RawMessage, len(e.Verdicts))
		for i := range e.Verdicts {
			if !open[&e.Verdicts[i]] {
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
	kept, err = List(parts)
	return kept, given, err
}

// verdict is how a verdict is kept. A value that JSON does not know, such as what is not a number, is kept as a text.
func verdict(v engine.Verdict) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err == nil {
		return b, nil
	}
	values := make(map[string]any, len(v.Values))
	for name, value := range v.Values {
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		values[name] = value
	}
	v.Values = values
	return json.Marshal(v)
}
