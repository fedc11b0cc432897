package console

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestHealth shows what is known of the service: how calls are held back, what the key may do, and
// the webhook with the button that mends it.
func TestHealth(t *testing.T) {
	active, broken := false, errors.New("503: not now")
	var d *desk
	d = newDesk(t, guarded, func(o *Options) {
		o.Checks = func(context.Context) []Check {
			return []Check{
				{Workspace: "default", Kind: CheckService, OK: true, Detail: "https://api.example.com", Version: "1.1.0"},
				{Workspace: "default", Kind: CheckKey, OK: true, Scopes: []string{"messages:send", "conversations:read"}},
				{Workspace: "default", Kind: CheckWebhook, OK: active, Mends: true, Delivery: "failed", At: friday},
				{Workspace: "default", Kind: CheckSubscription, OK: true, Events: "message.received", Missing: "kanban.card.moved", At: friday},
			}
		}
		o.Mend = func(_ context.Context, workspace string, kind CheckKind) error {
			active = broken == nil && workspace == "default" && kind == CheckWebhook
			return broken
		}
		o.Repairs = func(context.Context) []Repair {
			return []Repair{{Workspace: "default", Looked: 120, Calls: 4, Found: 3, Ended: friday, Problem: "the key lacks the scope read, so cards that no webhook told are not found", Counts: map[string]int{"message.received": 1200, "attendance.closed": 2}}}
		}
		o.Limits = func() []Limit {
			return []Limit{{Workspace: "default", PerSecond: 12.5, Until: d.clock().Add(30 * time.Second), Asked: d.clock().Add(-time.Minute), Length: 90 * time.Second, Times: 7}}
		}
	})
	operator := bearer("open-sesame-of-ali")
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	text := timed(d.page("/health", operator))
	for _, want := range []string{
		"12.5 calls in a second", "calls wait until 17:50", "of 1 min 30 s, 1 min ago", "<dd>7</dd>", "API of the service 1.1.0", "Latest delivery: failed for good, 17:50.",
		"Subscribed to message.received. Cannot be subscribed to: kanban.card.moved.", "Looked after: 17:50.",
		"<code class=\"whole\">messages:send</code></td>\n<td><span class=\"badge open\">has it", "<code class=\"whole\">conversations:write</code></td>\n<td><span class=\"badge broken\">lacks it", "Activate the webhook again", "conversations:write",
		"What no webhook told", "<dd>1,202 <span class=\"muted\">attendance.closed 2</span> <span class=\"muted\">message.received 1,200</span>", "last look: 17:50", "120 looked at with 4 calls, 3 found",
		"so cards that no webhook told are not found",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if text := d.page("/", operator); !strings.Contains(text, "does not allow all that the rules do") || !strings.Contains(text, `action="/mend"`) {
		t.Error("what needs a person lacks something, or its button")
	}
	viewer, _ := d.enters("vera", "correct horse")
	if strings.Contains(d.page("/health", viewer), "/mend") {
		t.Error("a viewer is offered to mend")
	}
	form := url.Values{"workspace": {"default"}, "kind": {"webhook"}, "back": {"/health"}}
	if w := d.ask("POST", "/mend", form, operator); w.Code != 502 || !strings.Contains(w.Body.String(), "503: not now") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	broken = nil
	if w := d.ask("POST", "/mend", form, operator); w.Code != 303 || !strings.Contains(w.Header().Get("Location"), "said=mended_webhook") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if text := d.page("/health", operator); strings.Contains(text, "Activate the webhook again") {
		t.Error("the page does not know yet that it is mended")
	}
	for _, wrong := range []url.Values{{"workspace": {"nobody"}, "kind": {"webhook"}}, {"workspace": {"default"}, "kind": {"clock"}}} {
		if w := d.ask("POST", "/mend", wrong, operator); w.Code != 400 {
			t.Errorf("%v: %d", wrong, w.Code)
		}
	}
	entries := must(d.journal.Audits(t.Context(), 0, 10))
	if len(entries) != 3 || entries[0].What != "reactivate" || entries[0].Subject != "default" || entries[1].What != "failed" {
		t.Errorf("%+v", entries)
	}
}
