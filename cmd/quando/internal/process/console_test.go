package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// TestChecksFindWhatIsBroken shows that an active webhook whose deliveries fail is not fine, nor is
// a journal that cannot be written.
func TestChecksFindWhatIsBroken(t *testing.T) {
	desk, client := newSandbox(t, sandbox.Options{Seed: 1, AllowLoopback: true})
	broken := true
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer receiver.Close()
	if _, err := client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "engine", URL: receiver.URL, Events: []string{"message.received"}}); err != nil {
		t.Fatal(err)
	}
	u := &Unit{Client: client, NamedWorkspace: config.NamedWorkspace{Name: "default", Workspace: &config.Workspace{}}}
	u.Service.Webhook.PublicURL = receiver.URL
	var disk error
	p := &Process{Units: []*Unit{u}, Recorder: &Recorder{write: func(context.Context) error { return disk }}}
	found := func(text string) map[console.CheckKind]console.Check {
		if _, err := desk.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Name: "Marina", Text: text}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // deliveries are told apart by their time
		if err := desk.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := map[console.CheckKind]console.Check{}
		for _, one := range p.checks(t.Context()) {
			all[one.Kind] = one
		}
		return all
	}
	disk = errors.New("database or disk is full")
	got := found("Oi!")
	if w := got[console.CheckWebhook]; w.OK || w.Mends || w.Delivery != "retrying" {
		t.Errorf("a webhook whose deliveries fail: %+v", w)
	}
	if d := got[console.CheckJournal]; d.OK || d.Detail != "database or disk is full" {
		t.Errorf("a full disk: %+v", d)
	}
	broken, disk = false, nil
	got = found("Oi de novo!")
	if !got[console.CheckWebhook].OK || !got[console.CheckJournal].OK || !got[console.CheckService].OK {
		t.Errorf("all is well: %+v", got)
	}
}
