package builtin

import "github.com/quandohq/quando/rules"

var createContact = rules.Schema{
	Verb: "create_contact", Summary: "Create a contact, unless there is one with this phone number",
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
