package service

import "encoding/json"

// Opt is a field of a change that may be left alone, set, or set to null. Its zero value leaves the
// field alone.
type Opt[T any] struct {
	value T
	given bool
	null  bool
}

// Set is a field set to v.
func Set[T any](v T) Opt[T] { return Opt[T]{value: v, given: true} }

// Null is a field set to null.
func Null[T any]() Opt[T] { return Opt[T]{given: true, null: true} }

// IsZero reports whether the field is left alone; encoding/json asks it for the tag omitzero.
func (o Opt[T]) IsZero() bool { return !o.given }

// Get is the value, and whether there is one: not when the field is left alone or null.
func (o Opt[T]) Get() (T, bool) { return o.value, o.given && !o.null }

// MarshalJSON writes the value or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.null || !o.given {
		return []byte("null"), nil
	}
	b, err := json.Marshal(o.value)
	if string(b) == "null" {
		return []byte("[]"), err // a nil list is an empty one; Null is explicit
	}
	return b, err
}

// UnmarshalJSON reads what MarshalJSON wrote, so that a recorded request can be repeated exactly.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	*o = Opt[T]{given: true}
	if string(b) == "null" {
		o.null = true
		return nil
	}
	return json.Unmarshal(b, &o.value)
}
