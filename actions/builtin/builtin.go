// Package builtin provides the verbs that ship with the binary, one file each.
package builtin

import "github.com/quandohq/quando/rules"

// Schemas returns the verbs' descriptions, in the order in which the documentation lists them.
func Schemas() []rules.Schema {
	return []rules.Schema{
		sendMessage,
		transfer, setSector,
		addLabels, removeLabels, setLabels,
		updateConversation, markRead, openConversation,
		closeAttendance,
		createContact, updateContact,
		findCard, moveCard, createCard, updateCard,
		readAttendance, readConversation, readContact, readMessages, readAssignments, readReport,
		httpRequest,
	}
}

// Catalog returns the verbs of the language together with these.
func Catalog() *rules.Catalog {
	c, err := rules.NewCatalog(Schemas()...)
	if err != nil {
		panic(err) // two verbs of one name: seen by the first test that runs
	}
	return c
}

// Words that several verbs share.
var (
	priorities = []string{"low", "medium", "high", "urgent"}
	opens      = []string{"attendance.opened", "conversation.updated", "kanban.card.created"} // what opening a conversation raises
	target     = []rules.Arg{
		{Name: "phone", Kind: rules.KindText, Summary: "a phone number"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id"},
		{Name: "channel", Kind: rules.KindName, Refers: "channel", Required: true, Summary: "the WhatsApp number to write from"},
	}
)
