package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// A key needs exactly the scope that the client names for an operation: with all others it is
// refused, with this one it is enough.
func TestScopes(t *testing.T) {
	needed := map[string]bool{}
	forEachOperation(t, func(t *testing.T, w *world, o service.Operation, call func(*service.Client) error) {
		if o.Scope == "" {
			noError(t, call(w.withKey()))
			return
		}
		needed[o.Scope] = true
		others := slices.DeleteFunc(slices.Clone(sandbox.Scopes), func(s string) bool { return s == o.Scope })
		if len(others) != len(sandbox.Scopes)-1 {
			t.Fatalf("the sandbox has no scope %s", o.Scope)
		}
		before := len(w.Effects())
		err := call(w.withKey(others...))
		e := refused(t, err)
		want(t, "status", e.Status, http.StatusForbidden)
		want(t, "code", e.Code, "forbidden")
		want(t, "scope", e.Scope, o.Scope)
		want(t, "uncertain", e.Uncertain, false)
		if !service.IsRefused(err) || service.IsTemporary(err) {
			t.Errorf("a repeat seems to help against %v", err)
		}
		if !strings.Contains(e.Message, o.Scope) || !strings.HasSuffix(e.Error(), "(the API key needs the scope "+o.Scope+")") {
			t.Errorf("the error does not name the scope %s: %v", o.Scope, e)
		}
		if made := w.effects(before); len(made) > 0 {
			t.Errorf("a refused call had effects: %v", made)
		}
		noError(t, call(w.withKey(o.Scope)))
		want(t, "the operation on the wire", w.wire.last().op, o.String())
	})
	for _, scope := range sandbox.Scopes {
		if !needed[scope] {
			t.Errorf("no operation needs the scope %s", scope)
		}
	}
}

// The client, the sandbox and the description know the same operations and the same scopes.
func TestOperationsAgree(t *testing.T) {
	profile := service.DefaultProfile()
	client := map[string]string{}
	for _, o := range profile.Operations() {
		client[o.String()] = o.Scope
	}
	imitated := map[string]string{}
	for _, o := range sandbox.Operations() {
		imitated[o.Name] = o.Scope
	}
	doc := must(description())(t)
	described := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			described[method+" "+path], _ = o.Extensions["x-scope"].(string)
		}
	}
	sameMap(t, "the client and the sandbox", client, imitated)
	sameMap(t, "the client and the description", client, described)
	want(t, "number of operations", len(client), 43)
}

func sameMap(t *testing.T, what string, a, b map[string]string) {
	t.Helper()
	for name, scope := range a {
		if other, ok := b[name]; !ok || other != scope {
			t.Errorf("%s disagree on %s: %q and %q", what, name, scope, other)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			t.Errorf("%s disagree on %s, which the first does not have", what, name)
		}
	}
}
