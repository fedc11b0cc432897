package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// An ownOffice is an office whose webhook nobody has registered: quando looks after it.
type ownOffice struct {
	*office
	client *service.Client
	url    string
}

func newOwnOffice(t *testing.T) *ownOffice {
	t.Helper()
	o := &ownOffice{office: newOffice(t)}
	var err error
	if o.client, err = service.New(service.Options{BaseURL: o.address.BaseURL, APIKey: service.Secret(o.address.APIKey)}); err != nil {
		t.Fatal(err)
	}
	by := o.hooks()[0]
	o.url = by.URL
	if err := o.client.DeleteWebhook(t.Context(), by.ID); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *ownOffice) hooks() []service.Webhook {
	o.t.Helper()
	hooks, err := o.client.ListWebhooks(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return hooks
}

// settings returns a configuration with the public url and what is added to the webhook's part.
func (o *ownOffice) settings(webhook string) string {
	return fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { public_url: %q%s } }", o.address.BaseURL, o.address.APIKey, o.url, webhook)
}

// command carries out a command line about the webhook.
func (o *ownOffice) command(args ...string) (code int, out, errOut string) {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"webhook"}, args...)
	code = run(o.t.Context(), append(args, "--config", filepath.Join(o.folder, "quando.yaml")), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// subscribed waits until the webhook is there, active and subscribed to these events.
func (o *ownOffice) subscribed(events ...string) {
	o.t.Helper()
	clitest.Eventually(o.t, func() (bool, string) {
		hooks := o.hooks()
		if len(hooks) != 1 || !hooks[0].Active {
			return false, fmt.Sprintf("%+v\n%s", hooks, o.log)
		}
		return cmp.Equal(hooks[0].Events, events), cmp.Diff(events, hooks[0].Events) + o.log.String()
	})
}

const greet = "rules:\n  - { id: greet, when: message.received, do: [{ log: hello }] }\n"

// TestRunLooksAfterTheWebhook runs quando with nothing but a public url: the webhook is registered,
// follows the rules, is switched on again, and what it delivers is recorded. Its secret is nowhere
// to be read.
func TestRunLooksAfterTheWebhook(t *testing.T) {
	t.Parallel()
	o := newOwnOffice(t)
	o.write("rules/r.yaml", greet)
	o.start(o.settings(", check: 1s"))
	o.subscribed("message.received")
	o.writes("+5511988887777", "hello")
	o.shows(`quando_deliveries_total{outcome="recorded",workspace="default"} 1`, `quando_webhook_active{workspace="default"} 1`, `quando_webhook_trouble{workspace="default"} 0`,
		`quando_webhook_repairs_total{repair="registered",workspace="default"} 1`, `quando_webhook_repairs_total{repair="reactivated",workspace="default"} 0`)

	o.write("rules/more.yaml", "rules:\n  - { id: moved, when: [kanban.card.moved, conversation.updated], do: [{ log: x }] }\n")
	o.subscribed("message.received", "conversation.updated", "kanban.card.moved")
	if err := os.Remove(filepath.Join(o.folder, "rules/more.yaml")); err != nil {
		t.Fatal(err)
	}
	o.subscribed("message.received")

	if _, err := o.client.UpdateWebhook(t.Context(), o.hooks()[0].ID, service.WebhookPatch{Active: service.Set(false)}); err != nil {
		t.Fatal(err)
	}
	o.subscribed("message.received")
	o.logs("the webhook had been switched off; it is active again", map[string]any{"workspace": "default", "repair": "reactivated"})
	o.shows(`quando_webhook_repairs_total{repair="reactivated",workspace="default"} 1`)
	clitest.Eventually(t, func() (bool, string) {
		_, text := o.asks("GET", o.console+"/health", nil, "")
		return strings.Contains(text, "Subscription") && strings.Contains(text, "Subscribed to message.received."), text
	})

	if code, out, errOut := o.command("rotate"); code != 0 || !strings.Contains(out, "is replaced. The one before it is valid until") {
		t.Fatalf("%d %s%s", code, out, errOut)
	}
	o.writes("+5511988887777", "hello again")
	o.shows(`quando_deliveries_total{outcome="recorded",workspace="default"} 2`, `quando_deliveries_total{outcome="bad_signature",workspace="default"} 0`)
	leaked := regexp.MustCompile(`whsec_[^"]+`).FindString(string(o.sandbox.State()))
	if status, _ := o.asks("POST", o.public+"/webhook", signed(leaked, delivery), delivery); status != 202 {
		t.Fatalf("who has the secret gets %d", status)
	}
	if code, out, errOut := o.command("rotate", "--revoke"); code != 0 || !strings.Contains(out, "is replaced. The one before it is not valid any more.") {
		t.Fatalf("%d %s%s", code, out, errOut)
	}
	clitest.Eventually(t, func() (bool, string) {
		status, _ := o.asks("POST", o.public+"/webhook", signed(leaked, delivery), delivery)
		return status == 401, fmt.Sprintf("who has the secret that became known gets %d", status)
	})
	if code, out, errOut := o.command("test"); code != 0 || !strings.Contains(out, "answered 202") {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	_, page := o.asks("GET", o.console+"/health", nil, "")
	log := o.log.String()
	if code := o.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	for name, text := range map[string]string{"the log": log, "a page": page} {
		if strings.Contains(text, "whsec_") {
			t.Errorf("a secret is in %s", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(o.folder, "quando.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err != nil || bytes.Contains(text, []byte("whsec_")) {
			t.Errorf("a secret is in %s, or %v", name, err)
		}
	}
	if info, err := os.Stat(filepath.Join(o.folder, "quando.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v %v", info, err)
	}
}

// TestRunFindsWhatWasMissed has ten deliveries fail for good while quando runs, so that the service
// switches its webhook off. It is switched on again, and what a customer wrote in between is
// answered, once, without the next look of the timer.
func TestRunFindsWhatWasMissed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	o := newOwnOffice(t)
	o.write("rules/r.yaml", "rules:\n  - { id: greet, when: message.received, do: [{ send_message: { text: Welcome back } }] }\n")
	clock := func(at time.Time) {
		t.Helper()
		if _, err := o.sandbox.SetClock(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	fault := func(operation, kind string) {
		t.Helper()
		if err := o.sandbox.AddFault(sandbox.Fault{Operation: operation, Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	clock(time.Now().Add(-8 * time.Hour))
	o.start(o.settings(", check: 1s") + "\nbackfill: { every: 1h }")
	o.subscribed("message.received")
	o.logs("looked for what no webhook told", map[string]any{"reason": "start"})
	fault("delivery", "drop_before")
	fault("PATCH /integrations/webhooks/{id}", "drop_before") // it stays off until the customer has written
	for range 10 {
		o.writes("+5511988887777", "before")
	}
	clock(time.Now())
	if hooks := o.hooks(); len(hooks) != 1 || hooks[0].Active {
		t.Fatalf("the service has not switched it off: %+v", hooks)
	}
	w := o.writes("+5511977776666", "is anybody there?")
	o.sandbox.ClearFaults()
	o.subscribed("message.received")
	o.shows(`quando_found_total{type="message.received",workspace="default"} 1`, `quando_deliveries_total{outcome="recorded",workspace="default"} 0`,
		`quando_runs_total{rule="greet",stage="live",state="done",workspace="default"} 1`)
	page, err := o.client.ListMessages(t.Context(), w.Conversation.String(), service.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range page.Items {
		texts = append(texts, m.Text)
	}
	if !cmp.Equal(texts, []string{"Welcome back", "is anybody there?"}) {
		t.Errorf("the conversation is %q", texts)
	}
}

// TestRunKeepsWhatRunsWaitFor changes a rule while a run of it waits for an event that the changed
// one does not need: the run hears of it all the same.
func TestRunKeepsWhatRunsWaitFor(t *testing.T) {
	t.Parallel()
	o := newOwnOffice(t)
	o.write("rules/r.yaml", "rules:\n  - { id: ask, when: attendance.opened, do: [{ wait_for: { event: message.sent, timeout: 1d } }] }\n")
	o.start(o.settings(", check: 1s"))
	o.subscribed("message.sent", "attendance.opened")
	written := o.writes("+5511988887777", "hello")
	o.shows(`quando_runs{state="waiting"} 1`)
	o.write("rules/r.yaml", "rules:\n  - { id: ask, when: attendance.opened, do: [{ log: x }] }\n")
	o.logs("rules reloaded", map[string]any{"changed": "ask"})
	clitest.Eventually(t, func() (bool, string) {
		return strings.Count(o.log.String(), `"GET /integrations/webhooks/events"`) >= 4, o.log.String()
	})
	o.subscribed("message.sent", "attendance.opened")
	if _, err := o.sandbox.TeamMessage(sandbox.TeamMessage{Conversation: written.Conversation.String(), Person: "Ana", Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	o.shows(`quando_runs_total{rule="ask",stage="live",state="done",workspace="default"} 1`)
	o.subscribed("attendance.opened")
}

// TestWebhookCommands goes through the commands as a person would.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	o := newOwnOffice(t)
	o.write("rules/r.yaml", greet)
	o.config(o.settings(""))
	expect := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errOut := o.command(args...)
		if got != code || !strings.Contains(out+errOut, want) || strings.Contains(out+errOut, "whsec_") {
			t.Errorf("%v: exit %d, %q is missing or a secret is there:\n%s%s", args, got, want, out, errOut)
		}
	}
	expect(0, "None has the address "+o.url+"; quando webhook register makes it", "list")
	expect(1, "there is no webhook with the address", "test")
	expect(1, "there is no webhook with the address", "rotate")
	expect(1, "there is no webhook with the address", "deliveries")
	expect(0, "Registered: "+o.url, "register")
	expect(0, "Registered already: "+o.url, "register")
	expect(0, "ours; message.received", "list")
	expect(0, "No such deliveries.", "deliveries")
	expect(1, "is the engine running", "test", "--wait", "5s")
	expect(2, "--output is text or json", "list", "--output", "xml")
	expect(2, `no workspace "acme"`, "list", "--workspace", "acme")

	o.start(o.settings(""))
	expect(0, "answered 202", "test")
	expect(0, "webhook.test", "deliveries")
	o.writes("+5511988887777", "hello")
	var list struct {
		Deliveries []struct {
			Type           string
			ResponseStatus int `json:"response_status"`
		}
		Webhooks []struct {
			Own, Active bool
			Events      []string
		}
	}
	_, out, _ := o.command("deliveries", "--output", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Deliveries) != 3 || list.Deliveries[0].Type != "message.received" || list.Deliveries[0].ResponseStatus != 202 {
		t.Errorf("%v %s", err, out)
	}
	_, out, _ = o.command("list", "--output", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Webhooks) != 1 || !list.Webhooks[0].Own || !list.Webhooks[0].Active || !cmp.Equal(list.Webhooks[0].Events, []string{"message.received"}) {
		t.Errorf("%v %s", err, out)
	}
	expect(0, `"old_valid_until"`, "rotate", "--output", "json")
	expect(0, `"ok": true`, "test", "--output", "json")
	expect(0, `"done": []`, "register", "--output", "json")
	if _, err := o.client.UpdateWebhook(t.Context(), o.hooks()[0].ID, service.WebhookPatch{Active: service.Set(false)}); err != nil {
		t.Fatal(err)
	}
	expect(1, "is inactive", "test")
	expect(0, "It had been switched off and is active again.", "register")
	must(o.client.RotateSecret(t.Context(), o.hooks()[0].ID))
	expect(1, "its signature was refused", "test")
}

// TestWebhookTrouble shows that every command says what to do when it cannot be done.
func TestWebhookTrouble(t *testing.T) {
	o := newOwnOffice(t)
	o.write("rules/r.yaml", greet)
	o.write("none/r.yaml", "rules:\n  - { id: tick, when: { every: 1h }, do: [{ log: x }] }\n")
	key := must(o.sandbox.NewKey(sandbox.NewKey{Scopes: []string{"messages:read"}}))
	for _, tt := range []struct {
		name, config, want string
		code               int
	}{
		{"no public url", o.service(), "service.webhook.public_url; set it to the https address", 2},
		{"no scope", strings.Replace(o.settings(""), o.address.APIKey, key.APIKey, 1), "give it the scope webhooks:manage", 2},
		{"a refused address", strings.Replace(o.settings(""), o.url, "http://hooks.example.com", 1), "refuses the address http://hooks.example.com", 2},
		{"rules that need nothing", o.settings("") + "\nrules: none", "need no event that can be subscribed to", 1},
		{"a bad key", o.settings("") + "\nsecret_key: hush", "QUANDO_SECRET_KEY): a key is 32 bytes", 2},
		{"several workspaces", "workspaces: { a: { " + o.settings("") + " }, b: { " + o.settings("") + " } }", "name one of them with --workspace: a, b", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o.config(tt.config)
			code, out, errOut := o.command("register")
			if code != tt.code || out != "" || !strings.Contains(errOut, tt.want) {
				t.Errorf("exit %d\n%s%s", code, out, errOut)
			}
		})
	}
	for range 20 {
		must(o.client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "x", URL: "https://hooks.example.com", Events: []string{"message.sent"}}))
	}
	o.config(o.settings(""))
	if code, _, errOut := o.command("register"); code != 2 || !strings.Contains(errOut, "at most 20") || !strings.Contains(errOut, "quando webhook list") {
		t.Errorf("exit %d\n%s", code, errOut)
	}
}

// TestRunWithAnotherKey shows that an engine with the wrong key starts, says what is wrong, and
// refuses what it cannot verify.
func TestRunWithAnotherKey(t *testing.T) {
	o := newOwnOffice(t)
	o.write("rules/r.yaml", greet)
	o.config(o.settings(""))
	if code, _, errOut := o.command("register"); code != 0 {
		t.Fatal(errOut)
	}
	t.Setenv("QUANDO_SECRET_KEY", strings.Repeat("ab", 32))
	o.start(o.settings(", check: 1s"))
	o.logs("the signing secret cannot be read, so deliveries are refused unless a configured one fits", nil)
	o.writes("+5511988887777", "hello")
	o.shows(`quando_deliveries_total{outcome="recorded",workspace="default"} 0`, `quando_webhook_trouble{workspace="default"} 1`)
	if code, _, errOut := o.command("rotate"); code != 0 {
		t.Fatal(errOut)
	}
	must(o.sandbox.Advance(t.Context(), time.Minute))
	o.shows(`quando_deliveries_total{outcome="recorded",workspace="default"} 1`, `quando_webhook_trouble{workspace="default"} 0`)
	j, err := storage.Open(t.Context(), filepath.Join(o.folder, "quando.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if events := must(j.ListEvents(t.Context(), journal.EventFilter{})); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

// TestRunSameAddress shows that two workspaces cannot have one address: only one of them would be
// delivered to.
func TestRunSameAddress(t *testing.T) {
	o := newOwnOffice(t)
	name := o.config("workspaces: { a: { " + o.settings("") + " }, b: { " + o.settings("") + " } }")
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"run", "--config", name}, strings.NewReader(""), &out, &errOut); code != 2 || !strings.Contains(errOut.String(), "the workspace a has the same address") {
		t.Errorf("%d %s", code, errOut.String())
	}
}

// TestRunSharedWebhook lets two engines share a journal in PostgreSQL: they register one webhook
// and ask for one secret, both know it, also after it was rotated by a command, and what each of
// them receives is recorded once.
func TestRunSharedWebhook(t *testing.T) {
	o := newOwnOffice(t)
	t.Setenv("QUANDO_SECRET_KEY", strings.Repeat("ab", 32))
	settings := o.settings(", check: 1s") + fmt.Sprintf("\njournal: %q", postgrestest.Shared(t).Database(t))
	other := &office{t: t, sandbox: o.sandbox, address: o.address, folder: t.TempDir()}
	t.Cleanup(func() {
		if other.end != nil {
			other.stop()
		}
	})
	for _, of := range []*office{o.office, other} {
		of.write("rules/r.yaml", greet)
		of.start(settings)
	}
	o.subscribed("message.received")
	write := func(from int) {
		for i := range 10 {
			o.mu.Lock()
			o.target = []string{o.public, other.public}[i%2] + "/webhook"
			o.mu.Unlock()
			o.writes(fmt.Sprintf("+55119888800%02d", from+i), "good morning")
		}
	}
	write(0)
	if code, _, errOut := o.command("rotate"); code != 0 {
		t.Fatal(errOut)
	}
	write(10)
	must(o.sandbox.Advance(t.Context(), time.Minute)) // what came while nobody knew the secret yet comes again
	for _, of := range []*office{o.office, other} {
		of.shows(`quando_deliveries_total{outcome="recorded",workspace="default"} 10`, `quando_webhook_active{workspace="default"} 1`)
	}
	asked := map[string]int{}
	for _, e := range o.sandbox.Effects() {
		if strings.Contains(e.Operation, "/integrations/webhooks") {
			asked[e.Operation]++
		}
	}
	// One registration and one deletion are the office's own.
	if diff := cmp.Diff(map[string]int{"POST /integrations/webhooks": 2, "DELETE /integrations/webhooks/{id}": 1, "POST /integrations/webhooks/{id}/rotate-secret": 1}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
