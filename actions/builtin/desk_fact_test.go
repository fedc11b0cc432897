package builtin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// TestFactsAreFound begins with the least that an event may carry, and asks for everything that can
// be found from there.
func TestFactsAreFound(t *testing.T) {
	d := newDesk(t)
	written := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "one more"}))
	all := actions.Subject{Conversation: d.conversation, Contact: d.contact, Attendance: d.attendance}
	withMessage, withCard := all, all
	withMessage.Message, withCard.Card = written.Message.String(), d.card
	for _, c := range []struct {
		name  string
		about actions.Subject
		want  map[string]string // the ids of facts; empty means none
		end   actions.Subject
	}{
		{"a conversation", actions.Subject{Conversation: d.conversation},
			map[string]string{"conversation": d.conversation, "contact": d.contact, "attendance": d.attendance, "card": "", "message": ""}, all},
		{"an attendance", actions.Subject{Attendance: d.attendance}, map[string]string{"attendance": d.attendance, "conversation": d.conversation, "contact": d.contact}, all},
		{"a message", actions.Subject{Message: written.Message.String()},
			map[string]string{"message": written.Message.String(), "conversation": d.conversation, "contact": d.contact, "attendance": d.attendance}, withMessage},
		{"a card", actions.Subject{Card: d.card}, map[string]string{"card": d.card, "conversation": d.conversation, "contact": d.contact, "attendance": d.attendance}, withCard},
		{"a contact", actions.Subject{Contact: d.contact}, map[string]string{"contact": d.contact, "conversation": "", "attendance": ""}, actions.Subject{Contact: d.contact}},
		{"nothing", actions.Subject{}, map[string]string{"message": "", "conversation": "", "contact": "", "attendance": "", "card": ""}, actions.Subject{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			together := c.about
			for name, id := range c.want {
				alone := c.about
				for _, about := range []*actions.Subject{&alone, &together} {
					fact, err := d.tells.Fact(t.Context(), name, about)
					if err != nil {
						t.Fatal(err)
					}
					if id == "" {
						if fact != nil {
							t.Errorf("%s: %v, want none", name, fact)
						}
						continue
					}
					fits(t, name, factTypes[name], fact)
					if got := fact.(m)["id"]; got != id {
						t.Errorf("%s: %v, want %s", name, got, id)
					}
				}
			}
			if diff := cmp.Diff(c.end, together); diff != "" {
				t.Errorf("what was learnt (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAttendanceOfARun shows that a run keeps its attendance, even if the customer's next one has
// begun.
func TestAttendanceOfARun(t *testing.T) {
	d := newDesk(t)
	about := actions.Subject{Conversation: d.conversation}
	if _, err := d.tells.Fact(t.Context(), "attendance", &about); err != nil || about.Attendance != d.attendance {
		t.Fatalf("%+v, %v", about, err)
	}
	must(d.TeamClose(sandbox.TeamClose{Conversation: d.conversation, Person: "Bruno"}))
	next := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "and another thing"}))
	if next.Attendance.String() == d.attendance {
		t.Fatal("no new attendance was opened")
	}
	if fact, err := d.tells.Fact(t.Context(), "attendance", &about); err != nil || fact.(m)["status"] != "closed" {
		t.Errorf("%v, %v", fact, err)
	}
	// A card without a conversation has none of these facts.
	card := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Nobody's order"}))
	about = actions.Subject{Card: card.ID.String()}
	for _, name := range []string{"attendance", "conversation", "contact"} {
		if fact, err := d.tells.Fact(t.Context(), name, &about); fact != nil || err != nil {
			t.Errorf("%s of a card without one: %v, %v", name, fact, err)
		}
	}
}

func TestFactsThatAreGone(t *testing.T) {
	d := newDesk(t)
	const gone = "00000000-0000-4000-8000-000000000000"
	for name, about := range map[string]actions.Subject{
		"message": {Message: gone}, "conversation": {Conversation: gone}, "contact": {Contact: gone}, "attendance": {Attendance: gone}, "card": {Card: gone},
	} {
		_, err := d.tells.Fact(t.Context(), name, &about)
		if !actions.IsPermanent(err) || !strings.HasPrefix(err.Error(), "the "+name+" "+gone+" is not there any more, or the key may not see it: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	about := actions.Subject{Conversation: gone}
	for _, name := range []string{"attendance", "contact"} {
		if _, err := d.tells.Fact(t.Context(), name, &about); !actions.IsPermanent(err) || !strings.HasPrefix(err.Error(), "the conversation "+gone) {
			t.Errorf("the %s of a conversation that is gone: %v", name, err)
		}
	}
	if _, err := d.tells.HumanActive(t.Context(), gone, friday); !actions.IsPermanent(err) || !strings.HasPrefix(err.Error(), "the conversation "+gone) {
		t.Errorf("human_active: %v", err)
	}
	if _, err := d.tells.Fact(t.Context(), "weather", &about); !actions.IsPermanent(err) {
		t.Errorf("an unknown fact: %v", err)
	}
}

// TestMarksOfADesk shows that every question marks errors as the verbs do.
func TestMarksOfADesk(t *testing.T) {
	for status, marked := range map[int]func(error) bool{
		http.StatusUnauthorized:       actions.IsHeld,
		http.StatusForbidden:          actions.IsDenied,
		http.StatusTooManyRequests:    func(err error) bool { return actions.Wait(err) == 30*time.Second },
		http.StatusServiceUnavailable: func(err error) bool { return actions.StepWait(err) == 30*time.Second && !actions.IsUncertain(err) },
		http.StatusBadRequest:         actions.IsPermanent,
	} {
		d := newDesk(t)
		about := actions.Subject{Conversation: d.conversation, Contact: d.contact}
		for name, ask := range map[string]func() error{
			"fact":          func() error { _, err := d.tells.Fact(t.Context(), "conversation", &about); return err },
			"attendance":    func() error { _, err := d.tells.Fact(t.Context(), "attendance", &about); return err },
			"human_active":  func() error { _, err := d.tells.HumanActive(t.Context(), d.conversation, friday); return err },
			"waiting_since": func() error { _, err := d.tells.WaitingSince(t.Context(), d.conversation); return err },
			"has_label":     func() error { _, err := d.tells.HasLabel(t.Context(), m{"label_ids": []any{"x"}}, "vip"); return err },
			"probe":         func() error { return d.tells.Probe(t.Context()) },
			"items": func() error {
				for _, err := range d.tells.Items(t.Context(), "contacts", nil) {
					return err
				}
				return nil
			},
		} {
			d.clock.Advance(time.Minute) // past the last pause
			d.faults.fail(1, "status_before", status)
			if err := ask(); err == nil || !marked(err) {
				t.Errorf("%s, %d: %v", name, status, err)
			}
		}
	}
}

func TestProbe(t *testing.T) {
	d := newDesk(t)
	if err := d.tells.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	client := must(service.New(service.Options{BaseURL: d.base, APIKey: "revoked"}))
	if err := must(builtin.NewDesk(builtin.Options{Client: client})).Probe(t.Context()); !actions.IsHeld(err) {
		t.Errorf("a key that does not work: %v", err)
	}
}

func TestHasLabel(t *testing.T) {
	d := newDesk(t)
	d.do("add_labels", m{"labels": []any{"vip"}})
	about := actions.Subject{Conversation: d.conversation}
	conversation := must(d.tells.Fact(t.Context(), "conversation", &about)).(m)
	for label, want := range map[string]bool{"vip": true, " VIP ": true, "after-hours": false, d.id(service.KindLabel, "vip"): true, d.id(service.KindLabel, "after-hours"): false} {
		if got, err := d.tells.HasLabel(t.Context(), conversation, label); got != want || err != nil {
			t.Errorf("%q: %v, %v", label, got, err)
		}
	}
	if got, err := d.tells.HasLabel(t.Context(), nil, "vip"); got || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	if got, err := d.tells.HasLabel(t.Context(), m{"label_ids": []any{"7"}}, "7"); !got || err != nil {
		t.Errorf("by an id that is no UUID: %v, %v", got, err)
	}
	if _, err := d.tells.HasLabel(t.Context(), conversation, "vpi"); !actions.IsPermanent(err) || !strings.Contains(err.Error(), "did you mean vip?") {
		t.Errorf("a label that is not there: %v", err)
	}
	// The names leave out what has none.
	some := m{"label_ids": []any{d.id(service.KindLabel, "vip"), "unknown", d.id(service.KindLabel, "after-hours")}}
	if diff := cmp.Diff([]any{"vip", "after-hours"}, must(d.tells.LabelNames(t.Context(), some))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{}, must(d.tells.LabelNames(t.Context(), nil))); diff != "" {
		t.Error(diff)
	}
}

// TestMissingNames shows that a name that the service does not have is nil, and never empty.
func TestMissingNames(t *testing.T) {
	facts := builtin.NewFacts(service.NewOfflineDirectory(service.Snapshot{}), nil)
	for what, fact := range map[string]m{
		"conversation": must(facts.Conversation(t.Context(), service.Conversation{ChannelID: "x", AssigneeID: "x", SectorID: "x"})),
		"contact":      facts.Contact(service.Contact{}),
		"attendance":   must(facts.Attendance(t.Context(), service.Attendance{AssigneeID: "x", SectorID: "x", Assignee: &service.Person{ID: "x"}})),
		"card":         must(facts.MovedCard(t.Context(), service.Card{BoardID: "x", StageID: "x"}, "x", "x")),
		"row":          facts.Report(service.Report{ByPerson: []service.ReportRow{{ID: "x"}}})["by_person"].([]any)[0].(m),
	} {
		for name, v := range fact {
			if (strings.HasSuffix(name, "name") || name == "company" || name == "city") && v != nil {
				t.Errorf("%s of the %s is %q", name, what, v)
			}
		}
	}
}
