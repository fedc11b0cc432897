package builtin

import "github.com/quandohq/quando/rules"

var readContact = rules.Schema{
	Verb: "read_contact", Main: "contact", Summary: "Read the contact afresh",
	Args: []rules.Arg{
		{Name: "contact", Kind: rules.KindText, Summary: "another contact's id"},
	},
	Needs: "contact", Unless: "contact",
	Result: rules.ContactType, Gives: "contact",
	Scopes: []string{"contacts:read"},
}
