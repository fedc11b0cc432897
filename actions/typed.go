package actions

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/plain"
)

// Typed decodes a recorded value into the type that expressions expect: JSON has no times and no
// durations. An object has exactly the fields of its type; those that were not recorded are nil.
func Typed(t *rules.Type, recorded json.RawMessage) (any, error) {
	if len(recorded) == 0 {
		return nil, nil
	}
	v, err := plain.Decode([]byte(recorded))
	if err != nil {
		return nil, fmt.Errorf("read a recorded value: %w", err)
	}
	return typed(t, v)
}

func typed(t *rules.Type, v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if t.Fields() == nil {
			return v, nil
		}
		for _, f := range t.Fields() {
			value, err := typed(f.Type, v[f.Name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			v[f.Name] = value
		}
		if len(v) > len(t.Fields()) {
			maps.DeleteFunc(v, func(name string, _ any) bool { return t.Field(name) == nil })
		}
		return v, nil
	case []any:
		if t.Elem() == nil {
			return v, nil
		}
		for i := range v {
			var err error
			if v[i], err = typed(t.Elem(), v[i]); err != nil {
				return nil, err
			}
		}
		return v, nil
	case string:
		if t == rules.Time {
			return time.Parse(time.RFC3339Nano, v)
		}
	case float64:
		if t == rules.Duration {
			return time.Duration(v), nil
		}
	}
	return v, nil
}
