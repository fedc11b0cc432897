package source

import "testing"

// TestFlow writes texts that JSON takes as they are, and YAML does not: they read back as the same.
func TestFlow(t *testing.T) {
	for _, text := range []string{`"\x7f"`, `"\x85"`, `"\ufffe"`, `"\ufeffa"`, `"\u2028"`, `"\0"`, "'<&>'", "01", "1.10", "~", "[a, {b: c}]"} {
		n, err := ParseValue(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseValue(n.Flow())
		if err != nil || !Same(n, again) {
			t.Errorf("%s became %s: %v", text, n.Flow(), err)
		}
	}
}
