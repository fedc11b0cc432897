package console

import "testing"

// Every page can be read in every language: that is found out when somebody wants to see it.
func TestTemplates(t *testing.T) {
	for code, set := range allTemplates() {
		for name, read := range set.all {
			if _, err := read(); err != nil {
				t.Errorf("%s in %s: %v", name, code, err)
			}
		}
	}
}
