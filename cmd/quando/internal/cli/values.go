package cli

import (
	"maps"
	"slices"
)

// OrEmpty returns a non-nil mapping, which is written as {}.
func OrEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// Parts returns the values of a mapping or list, and nil for anything else.
func Parts(value any) []any {
	switch value := value.(type) {
	case map[string]any:
		return slices.Collect(maps.Values(value))
	case []any:
		return value
	}
	return nil
}
