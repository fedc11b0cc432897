package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var createContact = rules.Schema{
	Verb: "create_contact", Group: "contacts", Summary: "Create a contact, unless there is one with this phone number",
	Args: []rules.Arg{
		{Name: "name", Kind: rules.KindText, Required: true, Summary: "the contact's name"},
		{Name: "phone", Kind: rules.KindText, Required: true, Summary: "the phone number"},
		{Name: "company", Kind: rules.KindText, Summary: "the company"},
		{Name: "city", Kind: rules.KindText, Summary: "the city"},
		{Name: "channel", Kind: rules.KindName, Refers: "channel", Summary: "the contact's WhatsApp number"},
		{Name: "add_labels", Kind: rules.KindNames, Refers: "label", Summary: "labels to give it"},
		{Name: "blocked", Kind: rules.KindFlag, Summary: "whether the contact is blocked"},
	},
	Result:  rules.ContactType,
	Scopes:  []string{"contacts:write"},
	Reads:   []string{"contacts:read"},
	Example: "{ name: Ana, phone: \"+5511988887777\" }",
}

// planCreateContact creates the contact, then sets what only an update can set: labels, and whether
// it is blocked. An existing contact keeps its name and the rest.
func planCreateContact(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	a := args(s.Args)
	patch, labels, err := d.contactChange(ctx, args{"blocked": a["blocked"], "add_labels": a["add_labels"]})
	if err != nil {
		return actions.Next{}, err
	}
	if next, ok, err := changedContact(ctx, s, labels); ok || err != nil {
		return next, err
	}
	created, wasCreated := s.Receipt(callCreateContact)
	if wasCreated && labels == nil && patch.Blocked.IsZero() {
		return result(ctx, created, rules.ContactType, nil)
	}
	var contact *service.Contact
	if wasCreated {
		contact, err = d.contactOf(ctx, created)
	} else {
		contact, err = d.client.FindContact(ctx, a.text("phone"))
	}
	if err != nil {
		return actions.Next{}, err
	}
	if contact == nil {
		return d.planNewContact(ctx, s, a)
	}
	return d.planContactPatch(s, *contact, patch, labels)
}

// contactOf returns the contact that a call has created.
func (d *desk) contactOf(ctx context.Context, r actions.Receipt) (*service.Contact, error) {
	answer, err := decodeRecorded[struct{ ID string }](r.Answer)
	if err != nil {
		return nil, err
	}
	contact, err := d.client.GetContact(ctx, answer.ID)
	return &contact, err
}

func (d *desk) planNewContact(ctx context.Context, s *actions.Step, a args) (actions.Next, error) {
	request := service.NewContact{Company: a.text("company"), City: a.text("city")}
	var err error
	if request.Name, err = a.requiredText("name"); err != nil {
		return actions.Next{}, err
	}
	if request.Phone, err = a.requiredText("phone"); err != nil {
		return actions.Next{}, err
	}
	if request.ChannelID, err = d.id(ctx, a, "channel", service.KindChannel); err != nil {
		return actions.Next{}, err
	}
	return planCall(s, callCreateContact, actions.Intent{Lane: actions.PhoneLane(request.Phone)}, request, nil)
}

// callCreateContact is POST /contacts. It has no key: the contact is looked up by phone first, and
// again before a repeat.
const callCreateContact = "create_contact"

type createContactCall struct{ *desk }

func (c createContactCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[service.NewContact](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	contact, err := c.client.CreateContact(ctx, in)
	if isConflict(err) {
		// The same phone was added meanwhile: that contact serves as well.
		if found, lookErr := c.client.FindContact(ctx, in.Phone); lookErr == nil && found != nil {
			contact, err = *found, nil
		}
	}
	if err != nil {
		return actions.Receipt{}, err
	}
	return receipt(contactFact(contact)), nil
}

func (c createContactCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, err := decodeRecorded[service.NewContact](i.Request)
	if err != nil {
		return actions.Settlement{}, err
	}
	found, err := c.client.FindContact(ctx, in.Phone)
	if err != nil {
		return actions.Settlement{}, err
	}
	if found == nil {
		return repeat()
	}
	return happened(receipt(contactFact(*found)))
}
