package builtin_test

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/actions"
)

func TestWhatIsAlreadySoMakesNoCall(t *testing.T) {
	d := newDesk(t)
	d.do("add_labels", m{"labels": []any{"vip"}})
	d.do("update_conversation", m{"pinned": true})
	before := len(d.Effects())
	for verb, args := range map[string]m{
		"add_labels":          {"labels": []any{"VIP"}},
		"remove_labels":       {"labels": []any{"after-hours"}},
		"set_labels":          {"labels": []any{"vip"}},
		"update_conversation": {"pinned": true, "name": "Ana Lima"},
		"set_sector":          {"sector": nil},
		"move_card":           {"to": "Proposal", "only_from": []any{"Lead"}},
		"update_card":         {"title": "Ana's order", "due": nil},
		"update_contact":      {"name": "Ana Lima", "blocked": false},
		"create_contact":      {"name": "Other", "phone": "(11) 98888-7777"},
		"open_conversation":   {"phone": ana, "channel": "Main"},
	} {
		run := d.drive(verb, d.step(args))
		run.step.Key += "/again"
		r, err := run.run()
		if err != nil || r.Outcome != actions.Done || !strings.Contains(r.Why.String(), "already") || len(run.intents) > 0 {
			t.Errorf("%s: %+v, %v, %d intents", verb, r, err, len(run.intents))
		}
	}
	if n := len(d.Effects()); n != before {
		t.Errorf("%d effects more", n-before)
	}
}

func TestUnknownNamesFailForGoodWithNearOnes(t *testing.T) {
	d := newDesk(t)
	for verb, args := range map[string]m{
		"transfer":          {"sector": "Supervisor"},
		"add_labels":        {"labels": []any{"vipp"}},
		"move_card":         {"to": "Folow-up"},
		"open_conversation": {"phone": nobody, "channel": "Mains"},
		"create_card":       {"board": "Sale", "title": "x"},
	} {
		_, err := d.drive(verb, d.step(args)).run()
		if !actions.IsPermanent(err) || !strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// TestEmptyArgumentsFailForGood shows that an argument whose expression gave nil does not widen
// what a step does.
func TestEmptyArgumentsFailForGood(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		verb string
		args m
	}{
		{"send_message", m{"text": nil}}, {"send_message", m{"text": "x", "to": nil}}, {"send_message", m{"text": "x", "to": m{"phone": nil, "channel": "Main"}}},
		{"transfer", m{"person": nil, "sector": "Sales"}}, {"find_card", m{"board": "Sales", "q": nil}}, {"find_card", m{"board": nil, "q": "x"}},
		{"move_card", m{"card": nil, "to": "Won"}}, {"move_card", m{"to": "Won", "only_from": nil}}, {"update_contact", m{"contact": nil, "city": "x"}},
		{"send_message", m{"media": "../secret"}}, {"send_message", m{"media": "missing.pdf"}}, {"send_message", m{"media": "."}},
	} {
		if r, err := d.drive(c.verb, d.step(c.args)).run(); !actions.IsPermanent(err) {
			t.Errorf("%s %v: %+v, %v", c.verb, c.args, r, err)
		}
	}
	if n := len(d.Effects()); n > 0 {
		t.Errorf("%d effects", n)
	}
}
