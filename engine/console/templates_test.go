package console

import (
	"testing"
	"time"
)

// Every page parses in every language: they are parsed on first use.
func TestTemplates(t *testing.T) {
	for code, set := range allTemplates(time.Now) {
		for name, read := range set.all {
			if _, err := read(); err != nil {
				t.Errorf("%s in %s: %v", name, code, err)
			}
		}
	}
}
