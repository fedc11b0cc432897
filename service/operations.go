package service

import (
	"slices"
	"strings"
)

// Operation is one operation of the service's reference: what it is called, and the scope its key
// needs.
type Operation struct {
	Method string
	Path   string // relative to the base address; {id} stands for the object's id
	Scope  string // empty: any valid key
}

// String is the method and path, "POST /conversations/{id}/messages": the name under which errors
// and logs know a call.
func (o Operation) String() string { return o.Method + " " + o.Path }

// Changes reports whether the operation may have an effect.
func (o Operation) Changes() bool { return o.Method != "GET" }

type op int

const (
	opMe op = iota
	opListChannels
	opListConversations
	opCreateConversation
	opGetConversation
	opUpdateConversation
	opReadConversation
	opTransfer
	opSetSector
	opListMessages
	opSendMessage
	opGetMessage
	opUploadMedia
	opMediaURL
	opListContacts
	opCreateContact
	opGetContact
	opUpdateContact
	opListLabels
	opListAttendances
	opGetAttendance
	opCurrentAttendance
	opListAssignments
	opCloseAttendance
	opListTeam
	opListSectors
	opCompanyRules
	opReport
	opListWebhooks
	opRegisterWebhook
	opListEvents
	opUpdateWebhook
	opDeleteWebhook
	opRotateSecret
	opTestWebhook
	opListDeliveries
	opListBoards
	opGetBoard
	opListCards
)

var table = [...]Operation{
	opMe: {"GET", "/me", ""},

	opListChannels:       {"GET", "/channels", "conversations:read"},
	opListConversations:  {"GET", "/conversations", "conversations:read"},
	opCreateConversation: {"POST", "/conversations", "conversations:write"},
	opGetConversation:    {"GET", "/conversations/{id}", "conversations:read"},
	opUpdateConversation: {"PATCH", "/conversations/{id}", "conversations:write"},
	opReadConversation:   {"POST", "/conversations/{id}/read", "conversations:write"},
	opTransfer:           {"POST", "/conversations/{id}/transfer", "conversations:write"},
	opSetSector:          {"PUT", "/conversations/{id}/sector", "conversations:write"},

	opListMessages: {"GET", "/conversations/{id}/messages", "messages:read"},
	opSendMessage:  {"POST", "/conversations/{id}/messages", "messages:send"},
	opGetMessage:   {"GET", "/messages/{id}", "messages:read"},
	opUploadMedia:  {"POST", "/media", "media:write"},
	opMediaURL:     {"GET", "/media/{id}/url", "messages:read"},

	opListContacts:  {"GET", "/contacts", "contacts:read"},
	opCreateContact: {"POST", "/contacts", "contacts:write"},
	opGetContact:    {"GET", "/contacts/{id}", "contacts:read"},
	opUpdateContact: {"PATCH", "/contacts/{id}", "contacts:write"},
	opListLabels:    {"GET", "/labels", "contacts:read"},

	opListAttendances:   {"GET", "/attendances", "attendances:read"},
	opGetAttendance:     {"GET", "/attendances/{id}", "attendances:read"},
	opCurrentAttendance: {"GET", "/conversations/{id}/attendance", "attendances:read"},
	opListAssignments:   {"GET", "/conversations/{id}/assignments", "attendances:read"},
	opCloseAttendance:   {"POST", "/conversations/{id}/attendance/close", "attendances:write"},

	opListTeam:     {"GET", "/team", "team:read"},
	opListSectors:  {"GET", "/sectors", "team:read"},
	opCompanyRules: {"GET", "/company/attendance", "team:read"},
	opReport:       {"GET", "/reports/attendance", "reports:read"},

	opListWebhooks:    {"GET", "/integrations/webhooks", "webhooks:manage"},
	opRegisterWebhook: {"POST", "/integrations/webhooks", "webhooks:manage"},
	opListEvents:      {"GET", "/integrations/webhooks/events", "webhooks:manage"},
	opUpdateWebhook:   {"PATCH", "/integrations/webhooks/{id}", "webhooks:manage"},
	opDeleteWebhook:   {"DELETE", "/integrations/webhooks/{id}", "webhooks:manage"},
	opRotateSecret:    {"POST", "/integrations/webhooks/{id}/rotate-secret", "webhooks:manage"},
	opTestWebhook:     {"POST", "/integrations/webhooks/{id}/test", "webhooks:manage"},
	opListDeliveries:  {"GET", "/integrations/webhooks/{id}/deliveries", "webhooks:manage"},

	opListBoards: {"GET", "/kanban/boards", "read"},
	opGetBoard:   {"GET", "/kanban/boards/{id}", "read"},
	opListCards:  {"GET", "/kanban/cards", "read"},
}

// Operations lists every operation of the reference, in its order. The card operations that the
// reference does not show come from the profile: see [Profile.Operations].
var Operations = slices.Clone(table[:])

// ScopeOf is the scope an operation of the reference needs; path may hold ids or {id}. It reports
// false for an operation the reference does not have.
func ScopeOf(method, path string) (string, bool) { return scopeOf(table[:], method, path) }

// Operations lists the operations of the reference and the card operations this profile adds to
// them.
func (p *Profile) Operations() []Operation {
	ops := slices.Clone(table[:])
	for _, o := range []Operation{p.Cards.operation(p.Cards.Get), p.Cards.operation(p.Cards.Create), p.Cards.operation(p.Cards.Update), p.Cards.operation(p.Cards.Move)} {
		if o.Path != "" {
			ops = append(ops, o)
		}
	}
	return ops
}

// ScopeOf is [ScopeOf] with the card operations of this profile included.
func (p *Profile) ScopeOf(method, path string) (string, bool) {
	return scopeOf(p.Operations(), method, path)
}

func scopeOf(ops []Operation, method, path string) (string, bool) {
	best, scope := -1, ""
	for _, o := range ops {
		if o.Method != method {
			continue
		}
		// A literal segment beats a placeholder: /integrations/webhooks/events is no webhook with the id
		// "events".
		if n, ok := matchPath(o.Path, path); ok && n > best {
			best, scope = n, o.Scope
		}
	}
	return scope, best >= 0
}

// matchPath reports whether path fits the template, and how many of its segments do so literally.
func matchPath(template, path string) (literal int, ok bool) {
	for {
		t, trest, tmore := strings.Cut(template, "/")
		s, srest, smore := strings.Cut(path, "/")
		switch {
		case t == s:
			literal++
		case !strings.HasPrefix(t, "{") || s == "":
			return 0, false
		}
		if !tmore || !smore {
			return literal, tmore == smore
		}
		template, path = trest, srest
	}
}
