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

// table has every operation of the reference. Each file lists those of what it is about.
var table = slices.Concat(
	identityOperations,
	conversationOperations,
	messageOperations,
	mediaOperations,
	contactOperations,
	labelOperations,
	attendanceOperations,
	teamOperations,
	reportOperations,
	webhookOperations,
	kanbanOperations,
	cardOperations,
)

// ScopeOf is the scope an operation of the reference needs; path may hold ids or {id}. It reports
// false for an operation the reference does not have.
func ScopeOf(method, path string) (string, bool) { return scopeOf(table, method, path) }

// Operations lists the operations of the reference, and the card operations that it does not show
// and this profile adds.
func (p *Profile) Operations() []Operation {
	ops := slices.Clone(table)
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
