package actions

import (
	"math"
	"testing"
)

func TestArgumentWords(t *testing.T) {
	for want, v := range map[string]any{
		"":            nil,
		"hello":       "hello",
		"vip, new":    []any{"vip", "new"},
		"a 1, b x, y": map[string]any{"b": []any{"x", "y"}, "a": 1}, // by their names
		"true":        true,
		"+Inf":        math.Inf(1), // JSON has no word for it
	} {
		if got := ArgumentWords(v); got != want {
			t.Errorf("%v: %q, not %q", v, got, want)
		}
	}
}
