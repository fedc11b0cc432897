package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/alerts"
)

// TestAlertsOnHealth shows that Health says of each way to tell people how it stands, and that an
// operator can send a test, which is audited.
func TestAlertsOnHealth(t *testing.T) {
	t.Parallel()
	list := []alerts.Status{{Way: "Carla", Told: friday}, {Way: "hooks.example.com", Error: "the receiver answered 500"}}
	d := newDesk(t, guarded, func(o *Options) {
		o.Alerts = func(context.Context) ([]alerts.Status, error) { return list, nil }
		o.TestAlerts = func(context.Context) []alerts.Result {
			list[0].Test, list[1].Test = &alerts.Result{Way: "Carla", At: friday}, &alerts.Result{Way: "hooks.example.com", At: friday, Error: "the receiver answered 500"}
			return []alerts.Result{*list[0].Test, *list[1].Test}
		}
	})
	operator := bearer("open-sesame-of-ali")
	has(t, d.page("/health", operator), "Told outside of the console", "<bdi>Carla</bdi>", "Last told at", "An alert waits and is sent again by itself: the receiver answered 500", "Send a test")
	viewer, _ := d.enters("vera", "correct horse")
	if strings.Contains(d.page("/health", viewer), "Send a test") {
		t.Error("a viewer is offered a test")
	}
	if w := d.ask("POST", "/alerts/test", url.Values{}, viewer); w.Code != http.StatusForbidden {
		t.Errorf("a viewer: %d", w.Code)
	}
	if w := d.ask("POST", "/alerts/test", url.Values{"back": {"/health"}}, operator); w.Code != http.StatusSeeOther {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	has(t, d.page("/health", operator), ": sent.", "did not get through: the receiver answered 500")
	entries := must(d.journal.Audits(t.Context(), 0, 2))
	if len(entries) != 2 || entries[1].What != "test_alerts" || entries[0].What != "failed" || entries[0].Who == "" {
		t.Errorf("%+v", entries)
	}
}
