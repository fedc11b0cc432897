package ruletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/service/sandbox"
)

// step runs one step of the story: it advances the clock, acts, and then checks the effects.
func (t *storyRun) step(ctx context.Context, s rules.TestStep) error {
	if text, ok := s.Fields["at"].(string); ok {
		until, err := moment(text, t.now())
		if err != nil {
			return failed(s.Line, "at: %v", err)
		}
		if err := t.advance(ctx, until); err != nil {
			return err
		}
	}
	if somebodyActs(s.Fields) && t.asked() {
		if err := t.advance(ctx, t.now().Add(time.Millisecond)); err != nil {
			return err
		}
	}
	if err := t.happen(ctx, s.Fields); err != nil {
		return failed(s.Line, "%v", err)
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	if s.Expects {
		if err := t.expect(s); err != nil {
			return err
		}
	}
	if s.ExpectsWould {
		return t.expectWould(ctx, s)
	}
	return nil
}

// somebodyActs reports whether a customer, the team or another system acts in a step.
func somebodyActs(fields map[string]any) bool {
	return fields["customer"] != nil || fields["team"] != nil || fields["event"] != nil
}

// asked reports whether the rules have just sent a message. The next action then comes a
// millisecond later: at the same instant it would not count as an answer.
func (t *storyRun) asked() bool {
	for _, e := range slices.Backward(t.service.Effects()) {
		if e.At.Time().Before(t.service.Now()) {
			return false
		}
		if e.Kind == "message" {
			return true
		}
	}
	return false
}

// moment returns the time of a step's at: a time, the next such time of day, or an offset.
func moment(text string, now time.Time) (time.Time, error) {
	if later, ok := strings.CutPrefix(text, "+"); ok {
		d, err := duration.Parse(later)
		return now.Add(d), err
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		if at.Before(now.Truncate(time.Second)) {
			return at, fmt.Errorf("%s is over: it is %s already", text, now.Format(time.RFC3339))
		}
		if at.Before(now) {
			return now, nil // what follows a message of the same second comes a moment after it
		}
		return at, nil
	}
	day, clock, ok := strings.Cut(text, " ")
	if !ok {
		day, clock = "daily", text
	}
	days, err := calendar.ParseDays(day)
	if err != nil {
		return now, err
	}
	of, err := calendar.ParseTimeOfDay(clock)
	if err != nil {
		return now, err
	}
	for i := range 8 {
		y, m, d := now.Date()
		at := time.Date(y, m, d+i, int(of/time.Hour), int(of%time.Hour/time.Minute), 0, 0, now.Location())
		for _, fits := range days {
			if at.Weekday() == fits && !at.Before(now) {
				return at, nil
			}
		}
	}
	return now, fmt.Errorf("%q is not a moment", text)
}

// happen carries out an action whose delivery may be delayed.
func (t *storyRun) happen(ctx context.Context, fields map[string]any) error {
	text, ok := fields["late"].(string)
	if !ok {
		return t.act(ctx, fields)
	}
	by, err := duration.Parse(text)
	if err != nil {
		return fmt.Errorf("late: %w", err)
	}
	t.network.delay(by)
	defer t.network.delay(0)
	if err := t.act(ctx, fields); err != nil {
		return err
	}
	return t.service.Settle(ctx) // in-flight deliveries are those of this step
}

// act carries out an action of a customer or the team.
func (t *storyRun) act(ctx context.Context, fields map[string]any) error {
	text := func(name string) string { s, _ := fields[name].(string); return s }
	has := func(name string) bool { _, ok := fields[name]; return ok }
	var err error
	switch {
	case has("customer"):
		_, err = t.service.CustomerMessage(sandbox.CustomerMessage{Name: text("customer"), Text: text("says"), File: text("sends")})
		if name := text("customer"); err != nil && readCompany(t.service).contact(name) == nil {
			err = fmt.Errorf("there is no contact %q: list it in given, as in contacts: [{ name: %s, phone: \"+5511988887777\" }]", name, name)
		}
	case has("team") && (has("says") || has("sends")):
		_, err = t.service.TeamMessage(sandbox.TeamMessage{Person: text("team"), Conversation: text("to"), Text: text("says"), File: text("sends")})
	case has("team") && has("closes"):
		_, err = t.service.TeamClose(sandbox.TeamClose{Person: text("team"), Conversation: text("closes")})
		err = t.missing(err, text("closes"))
	case has("team") && has("moves"):
		_, err = t.service.MoveCard(sandbox.MoveCard{Person: text("team"), Card: text("moves"), Stage: text("to")})
	case has("team") && has("takes"):
		_, err = t.service.TeamTransfer(sandbox.TeamTransfer{Person: text("team"), To: text("team"), Conversation: text("takes")})
		err = t.missing(err, text("takes"))
	case has("team") && has("labels"):
		m := sandbox.TeamLabels{Person: text("team"), Conversation: text("of")}
		list, _ := fields["labels"].([]any)
		for _, label := range list {
			m.Labels = append(m.Labels, fmt.Sprint(label))
		}
		_, err = t.service.TeamLabels(m)
		err = t.missing(err, text("of"))
	case has("team") && has("mutes"):
		err = t.mute(ctx, text("mutes"), text("for"), false)
	case has("team") && has("unmutes"):
		err = t.mute(ctx, text("unmutes"), "", true)
	}
	if err == nil && has("event") {
		err = t.raise(text("event"), text("contact"), fields["data"])
	}
	if fault, ok := fields["fault"].(map[string]any); ok && err == nil {
		err = t.fault(fault)
	}
	if answer, ok := fields["answer"].(map[string]any); ok && err == nil {
		err = t.outside.answer(answer)
	}
	return err
}

// mute mutes or unmutes the conversation of a customer, as a person does in the console.
func (t *storyRun) mute(ctx context.Context, customer, length string, off bool) error {
	c := readCompany(t.service)
	contact := c.contact(customer)
	if contact == nil {
		return fmt.Errorf("there is no contact %q: list it in given", customer)
	}
	conversation := c.last("conversations", "contact_id", contact["id"])
	if conversation == nil {
		return fmt.Errorf("there is no conversation with %s yet: let the customer write first, or list it in given: conversations: [{ contact: %s }]", customer, customer)
	}
	m := journal.Mute{Workspace: workspace, Lane: actions.ConversationLane(text(conversation["id"])), Since: t.now()}
	if length != "" {
		d, err := duration.Parse(length)
		if err != nil {
			return fmt.Errorf("for: %w", err)
		}
		m.Until = t.now().Add(d)
	}
	return t.process.journal.Mute(ctx, journal.MuteChange{Mute: m, Off: off})
}

// missing says of an error what a story lacks: the conversation of a customer who has none yet, or
// something that nobody has listed.
func (t *storyRun) missing(err error, customer string) error {
	refusal, ok := errors.AsType[*sandbox.Error](err)
	if !ok || refusal.Code != "not_found" {
		return err
	}
	c := readCompany(t.service)
	if contact := c.contact(customer); contact != nil && c.last("conversations", "contact_id", contact["id"]) == nil {
		return fmt.Errorf("there is no conversation with %s yet: let the customer write first, or list it in given: conversations: [{ contact: %s }]", customer, customer)
	}
	return fmt.Errorf("%w: list in given what the rules do not name", err)
}

// fault makes the service fail from here on.
func (t *storyRun) fault(fields map[string]any) error {
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("fault: %w", err)
	}
	var f sandbox.Fault
	if err := json.Unmarshal(raw, &f); err != nil {
		return fmt.Errorf("fault: %w", err)
	}
	return t.service.AddFault(f)
}

// raise raises a bare event. About a contact it carries what the service has of that contact; data
// is put over it.
func (t *storyRun) raise(event, contact string, data any) error {
	carried := map[string]any{}
	if contact != "" {
		var err error
		if carried, err = readCompany(t.service).about(event, contact); err != nil {
			return err
		}
	}
	if more, ok := data.(map[string]any); ok {
		maps.Copy(carried, more)
	}
	raw, err := json.Marshal(carried)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	_, err = t.service.Raise(event, raw)
	return err
}
