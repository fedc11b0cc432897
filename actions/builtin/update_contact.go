package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var updateContact = rules.Schema{
	Verb: "update_contact", Group: "contacts", Summary: "Change the contact",
	Args: []rules.Arg{
		{Name: "contact", Kind: rules.KindText, Summary: "another contact's id"},
		{Name: "name", Kind: rules.KindText, Summary: "the name"},
		{Name: "company", Kind: rules.KindText, Summary: "the company"},
		{Name: "city", Kind: rules.KindText, Summary: "the city"},
		{Name: "add_labels", Kind: rules.KindNames, Refers: "label", Summary: "labels to add"},
		{Name: "remove_labels", Kind: rules.KindNames, Refers: "label", Summary: "labels to take off"},
		{Name: "blocked", Kind: rules.KindFlag, Summary: "whether the contact is blocked"},
	},
	OneOf: []string{"name", "company", "city", "add_labels", "remove_labels", "blocked"},
	Needs: "contact", Unless: []string{"contact"},
	Result: rules.ContactType, Gives: "contact",
	Scopes:  []string{"contacts:write"},
	Reads:   []string{"contacts:read"},
	Example: "{ city: Campinas }",
}

func planUpdateContact(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	a := args(s.Args)
	patch, labels, err := d.contactChange(ctx, a)
	if err != nil {
		return actions.Next{}, err
	}
	if next, ok, err := changedContact(ctx, s, labels); ok || err != nil {
		return next, err
	}
	id, err := a.objectID("contact", s.Contact)
	if err != nil {
		return actions.Next{}, err
	}
	contact, err := d.client.GetContact(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	return d.planContactPatch(s, contact, patch, labels)
}

// callPatchContact is PATCH /contacts/{id}; labels are read back like those of a conversation.
const callPatchContact = "patch_contact"

type patchContactCall struct{ *desk }

type patchContactRequest struct {
	Contact string               `json:"contact"`
	Patch   service.ContactPatch `json:"patch"`
	Labels  *labelChange         `json:"labels,omitempty"`
}

// contactChange returns the changes to a contact that the arguments of a step ask for.
func (d *desk) contactChange(ctx context.Context, a args) (service.ContactPatch, *labelChange, error) {
	var patch service.ContactPatch
	for name, field := range map[string]*service.Opt[string]{"name": &patch.Name, "company": &patch.Company, "city": &patch.City} {
		if text := a.text(name); text != "" {
			*field = service.Set(text)
		}
	}
	if blocked, given := a.flag("blocked"); given {
		patch.Blocked = service.Set(blocked)
	}
	var change labelChange
	var err error
	if change.Add, err = d.labels(ctx, a, "add_labels"); err != nil {
		return patch, nil, err
	}
	if change.Remove, err = d.labels(ctx, a, "remove_labels"); err != nil {
		return patch, nil, err
	}
	if len(change.Add)+len(change.Remove) == 0 {
		return patch, nil, nil
	}
	return patch, &change, nil
}

// changedContact ends the step with the contact after a patch, unless the change of its labels did
// not last.
func changedContact(ctx context.Context, s *actions.Step, labels *labelChange) (actions.Next, bool, error) {
	r, ok := s.Receipt(callPatchContact)
	if !ok {
		return actions.Next{}, false, nil
	}
	answer, err := decodeRecorded[map[string]any](r.Answer)
	if err != nil {
		return actions.Next{}, true, err
	}
	if labels != nil && !labels.isApplied(idsOf(answer["label_ids"])) {
		return actions.Next{}, false, nil
	}
	next, err := result(ctx, r, rules.ContactType, nil)
	return next, true, err
}

// planContactPatch plans the part of a change that is not done already.
func (d *desk) planContactPatch(s *actions.Step, now service.Contact, patch service.ContactPatch, labels *labelChange) (actions.Next, error) {
	fact := contactFact(now)
	want := fieldsOf(patch)
	for name, field := range map[string]*service.Opt[string]{"name": &patch.Name, "company": &patch.Company, "city": &patch.City} {
		if sameValue(fact[name], want[name]) {
			*field = service.Opt[string]{}
		}
	}
	if now.Blocked == want["blocked"] {
		patch.Blocked = service.Opt[bool]{}
	}
	if labels != nil && !labels.isApplied(now.LabelIDs) {
		patch.LabelIDs = service.Set(labels.apply(now.LabelIDs))
	}
	want = fieldsOf(patch)
	if len(want) == 0 {
		return alreadyDone(fact, phrases.ContactIsSo)
	}
	if patch.LabelIDs.IsZero() {
		labels = nil
	}
	return planCall(s, callPatchContact, actions.Intent{Generation: generation(s, callPatchContact)},
		patchContactRequest{Contact: now.ID, Patch: patch, Labels: labels}, patchedFields(fact, want))
}

func (c patchContactCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[patchContactRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	now, err := c.client.UpdateContact(ctx, in.Contact, in.Patch)
	if err != nil {
		return actions.Receipt{}, err
	}
	if in.Labels != nil || now.ID == "" {
		if read, err := c.client.GetContact(ctx, in.Contact); err == nil {
			now = read
		}
	}
	return receipt(contactFact(now)), nil
}

func (c patchContactCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[patchContactRequest, map[string]any](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	now, err := c.client.GetContact(ctx, in.Contact)
	if err != nil {
		return actions.Settlement{}, err
	}
	want := fieldsOf(in.Patch)
	switch v := settlePatch(want, before, patchedFields(contactFact(now), want), in.Labels); v {
	case actions.Happened:
		return happened(receipt(contactFact(now)))
	case actions.Overtook:
		return settled(v, phrases.ChangedByOther)
	default:
		return settled(v, "")
	}
}
