package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pastItsTime finds runs that were decided on when their event was older than the rule allows, or
// was a tick long past, or one that a later tick had followed.
func pastItsTime(s *Scenario, o *Outcome) (broken []string) {
	if slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroubleJump }) {
		return nil // how old an event is is told by the engine's clock
	}
	type record struct {
		Event, Type, Run string
		At, Heard, Began time.Time
	}
	var events []record
	began := map[string]time.Time{} // when each run was decided on
	for line := range strings.Lines(o.Journal) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return []string{err.Error()}
		}
		if r.Event != "" {
			events = append(events, r)
		}
		if r.Run != "" {
			began[r.Run] = r.Began
		}
	}
	for _, r := range s.steady() {
		for _, e := range events {
			run := workspace + "/" + e.Event // of a tick
			if e.Type != "schedule" {
				run = workspace + "/" + r.ID + "/" + e.Event
			} else if !strings.HasPrefix(e.Event, r.ID+"/") || r.When.Each != "" || r.Late.Run == "all" {
				continue
			}
			at, ran := began[run]
			if !ran {
				continue
			}
			age := at.Sub(e.At)
			switch {
			case e.Type != "schedule":
				if most := r.oldest(); most > 0 && age > most && r.Gather == nil {
					broken = append(broken, fmt.Sprintf("%s began at %s on %s of %s", r.ID, clock(at), e.Type, clock(e.At)))
				}
			case r.Late.Run == "none":
				if age > time.Minute {
					broken = append(broken, fmt.Sprintf("%s began at %s for its tick of %s", r.ID, clock(at), clock(e.At)))
				}
			default:
				for _, later := range events {
					if strings.HasPrefix(later.Event, r.ID+"/") && later.At.After(e.At) && later.Heard.Before(at) {
						broken = append(broken, fmt.Sprintf("%s began at %s for its tick of %s, though that of %s had been told", r.ID, clock(at), clock(e.At), clock(later.At)))
					}
				}
			}
		}
	}
	return broken
}

// oldest is how old an event may be that starts the rule; 0 is any age.
func (rule *Rule) oldest() time.Duration {
	message := func(event string) bool { return strings.HasPrefix(event, "message.") }
	if rule.Late.SkipAfter == 0 && slices.ContainsFunc(rule.When.Events, message) {
		return 30 * time.Minute
	}
	return max(rule.Late.SkipAfter, 0)
}
