package console

import "testing"

// Every page parses in every language: they are parsed on first use.
func TestTemplates(t *testing.T) {
	for code, set := range allTemplates() {
		for name, read := range set.all {
			if _, err := read(); err != nil {
				t.Errorf("%s in %s: %v", name, code, err)
			}
		}
	}
}
