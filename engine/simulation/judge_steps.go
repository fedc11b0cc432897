package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
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

// movedAgain finds moves of a card that were tried again after a person had moved it.
func movedAgain(_ *Scenario, o *Outcome) (broken []string) {
	since := map[string]time.Time{}
	for _, c := range o.Calls {
		step := c.Step + " " + c.Path
		if at, overtaken := since[step]; overtaken {
			broken = append(broken, fmt.Sprintf("%s of %s at %s, though a person had moved the card at %s", c.Path, c.Step, clock(c.At), clock(at)))
		}
		if c.Overtaken {
			since[step] = c.At
		}
	}
	return broken
}

// underWay is how long a call may be under way: the timeout of a workspace, unless configured.
const underWay = 10 * time.Second

// tooSoon finds steps that called again while an earlier call of theirs may still have been under
// way: after its connection broke, what became of it is not known until its timeout is over.
func tooSoon(s *Scenario, o *Outcome) (broken []string) {
	if slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroubleJump }) {
		return nil // the timeout is one of the engine's clock
	}
	cut := map[string]time.Time{}
	for _, c := range o.Calls {
		if at, ok := cut[c.Step]; ok && c.Step != "" && c.At.Sub(at) < underWay {
			broken = append(broken, fmt.Sprintf("%s %s of %s at %s, though a call of the step may have been under way since %s", c.Method, c.Path, c.Step, clock(c.At), clock(at)))
		}
		if c.Cut {
			cut[c.Step] = c.At
		}
	}
	return broken
}

// keyAgain finds calls with the Idempotency-Key of another call. A key belongs to one call and its
// repeats.
func keyAgain(_ *Scenario, o *Outcome) (broken []string) {
	first := map[string]*Call{}
	for i := range o.Calls {
		c := &o.Calls[i]
		if c.Key == "" {
			continue
		}
		before := first[c.Key]
		if before == nil {
			first[c.Key] = c
			continue
		}
		if c.Path != before.Path || c.Body != before.Body {
			broken = append(broken, fmt.Sprintf("%s %s of %s at %s has the Idempotency-Key of %s %s at %s, and says something else: %s, before that %s",
				c.Method, c.Path, c.Step, clock(c.At), before.Method, before.Path, clock(before.At), c.Body, before.Body))
		}
	}
	return broken
}
