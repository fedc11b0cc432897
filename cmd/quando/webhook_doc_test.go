package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/service/sandbox"
)

// TestWebhookDoc runs the examples of docs/webhooks.md against a sandbox and compares what they
// print.
func TestWebhookDoc(t *testing.T) {
	doc, err := filepath.Abs("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	cli.Now = func() time.Time { return time.Date(2026, 11, 14, 9, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { cli.Now = time.Now })
	t.Chdir(t.TempDir())
	s := must(sandbox.New(sandbox.Options{Seed: 1}))
	defer s.Close()
	address := must(s.Start(t.Context(), "127.0.0.1:0"))
	writeFiles(t, map[string]string{
		"quando.yaml":       fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { public_url: https://hooks.example.com/webhook } }\n", address.BaseURL, address.APIKey),
		"rules/rules.yaml":  "rules:\n  - { id: away-reply, when: message.received, cancel_on: attendance.closed, do: [send_message: Hello] }\n",
		"rules/follow.yaml": "rules:\n  - { id: follow-up, when: kanban.card.moved, do: [{ log: moved }] }\n",
	})
	runDoc(t, doc, 4)
}
