package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Values of expressions are recorded as JSON, which knows no times, durations or whole numbers. Those are written as an object with one
// member whose name says what it is, so that a resumed run sees exactly what the first walk saw.
const (
	tagTime     = "$time"
	tagDuration = "$duration"
	tagInt      = "$int"
	tagObject   = "$object" // an object that itself looks like one of these
)

// encode writes a value for the journal.
func encode(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(tagged(v))
	if err != nil {
		return nil, fmt.Errorf("a value cannot be recorded: %w", err)
	}
	return raw, nil
}

// decode reads a recorded value back.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("a recorded value cannot be read: %w", err)
	}
	return untagged(v)
}

func tagged(v any) any {
	switch v := v.(type) {
	case time.Time:
		if _, err := v.MarshalText(); err != nil {
			return v // which cannot be recorded either, and says why
		}
		return map[string]any{tagTime: v.Format(time.RFC3339Nano), "zone": v.Location().String()}
	case time.Duration:
		return map[string]any{tagDuration: v.String()}
	case int:
		return map[string]any{tagInt: v}
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = tagged(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, item := range v {
			object[name] = tagged(item)
		}
		for _, tag := range []string{tagTime, tagDuration, tagInt, tagObject} {
			if _, ok := v[tag]; ok {
				return map[string]any{tagObject: object}
			}
		}
		return object
	}
	return v
}

func untagged(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = untagged(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if text, ok := v[tagTime].(string); ok {
			return timeIn(text, v["zone"])
		}
		if text, ok := v[tagDuration].(string); ok {
			return time.ParseDuration(text)
		}
		if n, ok := v[tagInt].(json.Number); ok {
			return strconv.Atoi(n.String()) // as a float it might lose digits
		}
		if object, ok := v[tagObject].(map[string]any); ok {
			v = object
		}
		for name, item := range v {
			if v[name], err = untagged(item); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	return v, nil
}

// readable returns values for people with those as texts that JSON does not know, such as what is not a number.
func readable(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, value := range values {
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		out[name] = value
	}
	return out
}

// timeIn reads a time in the zone that it was in: what it says in a text depends on that.
func timeIn(text string, zone any) (any, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, err
	}
	if name, ok := zone.(string); ok && name != "" && name != "Local" {
		if location, err := time.LoadLocation(name); err == nil {
			return t.In(location), nil
		}
	}
	return t, nil
}
