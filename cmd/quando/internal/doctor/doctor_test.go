package doctor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// TestSecretNotKnown shows that an unknown secret is a warning.
func TestSecretNotKnown(t *testing.T) {
	v := &workspaceDoctor{doctor: &doctor{}, NamedWorkspace: config.NamedWorkspace{Name: "default", Workspace: &config.Workspace{}}}
	v.Service.Webhook.PublicURL = "https://hooks.example.com/webhook"
	v.secret(nil, false)
	if got := v.list["secret"][0]; got.Status != warning {
		t.Errorf("the engine itself has a secret, and %+v", got)
	}
}

// TestDoctorAddress checks addresses however slow the rest is, takes nothing else for an engine,
// and shows no password.
func TestDoctorAddress(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }))
	defer engine.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for address, want := range map[string]string{
		engine.URL: "is reached", refusing.URL: "it is not the webhook of an engine", "http://quando:hunter2@127.0.0.1:1/webhook": "cannot be reached",
	} {
		v := &workspaceDoctor{doctor: &doctor{}, NamedWorkspace: config.NamedWorkspace{Name: "default", Workspace: &config.Workspace{}}}
		v.address(over, address, false)
		if got := v.list["address"][0].Message; !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", address, got)
		}
	}
}
