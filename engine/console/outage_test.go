package console

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// fine is a desk whose service answers checks, whatever becomes of its calls.
func fine(o *Options) {
	o.Checks = func(context.Context) []Check {
		return []Check{{Workspace: "default", Kind: CheckService, OK: true, Detail: "https://api.example.com"}, {Workspace: "default", Kind: CheckWebhook, OK: true}, {Kind: CheckJournal, OK: true}}
	}
}

// has reports what is missing in a page.
func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestOutageOfSends shows that people see it when the service answers checks and takes no message:
// since when, how often, who tries again and when, and that they can stop it.
func TestOutageOfSends(t *testing.T) {
	t.Parallel()
	d := newDesk(t, fine)
	d.says(marina, "Marina Souza", "Oi!")
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	if text := d.page("/health"); !strings.Contains(text, "Last answer: 17:50.") || strings.Contains(text, "needs care") {
		t.Errorf("before the outage: %s", text)
	}
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 503}); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Minute)
	d.says(bento, "Bento", "Alguém aí?")
	if text := d.page("/"); strings.Contains(text, "do not get through") {
		t.Error("one failure is an outage")
	}
	for range 28 {
		d.pass(time.Minute)
	}
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	today := d.page("/")
	if run := timed(d.page("/runs/" + itoa(d.runOf("greet")))); strings.Count(run, `<li class="missed"><span>17:5`) < 2 || !strings.Contains(run, "tried · ") {
		t.Error("the run does not tell its attempts")
	}
	has(t, today, "Messages and changes do not get through to the service", "Since 17:51 the service answers 503: 1", " attempts.", "1 run tries again, next: 18:2", `href="/runs?state=running">Show<`, `<button class="danger" type="submit">Stop</button>`)
	if strings.Contains(today, "Everything runs by itself") {
		t.Error("Today says that everything runs by itself")
	}
	health := d.page("/health")
	has(t, health, `<li class="bad"><strong>Messages and changes</strong>`, "Since 17:51 the service answers 503", `<li class="bad"><strong>Service</strong>`, `<li class="ok"><strong>Questions to the service</strong>`)
	// The runs that Show lists are those that try again.
	has(t, d.page("/runs?state=running"), "Bento")

	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "reason": {"it takes nothing"}})
	has(t, d.page("/"), "The workspace default is stopped")
	d.ask("POST", "/resume", url.Values{"workspace": {"default"}})
	d.ClearFaults()
	for range 6 {
		d.pass(time.Minute)
	}
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	if text := d.page("/") + d.page("/health"); strings.Contains(text, "503") || strings.Contains(text, "needs care") {
		t.Error("the outage is not over")
	}
}

// TestOutageAfterARestart shows that an outage is known from the journal too, by runs that repeat a
// step, before this process has made calls of its own.
func TestOutageAfterARestart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, fine)
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 503}); err != nil {
		t.Fatal(err)
	}
	d.says(bento, "Bento", "Alguém aí?")
	for range 5 {
		d.pass(time.Minute)
	}
	d.options.Calls = nil
	d.console = must(New(d.options))
	has(t, d.page("/"), "Messages and changes do not get through to the service", "Calls fail since 17:50: ", "1 run tries again")
}

// TestOutageOfReads shows the same for a service that takes messages and answers no question.
func TestOutageOfReads(t *testing.T) {
	t.Parallel()
	d := newDesk(t, fine)
	d.says(marina, "Marina Souza", "Oi!")
	for _, operation := range []string{"GET /conversations/{id}", "GET /attendances/{id}", "GET /attendances", "GET /conversations/{id}/messages"} {
		if err := d.AddFault(sandbox.Fault{Operation: operation, Kind: "drop_before"}); err != nil {
			t.Fatal(err)
		}
	}
	d.pass(64*time.Hour + 30*time.Minute) // Monday, when the reminder is due
	for range 30 {
		d.pass(10 * time.Minute)
	}
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	has(t, d.page("/"), "The service does not answer questions, so rules wait", "there is no answer: ", " attempts.")
	has(t, d.page("/health"), `<li class="bad"><strong>Questions to the service</strong>`, `<li class="bad"><strong>Service</strong>`)
}

// TestOutageOfWebhookAndDisk shows that Today and Health say it when nothing arrives, and when
// nothing can be recorded.
func TestOutageOfWebhookAndDisk(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(o *Options) {
		o.Checks = func(context.Context) []Check {
			return []Check{{Workspace: "default", Kind: CheckService, OK: true}, {Workspace: "default", Kind: CheckWebhook, Delivery: "retrying", At: friday}, {Kind: CheckJournal, Detail: "database or disk is full"}}
		}
	})
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	has(t, d.page("/"), "Events do not arrive by the webhook of the workspace default", "Nothing can be recorded, so nothing is handled", "database or disk is full")
	has(t, d.page("/health"), `<li class="bad"><strong>Webhook</strong>`, `<li class="bad"><strong>Disk</strong>`)
}
