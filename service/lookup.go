package service

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Paths are the candidate places of one value, best first. A path is dotted: "assignee.id" is the
// id inside assignee, "labels.0" the first of labels, "." the object itself.
type Paths []string

// Lookup finds the first candidate that holds a value. It reports true with nil if all it found was
// null, and false if no candidate exists.
func Lookup(raw map[string]any, candidates []string) (any, bool) {
	null := false
	for _, path := range candidates {
		v, ok := at(raw, path)
		if ok && v != nil {
			return v, true
		}
		null = null || ok
	}
	return nil, null
}

func at(raw map[string]any, path string) (any, bool) {
	// Most candidates are one name, and most of the others begin with one that is absent.
	dot := strings.IndexByte(path, '.')
	if dot < 0 {
		v, ok := raw[path]
		return v, ok
	}
	if path == "." {
		return raw, raw != nil
	}
	v, ok := raw[path[:dot]]
	if !ok {
		return nil, false
	}
	return within(v, path[dot+1:])
}

// within follows a path from a value on.
func within(v any, path string) (any, bool) {
	for {
		name, rest, more := strings.Cut(path, ".")
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
		if !more {
			return v, true
		}
		path = rest
	}
}

// fields reads typed values out of one raw object. It skips a candidate of another type: the same
// name may hold an id in one answer and an object in the next.
type fields map[string]any

func first[T any](f fields, paths Paths, convert func(any) (T, bool)) (value T, ok bool) {
	for _, path := range paths {
		if v, found := at(f, path); found && v != nil {
			if value, ok = convert(v); ok {
				return value, true
			}
		}
	}
	return value, false
}

// id finds an identifier, as a string or as an object that has one. Null is an answer, not a gap:
// an assignee_id of null means unassigned, and a later candidate with a wider meaning, such as
// user_id, must not replace it.
func (f fields) id(paths Paths) string {
	for _, path := range paths {
		v, found := at(f, path)
		if !found {
			continue
		}
		if v == nil {
			return ""
		}
		if id, ok := asID(v); ok {
			return id
		}
	}
	return ""
}

func (f fields) str(paths Paths) string       { v, _ := first(f, paths, asString); return v }
func (f fields) flag(paths Paths) bool        { v, _ := first(f, paths, asBool); return v }
func (f fields) ids(paths Paths) []string     { v, _ := first(f, paths, asIDs); return v }
func (f fields) strs(paths Paths) []string    { v, _ := first(f, paths, asStrings); return v }
func (f fields) time(paths Paths) time.Time   { v, _ := first(f, paths, asTime); return v }
func (f fields) objects(paths Paths) []fields { v, _ := first(f, paths, asObjects); return v }

func (f fields) int(paths Paths) int {
	v, _ := first(f, paths, asNumber)
	return int(v)
}

func (f fields) number(paths Paths) *float64 {
	if v, ok := first(f, paths, asNumber); ok {
		return &v
	}
	return nil
}

func (f fields) object(paths Paths) map[string]any {
	v, _ := first(f, paths, asObject)
	return v
}

func (f fields) optTime(paths Paths) *time.Time {
	if t, ok := first(f, paths, asTime); ok {
		return &t
	}
	return nil
}

func asString(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case json.Number:
		return v.String(), v != ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

func asID(v any) (string, bool) {
	if m, ok := v.(map[string]any); ok {
		for _, name := range [...]string{"id", "uuid"} {
			if id, ok := asString(m[name]); ok {
				return id, true
			}
		}
		return "", false
	}
	return asString(v)
}

func asBool(v any) (bool, bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		b, err := strconv.ParseBool(v)
		return b, err == nil
	}
	n, ok := asNumber(v)
	return n > 0, ok
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

func asObject(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	return m, ok
}

func asObjects(v any) ([]fields, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	objects := make([]fields, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			objects = append(objects, m)
		}
	}
	return objects, true
}

func asIDs(v any) ([]string, bool) { return collect(v, asID) }

// asStrings also takes names in one string, as OAuth writes scopes.
func asStrings(v any) ([]string, bool) {
	if s, ok := v.(string); ok && s != "" {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }), true
	}
	return collect(v, asString)
}

func collect(v any, convert func(any) (string, bool)) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	values := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := convert(item); ok {
			values = append(values, s)
		}
	}
	return values, true
}

var layouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04Z07:00",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "20060102T150405Z0700", "20060102T150405", time.DateOnly,
}

// ParseTime reads a time as services write them: RFC 3339, other forms of ISO 8601, UTC where no
// zone is given.
func ParseTime(s string) (time.Time, bool) { return asTime(s) }

// asTime reads RFC 3339 and its common variants (UTC if no zone is given), and Unix time in seconds
// or milliseconds.
func asTime(v any) (time.Time, bool) {
	if s, ok := v.(string); ok {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil {
				return t.UTC(), true
			}
		}
		return time.Time{}, false
	}
	n, ok := asNumber(v)
	switch {
	case !ok || n < 1e8 || n > 1e14: // a small number is a count or a duration, not a date
		return time.Time{}, false
	case n >= 1e11:
		return time.UnixMilli(int64(n)).UTC(), true
	}
	return time.Unix(int64(n), 0).UTC(), true
}
