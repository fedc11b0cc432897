package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// callCreateContact is POST /contacts. It has no key: the contact is looked up by phone first, and again before a repeat.
const callCreateContact = "create_contact"

type createContactCall struct{ *desk }

func (c createContactCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := recorded[service.NewContact](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	contact, err := c.CreateContact(ctx, in)
	if isConflict(err) {
		// Somebody else has added the same phone meanwhile: that contact is as good.
		if found, lookErr := c.FindContact(ctx, in.Phone); lookErr == nil && found != nil {
			contact, err = *found, nil
		}
	}
	if err != nil {
		return actions.Receipt{}, err
	}
	return receipt(contactFact(contact)), nil
}

func (c createContactCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, err := recorded[service.NewContact](i.Request)
	if err != nil {
		return actions.Settlement{}, err
	}
	found, err := c.FindContact(ctx, in.Phone)
	if err != nil {
		return actions.Settlement{}, err
	}
	if found == nil {
		return repeat()
	}
	return happened(receipt(contactFact(*found)))
}
