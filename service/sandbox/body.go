package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// decode reads the body's JSON into v; an empty body is an empty object.
func (c *call) decode(v any) error {
	body := bytes.TrimSpace(c.body)
	if len(body) == 0 {
		return nil
	}
	if body[0] != '{' {
		return store.Invalid("the body must be a JSON object")
	}
	err := json.Unmarshal(body, v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return store.Invalid("%s must be a %s, not a %s", fieldName(kind.Field), typeName(kind.Type), kind.Value)
	case err != nil:
		return store.Invalid("the body: %v", err)
	}
	return nil
}

func fieldName(path string) string {
	if path == "" {
		return "a member of the body"
	}
	return path
}

// typeName returns the name of a type for callers, who know JSON and not the sandbox's own types.
func typeName(t reflect.Type) string {
	switch {
	case t.Name() != "" && t.Kind() == reflect.String:
		return "string"
	case t.Name() != "" && t.Kind() == reflect.Slice:
		return "list"
	}
	return t.String()
}

// field is a member of a request's body that knows whether it was there, so
// that a PATCH can tell "leave it" from "set it to nothing".
type field[T any] struct {
	Value T
	Set   bool // the member was in the body
	Null  bool // and was null
}

// UnmarshalJSON is called only for members that are there.
func (f *field[T]) UnmarshalJSON(src []byte) error {
	f.Set = true
	if string(src) == "null" {
		f.Null = true
		return nil
	}
	return json.Unmarshal(src, &f.Value)
}

// set copies a member of a PATCH and notes its name if the value differs.
func set[T comparable](to *T, from field[T], name string, changed *[]string) {
	if !from.Set || *to == from.Value {
		return
	}
	*to = from.Value
	*changed = append(*changed, name)
}
