package sandbox_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestKey(t *testing.T) {
	d := open(t)
	expiring, err := d.NewKey(sandbox.NewKey{ExpiresAt: friday.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	revoked, _ := d.NewKey(sandbox.NewKey{})
	if err := d.RevokeKey(revoked.ID); err != nil {
		t.Fatal(err)
	}
	d.api("GET /me", nil, "Authorization: Bearer "+expiring.APIKey).want(200)
	d.advance(2 * time.Hour)
	for _, tt := range []struct{ name, header string }{
		{"missing", ""},
		{"not a bearer token", "Basic " + d.key},
		{"invalid", "Bearer qsk_nobody"},
		{"revoked", "Bearer " + revoked.APIKey},
		{"expired", "Bearer " + expiring.APIKey},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			r := d.api("GET /me", nil, "Authorization: "+tt.header)

			r.code(401, "unauthorized")
		})
	}
	d.run(t, "has a recognizable prefix", func(t *testing.T) {
		for _, key := range []string{d.key, expiring.APIKey} {
			if !strings.HasPrefix(key, "qsk_") {
				t.Errorf("key %q", key)
			}
		}
	})
	d.run(t, "in every operation", func(t *testing.T) {
		for _, op := range scopes {
			method, path, _ := strings.Cut(op.operation, " ")
			r := d.api(method+" "+strings.ReplaceAll(path, "{id}", uuid(1)), nil, "Authorization: Bearer nobody")
			if r.status != 401 {
				t.Errorf("%s: status %d, want 401", op.operation, r.status)
			}
		}
	})
}

// scopes is the reference's table, with the card operations of our profile.
var scopes = []struct{ operation, scope string }{
	{"GET /me", ""},
	{"GET /channels", "conversations:read"},
	{"GET /conversations", "conversations:read"},
	{"GET /conversations/{id}", "conversations:read"},
	{"POST /conversations", "conversations:write"},
	{"PATCH /conversations/{id}", "conversations:write"},
	{"POST /conversations/{id}/read", "conversations:write"},
	{"POST /conversations/{id}/transfer", "conversations:write"},
	{"PUT /conversations/{id}/sector", "conversations:write"},
	{"GET /conversations/{id}/messages", "messages:read"},
	{"GET /messages/{id}", "messages:read"},
	{"GET /media/{id}/url", "messages:read"},
	{"POST /conversations/{id}/messages", "messages:send"},
	{"POST /media", "media:write"},
	{"GET /contacts", "contacts:read"},
	{"GET /contacts/{id}", "contacts:read"},
	{"GET /labels", "contacts:read"},
	{"POST /contacts", "contacts:write"},
	{"PATCH /contacts/{id}", "contacts:write"},
	{"GET /attendances", "attendances:read"},
	{"GET /attendances/{id}", "attendances:read"},
	{"GET /conversations/{id}/attendance", "attendances:read"},
	{"GET /conversations/{id}/assignments", "attendances:read"},
	{"POST /conversations/{id}/attendance/close", "attendances:write"},
	{"GET /team", "team:read"},
	{"GET /sectors", "team:read"},
	{"GET /company/attendance", "team:read"},
	{"GET /reports/attendance", "reports:read"},
	{"GET /integrations/webhooks", "webhooks:manage"},
	{"POST /integrations/webhooks", "webhooks:manage"},
	{"GET /integrations/webhooks/events", "webhooks:manage"},
	{"PATCH /integrations/webhooks/{id}", "webhooks:manage"},
	{"DELETE /integrations/webhooks/{id}", "webhooks:manage"},
	{"POST /integrations/webhooks/{id}/rotate-secret", "webhooks:manage"},
	{"POST /integrations/webhooks/{id}/test", "webhooks:manage"},
	{"GET /integrations/webhooks/{id}/deliveries", "webhooks:manage"},
	{"GET /kanban/boards", "read"},
	{"GET /kanban/boards/{id}", "read"},
	{"GET /kanban/cards", "read"},
	{"GET /kanban/cards/{id}", "read"},
	{"POST /kanban/cards", "write"},
	{"PATCH /kanban/cards/{id}", "write"},
	{"POST /kanban/cards/{id}/move", "write"},
}

// TestScopes calls each operation with only its scope, and with all others.
func TestScopes(t *testing.T) {
	d := open(t)
	for _, tt := range scopes {
		d.run(t, tt.operation, func(t *testing.T) {
			with, others := []string{}, []string{}
			for _, scope := range sandbox.Scopes {
				if scope == tt.scope {
					with = append(with, scope)
				} else {
					others = append(others, scope)
				}
			}
			call := strings.ReplaceAll(tt.operation, "{id}", uuid(1))
			key, _ := d.NewKey(sandbox.NewKey{Scopes: with})
			if r := d.api(call, nil, "Authorization: Bearer "+key.APIKey); r.status == 403 || r.status == 401 {
				t.Errorf("with %v: status %d", with, r.status)
			}
			if tt.scope == "" {
				return
			}
			key, _ = d.NewKey(sandbox.NewKey{Scopes: others})
			r := d.api(call, nil, "Authorization: Bearer "+key.APIKey)

			r.code(403, "forbidden")
		})
	}
	d.run(t, "every operation is listed", func(t *testing.T) {
		var want, got []string
		for _, op := range scopes {
			want = append(want, op.operation+" "+op.scope)
		}
		for _, op := range sandbox.Operations() {
			got = append(got, op.Name+" "+op.Scope)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("operations (-want +got):\n%s", diff)
		}
	})
	d.run(t, "every scope has an operation", func(t *testing.T) {
		for _, scope := range sandbox.Scopes {
			if !slices.ContainsFunc(scopes, func(s struct{ operation, scope string }) bool { return s.scope == scope }) {
				t.Errorf("no operation requires %s", scope)
			}
		}
	})
}

func TestIdentity(t *testing.T) {
	d := open(t)
	r := d.api("GET /me", nil).want(200)
	if r.text("api_version") != "1.1.0" || r.text("tenant_id") == "" || len(r.get("scopes").([]any)) != len(sandbox.Scopes) {
		t.Errorf("identity %s", r.body)
	}
}
