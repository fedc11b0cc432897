package actions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ArgumentWords shows an argument to people: lists and mappings without their brackets, nothing as
// nothing.
func ArgumentWords(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = ArgumentWords(v[i])
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+" "+ArgumentWords(v[name]))
		}
		return strings.Join(parts, ", ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
