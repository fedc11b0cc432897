package subscription

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/quandohq/quando/service"
)

// maxWebhooks is how many webhooks the service allows per company.
const maxWebhooks = 20

// Find returns the webhook of our address, or nil, and all webhooks of the company.
func (s *Subscription) Find(ctx context.Context) (own *service.Webhook, all []service.Webhook, err error) {
	r, err := s.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err = s.options.Client.ListWebhooks(ctx)
	if err != nil {
		return nil, nil, explain(err)
	}
	own, _ = s.ownWebhook(all, r)
	return own, all, nil
}

// ownWebhook returns the webhook of our address: of several, the one whose secret is known, else an
// active one. If there are several, it returns an error besides.
func (s *Subscription) ownWebhook(hooks []service.Webhook, r *record) (own *service.Webhook, several error) {
	n := 0
	for i := range hooks {
		h := &hooks[i]
		if !SameAddress(h.URL, s.options.URL) {
			continue
		}
		n++
		switch {
		case own == nil, own.ID != r.Webhook && h.ID == r.Webhook, own.ID != r.Webhook && !own.Active && h.Active:
			own = h
		}
	}
	if n > 1 {
		several = fmt.Errorf("%d webhooks have the address %s; what the others than %s deliver is refused: delete them in the service's settings", n, s.options.URL, own.ID)
	}
	return own, several
}

// SameAddress reports whether two URLs are equal but for their spelling.
func SameAddress(a, b string) bool { return a == b || plainAddress(a) == plainAddress(b) }

func plainAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// noWebhook is the error that no webhook is registered, with the remedy.
func (s *Subscription) noWebhook() error {
	return fmt.Errorf("there is no webhook with the address %s; quando webhook register makes it", s.options.URL)
}

// Test requests a test event from the service.
func (s *Subscription) Test(ctx context.Context, webhook string) error {
	return explain(s.options.Client.TestWebhook(ctx, webhook))
}

// explain adds the remedy to an error of the service.
func explain(err error) error {
	e, ok := errors.AsType[*service.Error](err)
	if ok && e.Status == http.StatusForbidden && !e.Local {
		return fmt.Errorf("the API key may not look after webhooks: give it the scope webhooks:manage, or look after the webhook by hand, with service.webhook.secrets and without public_url: %w", err)
	}
	return err
}

// refusedAddress explains why an address cannot be registered.
func (s *Subscription) refusedAddress(err error, registered int) error {
	e, ok := errors.AsType[*service.Error](err)
	switch {
	case !ok || e.Local || e.Status < 400 || e.Status >= 500 || e.Status == http.StatusTooManyRequests || service.IsRefused(err):
		return explain(err)
	case registered >= maxWebhooks:
		return fmt.Errorf("the company has %d webhooks, and the service takes at most %d: delete one that nobody needs in the service's settings; quando webhook list shows them: %w", registered, maxWebhooks, err)
	}
	return fmt.Errorf("the service refuses the address %s: it must be https and reachable from the internet, without redirects; set service.webhook.public_url to such an address: %w", s.options.URL, err)
}
