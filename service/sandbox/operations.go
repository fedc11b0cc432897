package sandbox

import (
	"net/http"
	"strings"
)

// operation is one row of the reference's tables of endpoints.
type operation struct {
	name   string // method and path, as the reference writes them
	scope  string // "" is none
	status int    // of the answer when all went well
	serve  func(*Sandbox, *call) (any, error)

	changes    bool // the operation takes the lock for writing
	idempotent bool // it is a Kanban POST, which requires Idempotency-Key
	upload     bool // its body is not JSON
}

// Operation is the name of an operation, as the reference writes it, and the
// scope it requires; "" is none.
type Operation struct{ Name, Scope string }

// Operations lists the whole API, for tests of coverage.
func Operations() []Operation {
	var out []Operation
	for _, op := range operations() {
		out = append(out, Operation{op.name, op.scope})
	}
	return out
}

// method and path are the parts of the operation's name.
func (op *operation) method() string { m, _, _ := strings.Cut(op.name, " "); return m }
func (op *operation) path() string   { _, p, _ := strings.Cut(op.name, " "); return p }

func read(name, scope string, serve func(*Sandbox, *call) (any, error)) *operation {
	return &operation{name: name, scope: scope, status: http.StatusOK, serve: serve}
}

func change(name, scope string, status int, serve func(*Sandbox, *call) (any, error)) *operation {
	return &operation{name: name, scope: scope, status: status, serve: serve, changes: true}
}

// operations lists the whole API.
func operations() []*operation {
	const ok, created, noContent = http.StatusOK, http.StatusCreated, http.StatusNoContent
	upload := change("POST /media", "media:write", created, (*Sandbox).uploadMedia)
	upload.upload = true
	createCard := change("POST /kanban/cards", "write", created, (*Sandbox).createCard)
	createCard.idempotent = true
	moveCard := change("POST /kanban/cards/{id}/move", "write", ok, (*Sandbox).moveCard)
	moveCard.idempotent = true
	return []*operation{
		read("GET /me", "", (*Sandbox).me),

		read("GET /channels", "conversations:read", (*Sandbox).listChannels),
		read("GET /conversations", "conversations:read", (*Sandbox).listConversations),
		change("POST /conversations", "conversations:write", created, (*Sandbox).openConversation),
		read("GET /conversations/{id}", "conversations:read", (*Sandbox).getConversation),
		change("PATCH /conversations/{id}", "conversations:write", ok, (*Sandbox).patchConversation),
		change("POST /conversations/{id}/read", "conversations:write", ok, (*Sandbox).readConversation),
		change("POST /conversations/{id}/transfer", "conversations:write", ok, (*Sandbox).transferConversation),
		change("PUT /conversations/{id}/sector", "conversations:write", ok, (*Sandbox).setSector),

		read("GET /conversations/{id}/messages", "messages:read", (*Sandbox).listMessages),
		change("POST /conversations/{id}/messages", "messages:send", created, (*Sandbox).sendMessage),
		read("GET /messages/{id}", "messages:read", (*Sandbox).getMessage),
		upload,
		read("GET /media/{id}/url", "messages:read", (*Sandbox).mediaURL),

		read("GET /contacts", "contacts:read", (*Sandbox).listContacts),
		change("POST /contacts", "contacts:write", created, (*Sandbox).createContact),
		read("GET /contacts/{id}", "contacts:read", (*Sandbox).getContact),
		change("PATCH /contacts/{id}", "contacts:write", ok, (*Sandbox).patchContact),
		read("GET /labels", "contacts:read", (*Sandbox).listLabels),

		read("GET /attendances", "attendances:read", (*Sandbox).listAttendances),
		read("GET /attendances/{id}", "attendances:read", (*Sandbox).getAttendance),
		read("GET /conversations/{id}/attendance", "attendances:read", (*Sandbox).currentAttendance),
		read("GET /conversations/{id}/assignments", "attendances:read", (*Sandbox).listAssignments),
		change("POST /conversations/{id}/attendance/close", "attendances:write", ok, (*Sandbox).closeAttendance),

		read("GET /team", "team:read", (*Sandbox).listTeam),
		read("GET /sectors", "team:read", (*Sandbox).listSectors),
		read("GET /company/attendance", "team:read", (*Sandbox).companyRules),
		read("GET /reports/attendance", "reports:read", (*Sandbox).report),

		read("GET /integrations/webhooks", "webhooks:manage", (*Sandbox).listWebhooks),
		change("POST /integrations/webhooks", "webhooks:manage", created, (*Sandbox).registerWebhook),
		read("GET /integrations/webhooks/events", "webhooks:manage", (*Sandbox).listEvents),
		change("PATCH /integrations/webhooks/{id}", "webhooks:manage", ok, (*Sandbox).patchWebhook),
		change("DELETE /integrations/webhooks/{id}", "webhooks:manage", noContent, (*Sandbox).deleteWebhook),
		change("POST /integrations/webhooks/{id}/rotate-secret", "webhooks:manage", ok, (*Sandbox).rotateSecret),
		change("POST /integrations/webhooks/{id}/test", "webhooks:manage", ok, (*Sandbox).testWebhook),
		read("GET /integrations/webhooks/{id}/deliveries", "webhooks:manage", (*Sandbox).listDeliveries),

		read("GET /kanban/boards", "read", (*Sandbox).listBoards),
		read("GET /kanban/boards/{id}", "read", (*Sandbox).getBoard),
		read("GET /kanban/cards", "read", (*Sandbox).listCards),
		read("GET /kanban/cards/{id}", "read", (*Sandbox).getCard),
		createCard,
		change("PATCH /kanban/cards/{id}", "write", ok, (*Sandbox).patchCard),
		moveCard,
	}
}
