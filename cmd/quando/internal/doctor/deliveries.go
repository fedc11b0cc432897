package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

const recently = time.Hour // the age up to which deliveries show the present state

// deliveries requests a delivery, if the service reaches the engine, and checks its result or else
// that of the latest one.
func (v *workspaceDoctor) deliveries(ctx context.Context, hook *service.Webhook) {
	last, err := v.last(ctx, hook.ID)
	if err != nil {
		v.found("secret", warning, "", "deliveries cannot be looked at: %v", err)
		v.address(ctx, hook.URL, false)
		return
	}
	fresh := last != nil && cli.Now().Sub(last.At) < recently
	answered := fresh && (last.ResponseStatus/100 == 2 || last.ResponseStatus == http.StatusUnauthorized) // by the engine, after it verified the signature
	reached := v.address(ctx, hook.URL, fresh && last.ResponseStatus/100 == 2) || answered                // the address may be unreachable from inside
	before := last
	if reached && last != nil && v.restarted(ctx, last.At) {
		last, fresh = nil, false
	}
	if reached && hook.Active && v.test {
		if tried := v.tried(ctx, hook.ID, before); tried != nil {
			last, fresh = tried, true
		}
	}
	if (last == nil || last.ResponseStatus == 0) && v.refuses(ctx) {
		last, fresh = &service.Delivery{ResponseStatus: http.StatusUnauthorized, At: cli.Now()}, true
	}
	v.secret(last, fresh)
}

// restarted reports whether the running engine has started since, so that it may have another
// secret than at the time of the answer.
func (v *workspaceDoctor) restarted(ctx context.Context, since time.Time) bool {
	var r storage.Running
	return v.journal != nil && storage.ReadNote(ctx, v.journal, storage.RunningCursor, &r) && r.Since.After(since)
}

// refuses asks the running engine whether it has refused deliveries for their signature, and
// accepted none. If the service does not list its deliveries, that shows a wrong secret.
func (v *workspaceDoctor) refuses(ctx context.Context) bool {
	var r storage.Running
	if v.journal == nil || !storage.ReadNote(ctx, v.journal, storage.RunningCursor, &r) {
		return false
	}
	_, text, err := askEngine(ctx, r, "/metrics", string(v.config.Console.Token))
	counted := func(outcome webhook.Outcome) bool {
		_, rest, ok := strings.Cut(text, fmt.Sprintf("quando_deliveries_total{outcome=%q,workspace=%q} ", string(outcome), v.Name))
		n, _, _ := strings.Cut(rest, "\n")
		return ok && n != "0"
	}
	return err == nil && counted(webhook.Forged) && !counted(webhook.Recorded)
}

// secret derives from the answer to a delivery whether the secret is right.
func (v *workspaceDoctor) secret(last *service.Delivery, fresh bool) {
	const mend = "put the webhook's secret into service.webhook.secrets and start the engine again; if nobody has it any more, replace it: quando webhook rotate"
	switch {
	case last != nil && last.ResponseStatus == http.StatusUnauthorized:
		v.found("secret", failing, mend, "deliveries are answered with 401: the service signs with another secret than the one that is configured, or the clock is wrong")
	case fresh && last.ResponseStatus/100 == 2:
		v.found("secret", well, "", "the last delivery was taken, %s ago", cli.Span(max(0, cli.Now().Sub(last.At))))
	case len(v.Service.Webhook.Secrets) == 0 && v.publicURL() == "":
		v.found("secret", failing, mend, "no signing secret is configured, so every delivery is refused")
	case fresh && last.ResponseStatus != 0:
		v.found("secret", warning, "look at the engine's log; 503 is that it could not record, 404 that the address has another path", "the last delivery was answered with %d", last.ResponseStatus)
	case fresh:
		v.found("secret", warning, "see to the address first", "the last delivery was not answered, so that nobody knows")
	default:
		v.found("secret", warning, "run quando doctor again when something has happened, or try a test event: quando webhook test", "nothing was delivered within %s, so it is not known whether the secret is right", cli.Span(recently))
	}
}

// last returns the latest delivery that was attempted, or nil.
func (v *workspaceDoctor) last(ctx context.Context, hook string) (*service.Delivery, error) {
	list, err := v.client.ListDeliveries(ctx, hook)
	if err != nil {
		return nil, err
	}
	var last *service.Delivery
	for i, d := range list {
		if attempted := d.ResponseStatus != 0 || d.Error != ""; attempted && (last == nil || d.At.After(last.At)) {
			last = &list[i]
		}
	}
	return last, nil
}

// tried requests a test event and returns its result, or nil on timeout.
func (v *workspaceDoctor) tried(ctx context.Context, hook string, before *service.Delivery) *service.Delivery {
	if err := v.client.TestWebhook(ctx, hook); err != nil {
		return nil
	}
	for over := time.Now().Add(patience); time.Now().Before(over) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		last, err := v.last(ctx, hook)
		if err == nil && last != nil && (before == nil || last.ID != before.ID) {
			return last
		}
	}
	return nil
}
