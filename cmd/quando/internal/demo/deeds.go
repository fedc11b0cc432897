package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
)

// A deed is one thing that a run did: to whom, and what. Quoted words of a message may be cut
// shorter than the rest.
type deed struct {
	who, what string
	quoted    bool
}

// A call is what a step sent to the service, or would have sent.
type call struct {
	Call    string         `json:"call"`
	Request map[string]any `json:"request"`
}

// deeds says what a step did. Steps that only look or think have done nothing.
func (t *teller) deeds(r *journal.Run, s *journal.Step) []deed {
	var record struct {
		Sent   []call `json:"sent"`
		Intent *call  `json:"intent"`
		Value  any    `json:"value"`
	}
	if json.Unmarshal(s.Record, &record) != nil {
		return nil
	}
	t.learn(record.Value)
	calls := record.Sent
	if s.State == journal.StepWould && record.Intent != nil {
		calls = append(calls, *record.Intent)
	}
	var out []deed
	for _, c := range calls {
		if s.State != journal.StepWould {
			t.totals.add(c)
		}
		if d := t.deed(r, c); d.what != "" {
			out = append(out, d)
		}
	}
	return out
}

// deed says what a call does.
func (t *teller) deed(r *journal.Run, c call) deed {
	who := t.about(r)
	if id := c.Request["conversation"]; id != nil {
		who = t.name(id)
	}
	in := func(names ...string) any {
		var value any = c.Request
		for _, name := range names {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		return value
	}
	switch c.Call {
	case "send":
		return deed{who, cli.Harmless(fmt.Sprint(in("message", "text"))), true}
	case "transfer":
		return deed{who: who, what: "transferred to " + t.target(in("to", "user_id"), in("to", "sector_id"))}
	case "set_sector":
		return deed{who: who, what: "sent to the sector " + t.name(in("sector"))}
	case "patch_conversation":
		return deed{who: who, what: t.labels(in("labels", "add"), in("labels", "remove"))}
	case "close":
		return deed{who: who, what: "closed the attendance"}
	case "create_card":
		return deed{who: who, what: fmt.Sprintf("new card “%s” in %s", cli.Harmless(fmt.Sprint(in("card", "title"))), t.name(in("card", "stage_id")))}
	case "move_card":
		return deed{who: who, what: fmt.Sprintf("moved card “%s” to %s", t.name(in("card")), t.name(in("stage")))}
	case "patch_card":
		return deed{who: who, what: t.cardPatch(in("patch"))}
	case "open", "upload", "mark_read":
		return deed{} // what follows from it is told
	}
	return deed{who: who, what: strings.ReplaceAll(c.Call, "_", " ")}
}

// about names whom a run is about.
func (t *teller) about(r *journal.Run) string {
	for _, id := range []string{r.About.Contact, r.About.Conversation, r.About.Card} {
		if t.names[id] != "" {
			return t.name(id)
		}
	}
	return "somebody"
}

// target names where a conversation is transferred to.
func (t *teller) target(person, sector any) string {
	switch {
	case person == nil:
		return t.name(sector)
	case sector == nil:
		return t.name(person)
	}
	return fmt.Sprintf("%s (%s)", t.name(person), t.name(sector))
}

func (t *teller) labels(added, removed any) string {
	var out []string
	for _, change := range []struct {
		words string
		ids   any
	}{{"label ", added}, {"no more label ", removed}} {
		for _, id := range cli.Parts(change.ids) {
			out = append(out, change.words+t.name(id))
		}
	}
	return strings.Join(out, ", ")
}

func (t *teller) cardPatch(patch any) string {
	fields, _ := patch.(map[string]any)
	var out []string
	if due, err := time.Parse(time.RFC3339, fmt.Sprint(fields["due_date"])); err == nil {
		out = append(out, "due "+due.In(t.zone).Format("2 Jan"))
	}
	if priority, ok := fields["priority"].(string); ok {
		out = append(out, "card priority "+cli.Harmless(priority))
	}
	return strings.Join(out, ", ")
}

// waits says what a run waits for, and until when.
func (t *teller) waits(at time.Time, r *journal.Run, s *journal.Step) string {
	wake := r.WakeAt.In(t.zone)
	until := wake.Format("15:04")
	if wake.YearDay() != at.In(t.zone).YearDay() {
		until = wake.Format("Mon 15:04")
	}
	rule := t.rules.Rule(r.Rule)
	for step := range rule.Steps() {
		switch {
		case step.Path != s.Path:
		case step.Verb == "wait_for":
			return fmt.Sprintf("waits for %s to answer, until %s", t.about(r), until)
		case step.Span != (duration.Span{}):
			return fmt.Sprintf("%s: waits %s, until %s", t.about(r), step.Span, until)
		}
	}
	return fmt.Sprintf("%s: waits until %s", t.about(r), until)
}

// sentence joins deeds into one line of a width: Marina: “Olá …”, label after-hours. Who it is
// about is said once.
func sentence(deeds []deed, columns int) string {
	deeds = together(deeds)
	fixed, quotes := 0, 0
	for i, d := range deeds {
		if i == 0 || d.who != deeds[i-1].who {
			fixed += cli.Width(d.who) + 2
		}
		fixed += 2
		if d.quoted {
			quotes++
			fixed += 3
		} else {
			fixed += cli.Width(d.what)
		}
	}
	room := 0
	if quotes > 0 {
		room = max(20, (columns-fixed)/quotes)
	}
	var b strings.Builder
	for i, d := range deeds {
		switch {
		case i == 0:
			b.WriteString(d.who + ": ")
		case d.who != deeds[i-1].who:
			b.WriteString("; " + d.who + ": ")
		default:
			b.WriteString(", ")
		}
		if d.quoted {
			b.WriteString("“" + cli.Truncate(d.what, room) + "”")
		} else {
			b.WriteString(d.what)
		}
	}
	return cli.Truncate(b.String(), columns)
}

// together joins those to whom the same was done.
func together(deeds []deed) []deed {
	var out []deed
	for _, d := range deeds {
		if i := len(out) - 1; i >= 0 && out[i].what == d.what && out[i].who != d.who {
			out[i].who += ", " + d.who
			continue
		}
		out = append(out, d)
	}
	return out
}
