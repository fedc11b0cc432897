package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pastItsTime finds runs that began although their event was older than the rule allows, or was a tick
// that came with a later one, or long after its time.
func pastItsTime(s *Scenario, o *Outcome) (broken []string) {
	if slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroubleJump }) {
		return nil // how old an event is is told by the engine's clock
	}
	type record struct {
		Event, Type, Run string
		At, Heard        time.Time
	}
	var events []record
	ran := map[string]bool{}
	for line := range strings.Lines(o.Journal) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return []string{err.Error()}
		}
		if r.Event != "" {
			events = append(events, r)
		}
		ran[r.Run] = true
	}
	for _, r := range s.steady() {
		for _, e := range events {
			age := e.Heard.Sub(e.At)
			switch {
			case e.Type != "schedule":
				if most := r.oldest(); most > 0 && age > most && r.Gather == nil && ran[workspace+"/"+r.ID+"/"+e.Event] {
					broken = append(broken, fmt.Sprintf("%s ran on %s of %s, heard at %s", r.ID, e.Type, clock(e.At), clock(e.Heard)))
				}
			case !ran[workspace+"/"+e.Event] || !strings.HasPrefix(e.Event, r.ID+"/") || r.When.Each != "" || r.Late.Run == "all":
			case r.Late.Run == "none":
				if age > time.Minute {
					broken = append(broken, fmt.Sprintf("%s ran for its tick of %s, told at %s", r.ID, clock(e.At), clock(e.Heard)))
				}
			default:
				for _, later := range events {
					if strings.HasPrefix(later.Event, r.ID+"/") && later.At.After(e.At) && !later.Heard.After(e.Heard) {
						broken = append(broken, fmt.Sprintf("%s ran for its tick of %s, which was told with that of %s", r.ID, clock(e.At), clock(later.At)))
					}
				}
			}
		}
	}
	return broken
}

// oldest is how old an event may be that starts the rule; 0 is any age.
func (r *Rule) oldest() time.Duration {
	message := func(event string) bool { return strings.HasPrefix(event, "message.") }
	if r.Late.SkipAfter == 0 && slices.ContainsFunc(r.When.Events, message) {
		return 30 * time.Minute
	}
	return max(r.Late.SkipAfter, 0)
}
