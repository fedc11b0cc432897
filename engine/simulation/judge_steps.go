package simulation

import (
	"encoding/json"
	"fmt"
	"strings"
)

// overtaken finds steps that failed because somebody else had changed the card meanwhile. The card
// is read again then, and the change applied to what it is now.
func overtaken(_ *Scenario, o *Outcome) (broken []string) {
	for line := range strings.Lines(o.Journal) {
		var r struct {
			Run   string
			Steps []struct{ Path, Verb, State, Error string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return []string{err.Error()}
		}
		for _, s := range r.Steps {
			if s.State == "failed" && strings.Contains(s.Error, "version_conflict") {
				broken = append(broken, fmt.Sprintf("%s %s of %s: %s", s.Verb, s.Path, r.Run, s.Error))
			}
		}
	}
	return broken
}
