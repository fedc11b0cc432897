package process

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/webhook"
)

// newSandbox starts an imitation of the service, and returns it with a client of it.
func newSandbox(t *testing.T, o sandbox.Options) (*sandbox.Sandbox, *service.Client) {
	t.Helper()
	desk, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { desk.Close() })
	address, err := desk.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	return desk, client
}

// TestDeliveriesWakeTheBackfill shows what wakes the backfill.
func TestDeliveriesWakeTheBackfill(t *testing.T) {
	_, client := newSandbox(t, sandbox.Options{Seed: 1})
	j, err := storage.Open(t.Context(), filepath.Join(t.TempDir(), "quando.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	now := time.Now()
	s, err := backfill.New(backfill.Options{
		Workspace: "default", Client: client, Journal: &findings{&Process{journal: j}}, Needs: func() []string { return nil }, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	count := wakes(func(webhook.Outcome) { heard++ }, s)
	for _, step := range []struct {
		outcomes []webhook.Outcome
		reason   string
	}{
		{nil, "start"},
		{[]webhook.Outcome{webhook.Recorded, webhook.Forged}, "start"}, // no other look
		{[]webhook.Outcome{webhook.Stale, webhook.Crowded, webhook.Recorded}, "start"},
		{[]webhook.Outcome{webhook.Unavailable}, "start"},
		{[]webhook.Outcome{webhook.Recorded}, "deliveries could not be recorded for a while"},
	} {
		for _, outcome := range step.outcomes {
			count(outcome)
		}
		now = now.Add(time.Minute)
		s.Tick(t.Context())
		if got := s.State().Reason; got != step.reason {
			t.Errorf("after %v the last look was for %q, want %q", step.outcomes, got, step.reason)
		}
	}
	if heard != 7 {
		t.Errorf("%d deliveries were counted", heard)
	}
}
