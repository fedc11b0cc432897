package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var updateContact = rules.Schema{
	Verb: "update_contact", Summary: "Change the contact",
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
	Needs: "contact", Unless: "contact",
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
	id, err := a.of("contact", s.Contact)
	if err != nil {
		return actions.Next{}, err
	}
	contact, err := d.GetContact(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	return d.planContactPatch(s, contact, patch, labels)
}
