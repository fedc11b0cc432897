package builtin_test

import (
	"context"
	"slices"
	"testing"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

func TestContactThatAPersonRenamedStays(t *testing.T) {
	d := newDesk(t)
	r, _ := d.meanwhile("update_contact", m{"city": "Campinas"}, sandbox.Fault{Operation: "PATCH /contacts/{id}", Kind: "status_before"}, func() {
		must(d.client.UpdateContact(context.Background(), d.contact, service.ContactPatch{City: service.Set("Santos")}))
	})
	wantOutcome(t, r, actions.Superseded, "somebody else")
	if got := must(d.client.GetContact(context.Background(), d.contact)); got.City != "Santos" {
		t.Errorf("%+v", got)
	}
}

func TestContactLabelsOfOthersAreKept(t *testing.T) {
	d := newDesk(t)
	vip, late := d.id(service.KindLabel, "vip"), d.id(service.KindLabel, "sla-breach")
	r, _ := d.meanwhile("update_contact", m{"add_labels": []any{"vip"}}, sandbox.Fault{Operation: "PATCH /contacts/{id}", Kind: "status_before"}, func() {
		must(d.client.UpdateContact(context.Background(), d.contact, service.ContactPatch{LabelIDs: service.Set([]string{late})}))
	})
	wantOutcome(t, r, actions.Done, "")
	if got := must(d.client.GetContact(context.Background(), d.contact)).LabelIDs; !slices.Contains(got, vip) || !slices.Contains(got, late) {
		t.Errorf("labels %v, want both", got)
	}
}

// TestContactThatSomebodyElseHasJustAdded adds the same phone, as another client, between the
// lookup and the call.
func TestContactThatSomebodyElseHasJustAdded(t *testing.T) {
	d := newDesk(t)
	d.before("POST", "/contacts", func() {
		must(d.client.CreateContact(context.Background(), service.NewContact{Name: "Rui, added by hand", Phone: nobody}))
	})
	r := d.do("create_contact", m{"name": "Rui", "phone": nobody})
	wantOutcome(t, r, actions.Done, "")
	if r.Value.(m)["name"] != "Rui, added by hand" {
		t.Errorf("%v", r.Value)
	}
}

// TestContactThatIsThereGetsLabels shows that an existing contact keeps its fields, and still gets
// the labels.
func TestContactThatIsThereGetsLabels(t *testing.T) {
	d := newDesk(t)
	r := d.do("create_contact", m{"name": "Other", "phone": ana, "city": "Santos", "add_labels": []any{"vip"}})
	fact := r.Value.(m)
	if fact["name"] != "Ana Lima" || fact["city"] != nil || len(fact["label_ids"].([]any)) != 1 {
		t.Errorf("%v", fact)
	}
	d.wantEffects("POST /contacts", 0)
}
