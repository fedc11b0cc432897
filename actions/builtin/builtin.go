// Package builtin provides the verbs that ship with the binary, one file each, and tells rules what they want to know of the service.
//
// A verb's file holds its schema and its plan. The calls that plans ask for stand in files of their own (call_….go), each with
// what makes it safe to repeat. What rules ask is answered in desk….go.
package builtin

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// Options say what the verbs, or a Desk, work with. Client is required; every other zero value works.
type Options struct {
	// Client calls the service. It should not wait out pauses by itself (service.Options.MaxWait below 0): what was looked at
	// before a pause is to be looked at again after it.
	Client    *service.Client
	Directory *service.Directory // nil makes one; the verbs and the desk of a workspace should share theirs

	Media    fs.FS          // the rule set's media folder; nil means there is none
	Location *time.Location // of days without a time, such as a card's due date; nil is UTC

	// HTTP are the systems that http_request may call; by default none.
	HTTP []HTTPHost
	// Timeout bounds a call of http_request that names none of its own; 10 seconds by default.
	Timeout time.Duration
	// Outside answers the calls of http_request in place of the network, whatever system they are for: none is called then, and the
	// list counts for nothing. It is for tests of rules.
	Outside http.RoundTripper

	// Own reports whether the engine itself sent a message, so that its facts say so. Nil is never.
	Own func(context.Context, service.Message) (bool, error)
}

// New returns the verbs. It connects to nothing.
func New(o Options) ([]actions.Action, error) {
	d, err := newDesk(o)
	if err != nil {
		return nil, err
	}
	list := verbs()
	out := make([]actions.Action, len(list))
	for i := range list {
		list[i].desk = d
		out[i] = &list[i]
	}
	return out, nil
}

// verbs lists the verbs in the order in which the documentation does.
func verbs() []verb {
	return []verb{
		{schema: sendMessage, plan: planSendMessage},
		{schema: transfer, plan: planTransfer},
		{schema: setSector, plan: planSetSector},
		{schema: addLabels, plan: planAddLabels},
		{schema: removeLabels, plan: planRemoveLabels},
		{schema: setLabels, plan: planSetLabels},
		{schema: updateConversation, plan: planUpdateConversation},
		{schema: markRead, plan: planMarkRead},
		{schema: openConversation, plan: planOpenConversation},
		{schema: closeAttendance, plan: planCloseAttendance},
		{schema: createContact, plan: planCreateContact},
		{schema: updateContact, plan: planUpdateContact},
		{schema: findCard, plan: planFindCard},
		{schema: moveCard, plan: planMoveCard},
		{schema: createCard, plan: planCreateCard},
		{schema: updateCard, plan: planUpdateCard},
		{schema: readAttendance, plan: planReadAttendance},
		{schema: readConversation, plan: planReadConversation},
		{schema: readContact, plan: planReadContact},
		{schema: readMessages, plan: planReadMessages},
		{schema: readAssignments, plan: planReadAssignments},
		{schema: readReport, plan: planReadReport},
		{schema: httpRequest, plan: planHTTPRequest},
	}
}

// Schemas returns the verbs' descriptions, in the order in which the documentation lists them.
func Schemas() []rules.Schema {
	list := verbs()
	out := make([]rules.Schema, len(list))
	for i, v := range list {
		out[i] = v.schema
	}
	return out
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
	opens      = []string{"attendance.opened", "kanban.card.created"} // what opening a conversation raises
	target     = []rules.Arg{
		{Name: "phone", Kind: rules.KindText, Summary: "a phone number"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id"},
		{Name: "channel", Kind: rules.KindName, Refers: "channel", Required: true, Summary: "the WhatsApp number to write from"},
	}
)
