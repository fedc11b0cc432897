package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service"
)

// TestRunConsole shows that run serves the console, wherever its journal is.
func TestRunConsole(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { runConsole(t, "quando.db") })
	t.Run("PostgreSQL", func(t *testing.T) { runConsole(t, postgrestest.Shared(t).Database(t)) })
}

// runConsole looks at the console: the rules as they stand, the service as it is, who wrote, what
// people did; nobody who watches holds up a stop.
func runConsole(t *testing.T, journal string) {
	o := newOffice(t)
	o.write("rules/r.yaml", "# ours\nrules:\n  - id: first\n    when: manual\n    do:\n      - log: one # kept\n  - id: second\n    when: manual\n    do: [{ log: two }]\n")
	o.start(o.service() + fmt.Sprintf("\njournal: %q", journal))
	page := func(path string) string {
		_, text := o.asks("GET", o.console+path, nil, "")
		return text
	}
	if text := page("/rules/default/first"); !strings.Contains(text, "- log: one # kept") || !strings.Contains(text, `name="own" value="first"`) {
		t.Errorf("the rule's own text is not shown:\n%s", text)
	}
	o.write("rules/r.yaml", "rules:\n  - { id: first, when: nonsense, do: [{ log: one }] }\n")
	clitest.Eventually(t, func() (bool, string) {
		text := page("/")
		return strings.Contains(text, "The rule “first” is not in use as it is written"), text
	})
	clitest.Eventually(t, func() (bool, string) {
		text := page("/health")
		return strings.Contains(text, o.address.BaseURL) && !strings.Contains(text, o.address.APIKey), text
	})
	o.writes("+5511988887777", "hello")
	beside, err := storage.Open(t.Context(), (&config.Config{Folder: o.folder, Journal: journal}).JournalPath(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	clitest.Eventually(t, func() (bool, string) { // although nobody looks for her in the console
		found, err := beside.FindLanes(t.Context(), "ana", 1)
		return err == nil && len(found) == 1, "Ana is not found"
	})
	if text := page("/conversations?q=ana"); !strings.Contains(text, "5511988887777</bdi>") {
		t.Errorf("Ana is not found:\n%s", text)
	}
	o.asks("POST", o.console+"/pause", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "workspace=default&rule=second&reason=tea&back=/audit")
	if text := page("/audit"); !strings.Contains(text, "tea") {
		t.Errorf("it is not told who stopped what:\n%s", text)
	}
	resp, err := http.Get(o.console + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if code := o.stop(); code != 0 {
		t.Errorf("the stop ends with %d", code)
	}
	if _, err := io.ReadAll(resp.Body); err != nil { // the stop waits for some seconds, and then cuts off
		t.Errorf("who watches was waited for: %v", err)
	}
}

// TestRunMendsTheWebhook shows that a webhook which the service has deactivated is told of, and
// activated again with a button.
func TestRunMendsTheWebhook(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	client, err := service.New(service.Options{BaseURL: o.address.BaseURL, APIKey: service.Secret(o.address.APIKey)})
	if err != nil {
		t.Fatal(err)
	}
	hook := func() service.Webhook {
		t.Helper()
		hooks, err := client.ListWebhooks(t.Context())
		if err != nil || len(hooks) != 1 {
			t.Fatal(hooks, err)
		}
		return hooks[0]
	}
	o.write("rules/r.yaml", "rules:\n  - { id: greet, when: message.received, do: [{ send_message: hello }] }\n")
	o.start(strings.Replace(o.service(), "webhook: {", "rate: 5/s, webhook: { public_url: "+hook().URL+",", 1))
	o.shows(`quando_webhook_active{workspace="default"} 1`) // the engine looks again after 50 seconds
	if _, err := client.UpdateWebhook(t.Context(), hook().ID, service.WebhookPatch{Active: service.Set(false)}); err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, func() (bool, string) {
		_, text := o.asks("GET", o.console+"/", nil, "")
		return strings.Contains(text, "Activate the webhook again"), text
	})
	_, text := o.asks("POST", o.console+"/mend", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "workspace=default&kind=webhook&back=/health")
	if !hook().Active || !strings.Contains(text, "The webhook is active again.") || !strings.Contains(text, "5 calls in a second") || !strings.Contains(text, "API of the service 1.1.0") || !strings.Contains(text, ">messages:send</code>") {
		t.Errorf("active: %t\n%s", hook().Active, text)
	}
}
