package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var readContact = rules.Schema{
	Verb: "read_contact", Group: "lists", Main: "contact", Summary: "Read the contact afresh",
	Args: []rules.Arg{
		{Name: "contact", Kind: rules.KindText, Summary: "another contact's id"},
	},
	Needs: "contact", Unless: []string{"contact"},
	Result: rules.ContactType, Gives: "contact",
	Scopes: []string{"contacts:read"},
}

func planReadContact(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	id, err := args(s.Args).objectID("contact", s.Contact)
	if err != nil {
		return actions.Next{}, err
	}
	contact, err := d.client.GetContact(ctx, id)
	return read(d.facts.Contact(contact), err)
}
