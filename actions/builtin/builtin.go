// Package builtin provides the verbs that ship with the binary, and answers what rules ask about
// the service.
//
// The table of the verbs is here. A verb has a file, with its schema, its plan, and its call with
// what makes it safe to repeat. The desk….go files answer the questions of rules.
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

// Options say what the verbs, or a Desk, work with. Client is required; every other zero value
// works.
type Options struct {
	// Client calls the service. It should not wait out pauses by itself (service.Options.MaxWait below
	// 0): what was read before a pause has to be read again after it.
	Client    *service.Client
	Directory *service.Directory // nil makes one; the verbs and the desk of a workspace should share theirs

	Media    fs.FS          // the rule set's media folder; nil means there is none
	People   service.People // whom rules can write to by name; nil means nobody
	Location *time.Location // for days without a time, such as a card's due date; nil means UTC

	// HTTP are the systems that http_request may call; none by default.
	HTTP []HTTPHost
	// Timeout bounds a call of http_request that has no timeout of its own; 10 seconds by default.
	Timeout time.Duration
	// Outside answers the calls of http_request in place of the network: no system is called then. It
	// is for tests of rules. If HTTP is nil, it answers for all systems.
	Outside http.RoundTripper

	// Own reports whether the engine itself sent a message, so that its facts say so. Nil means never.
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
		out[i] = &action{list[i], d}
	}
	return out, nil
}

// verbs lists the verbs in the order of the documentation and of the menu of steps. The last call
// of a verb is the one that has its effect; the calls before it prepare it.
func verbs() []verb {
	const conversation, cards = "/conversations/{id}", "/kanban/cards"
	open := kind{callOpen, "POST /conversations", on[openCall]}
	patch := kind{callPatchConversation, "PATCH " + conversation, on[patchConversationCall]}
	patchContact := kind{callPatchContact, "PATCH /contacts/{id}", on[patchContactCall]}
	return []verb{
		{sendMessage, planSendMessage, calls{{callUpload, "POST /media", on[uploadCall]}, open, {callSend, "POST " + conversation + "/messages", on[sendCall]}}},
		{mute, planMute, nil},
		{unmute, planUnmute, nil},
		{markRead, planMarkRead, calls{{callMarkRead, "POST " + conversation + "/read", on[markReadCall]}}},
		{openConversation, planOpenConversation, calls{open}},
		{transfer, planTransfer, calls{{callTransfer, "POST " + conversation + "/transfer", on[transferCall]}}},
		{setSector, planSetSector, calls{{callSetSector, "PUT " + conversation + "/sector", on[sectorCall]}}},
		{closeAttendance, planCloseAttendance, calls{{callClose, "POST " + conversation + "/attendance/close", on[closeCall]}}},
		{updateConversation, planUpdateConversation, calls{patch}},
		{addLabels, planLabels(func(ids []string) labelChange { return labelChange{Add: ids} }), calls{patch}},
		{removeLabels, planLabels(func(ids []string) labelChange { return labelChange{Remove: ids} }), calls{patch}},
		{setLabels, planLabels(func(ids []string) labelChange { return labelChange{Add: ids, Only: true} }), calls{patch}},
		{createCard, planCreateCard, calls{{callCreateCard, "POST " + cards, on[createCardCall]}}},
		{moveCard, planMoveCard, calls{{callMoveCard, "POST " + cards + "/{id}/move", on[moveCardCall]}}},
		{findCard, planFindCard, nil},
		{updateCard, planUpdateCard, calls{{callPatchCard, "PATCH " + cards + "/{id}", on[patchCardCall]}}},
		{createContact, planCreateContact, calls{patchContact, {callCreateContact, "POST /contacts", on[createContactCall]}}},
		{updateContact, planUpdateContact, calls{patchContact}},
		{listAttendances, planList("attendances"), nil},
		{listConversations, planList("conversations"), nil},
		{listContacts, planList("contacts"), nil},
		{listCards, planList("cards"), nil},
		{readReport, planReadReport, nil},
		{readMessages, planReadMessages, nil},
		{readAttendance, planReadAttendance, nil},
		{readConversation, planReadConversation, nil},
		{readContact, planReadContact, nil},
		{readAssignments, planReadAssignments, nil},
		{httpRequest, planHTTPRequest, calls{{callHTTP, "", on[httpCall]}}},
	}
}

// Operation returns the operation of the service that has a verb's effect, by its name in the
// service's reference; empty if there is none.
func Operation(verb string) string {
	for _, v := range verbs() {
		if v.schema.Verb == verb {
			return v.operation()
		}
	}
	return ""
}

// VerbOf returns the first verb with the effect of an operation; empty if there is none.
func VerbOf(operation string) string {
	for _, v := range verbs() {
		if operation != "" && v.operation() == operation {
			return v.schema.Verb
		}
	}
	return ""
}

// Schemas returns the verbs' schemas, in the order of the documentation.
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
		panic(err) // two verbs of one name: the first test that runs finds it
	}
	return c
}

// Priorities, events and arguments that several verbs share.
var (
	priorities = []string{"low", "medium", "high", "urgent"}
	opens      = []string{"attendance.opened", "kanban.card.created"} // events of opening a conversation
	target     = []rules.Arg{
		{Name: "person", Kind: rules.KindName, Refers: "teammate", Summary: "a person of the team, by the table `people` of the configuration"},
		{Name: "phone", Kind: rules.KindText, Summary: "a phone number"},
		{Name: "contact", Kind: rules.KindText, Scopes: []string{"contacts:read"}, Summary: "a contact's id"},
		{Name: "channel", Kind: rules.KindName, Refers: "channel", Summary: "the WhatsApp number to write from"},
	}
	// anotherConversation is the argument by which a verb works on another conversation than the one
	// at hand.
	anotherConversation = rules.Arg{
		Name: "conversation", Kind: rules.KindTarget, Fields: target, Scopes: []string{"conversations:read"},
		Summary: "another conversation's id; or `{phone, channel}`, `{contact, channel}` or `{person}`",
	}
)
