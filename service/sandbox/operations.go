package sandbox

import (
	"net/http"
	"slices"
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

// keyed is a change that requires an Idempotency-Key.
func keyed(name, scope string, status int, serve func(*Sandbox, *call) (any, error)) *operation {
	op := change(name, scope, status, serve)
	op.idempotent = true
	return op
}

// uploading is a change whose body is not JSON.
func uploading(name, scope string, status int, serve func(*Sandbox, *call) (any, error)) *operation {
	op := change(name, scope, status, serve)
	op.upload = true
	return op
}

// operations lists the whole API: each file has those that it serves.
func operations() []*operation {
	return slices.Concat(
		teamOperations(), conversationOperations(), assignmentOperations(), messageOperations(), mediaOperations(), contactOperations(),
		attendanceOperations(), reportOperations(), webhookOperations(), boardOperations(), cardOperations(), cardChangeOperations(),
	)
}
