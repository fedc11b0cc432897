package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/quandohq/quando/rules/plain"
)

// Values of expressions are recorded as JSON, which has no times, durations or integers. They are
// written as an object with a single member whose name is the type, so that a resumed run sees
// exactly what the first walk saw.
const (
	tagTime     = "$time"
	tagDuration = "$duration"
	tagInt      = "$int"
	tagObject   = "$object" // an object that looks like one of these
)

// encode encodes a value for the journal.
func encode(v any) (json.RawMessage, error) {
	raw, err := encodeWith(func(b []byte) ([]byte, error) { return appendTagged(b, v) })
	if err != nil {
		return nil, fmt.Errorf("a value cannot be recorded: %w", err)
	}
	return raw, nil
}

// scratch pools buffers to encode into: the result is copied out at its own size.
var scratch = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// encodeWith returns a copy of what write appends to a pooled buffer.
func encodeWith(write func([]byte) ([]byte, error)) ([]byte, error) {
	b := scratch.Get().(*[]byte)
	defer scratch.Put(b)
	out, err := write((*b)[:0])
	if err != nil {
		return nil, err
	}
	if cap(out) <= 64<<10 { // a large buffer must not stay in the pool
		*b = out
	}
	return bytes.Clone(out), nil
}

// decode decodes a recorded value.
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

// appendTagged appends an encoded value to b, with the members of objects sorted by name.
func appendTagged(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return plain.AppendText(b, v), nil
	case time.Time:
		b, err := plain.AppendTime(append(b, `{"`+tagTime+`":`...), v)
		b = plain.AppendText(append(b, `,"zone":`...), v.Location().String())
		return append(b, '}'), err
	case time.Duration:
		b = plain.AppendText(append(b, `{"`+tagDuration+`":`...), v.String())
		return append(b, '}'), nil
	case int:
		return append(strconv.AppendInt(append(b, `{"`+tagInt+`":`...), int64(v), 10), '}'), nil
	case []string:
		return appendItems(b, v, func(b []byte, s string) ([]byte, error) { return plain.AppendText(b, s), nil })
	case []any:
		return appendItems(b, v, appendTagged)
	case map[string]any:
		if !looksTagged(v) {
			return appendMembers(b, v)
		}
		b, err := appendMembers(append(b, `{"`+tagObject+`":`...), v)
		return append(b, '}'), err
	}
	return plain.Append(b, v)
}

// looksTagged reports whether an object could be taken for a tagged value.
func looksTagged(object map[string]any) bool {
	for _, tag := range [...]string{tagTime, tagDuration, tagInt, tagObject} {
		if _, ok := object[tag]; ok {
			return true
		}
	}
	return false
}

func appendItems[T any](b []byte, list []T, item func([]byte, T) ([]byte, error)) (_ []byte, err error) {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = item(b, list[i]); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendMembers(b []byte, object map[string]any) (_ []byte, err error) {
	var few [16]string
	names := few[:0]
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(plain.AppendText(b, name), ':')
		if b, err = appendTagged(b, object[name]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// roundTrips reports whether encode and decode return a value unchanged, so that neither is needed
// to know what was recorded.
func roundTrips(v any) bool {
	switch v := v.(type) {
	case nil, bool, float64, int, time.Duration:
		return true
	case string:
		return utf8.ValidString(v)
	case time.Time:
		return v.Location() == time.UTC // decode looks up any other zone by its name
	case []any:
		for _, item := range v {
			if !roundTrips(item) {
				return false
			}
		}
		return v != nil
	case map[string]any:
		for name, item := range v {
			if !utf8.ValidString(name) || !roundTrips(item) {
				return false
			}
		}
		return v != nil && !looksTagged(v)
	}
	return false
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
			return strconv.Atoi(n.String()) // a float might lose digits
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

// encodable returns values for people in which those that JSON does not have, such as NaN, are
// texts.
func encodable(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, value := range values {
		if _, err := json.Marshal(value); err != nil {
			value = fmt.Sprint(value)
		}
		out[name] = value
	}
	return out
}

// timeIn parses a time in its original zone, which decides how it is formatted.
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
