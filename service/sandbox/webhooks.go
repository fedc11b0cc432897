package sandbox

import (
	"net/http"
	"slices"
	"strings"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func webhookOperations() []*operation {
	return []*operation{
		read("GET /integrations/webhooks", "webhooks:manage", (*Sandbox).listWebhooks),
		change("POST /integrations/webhooks", "webhooks:manage", http.StatusCreated, (*Sandbox).registerWebhook),
		read("GET /integrations/webhooks/events", "webhooks:manage", (*Sandbox).listEvents),
		change("PATCH /integrations/webhooks/{id}", "webhooks:manage", http.StatusOK, (*Sandbox).patchWebhook),
		change("DELETE /integrations/webhooks/{id}", "webhooks:manage", http.StatusNoContent, (*Sandbox).deleteWebhook),
		change("POST /integrations/webhooks/{id}/rotate-secret", "webhooks:manage", http.StatusOK, (*Sandbox).rotateSecret),
		change("POST /integrations/webhooks/{id}/test", "webhooks:manage", http.StatusOK, (*Sandbox).testWebhook),
		read("GET /integrations/webhooks/{id}/deliveries", "webhooks:manage", (*Sandbox).listDeliveries),
	}
}

const (
	maxWebhooks  = 20 // addresses of a company
	secretPrefix = "whsec_"
)

// secretView is a webhook with its signing secret, as shown once.
type secretView struct {
	*Webhook
	Secret string `json:"secret"`
}

func (s *Sandbox) listWebhooks(*call) (any, error) { return listOf(s.store.Webhooks), nil }

func (s *Sandbox) listEvents(*call) (any, error) { return listOf(s.available()), nil }

func (s *Sandbox) hook(c *call) (*Webhook, error) {
	if hook := s.store.Webhook(c.id); hook != nil {
		return hook, nil
	}
	return nil, store.NotFound("webhook", c.id)
}

// checkEvents refuses events that cannot be chosen.
func (s *Sandbox) checkEvents(events []string) error {
	if len(events) == 0 {
		return store.Invalid("events must name at least one of %s", strings.Join(s.available(), ", "))
	}
	for _, name := range events {
		if !slices.Contains(s.available(), name) {
			return store.Invalid("events: %q cannot be chosen%s; GET /integrations/webhooks/events lists those that can",
				name, store.DidYouMean(name, s.available()))
		}
	}
	return nil
}

func (s *Sandbox) registerWebhook(c *call) (any, error) {
	var in struct {
		Name   field[string]   `json:"name"`
		URL    field[string]   `json:"url"`
		Events field[[]string] `json:"events"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Name.Value == "":
		return nil, store.Invalid("name is required")
	case in.URL.Value == "":
		return nil, store.Invalid("url is required")
	case !in.Events.Set:
		return nil, store.Invalid("events is required")
	}
	if err := checkAddress(in.URL.Value, s.options.AllowLoopback); err != nil {
		return nil, store.Invalid("url: %v", err)
	}
	if err := s.checkEvents(in.Events.Value); err != nil {
		return nil, err
	}
	if len(s.store.Webhooks) >= maxWebhooks {
		return nil, store.Conflict("a company has at most %d webhooks; delete one first", maxWebhooks)
	}
	hook := &Webhook{
		ID: s.ids.ID(), Name: in.Name.Value, URL: in.URL.Value, Events: in.Events.Value,
		Active: true, CreatedAt: s.now(), UpdatedAt: s.now(), Secret: s.ids.Token(secretPrefix),
	}
	s.store.Webhooks = append(s.store.Webhooks, hook)
	s.effect(c, hook.ID, "webhook", nil, encode(hook), "")
	return secretView{hook, hook.Secret}, nil
}

// patchWebhook edits a webhook. Activating it resets its failure count.
func (s *Sandbox) patchWebhook(c *call) (any, error) {
	hook, err := s.hook(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		Name   field[string]   `json:"name"`
		URL    field[string]   `json:"url"`
		Events field[[]string] `json:"events"`
		Active field[bool]     `json:"active"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Name.Set && in.Name.Value == "":
		return nil, store.Invalid("name must not be empty")
	case in.Active.Null:
		return nil, store.Invalid("active is true or false, not null")
	}
	if in.URL.Set {
		if err := checkAddress(in.URL.Value, s.options.AllowLoopback); err != nil {
			return nil, store.Invalid("url: %v", err)
		}
	}
	if in.Events.Set {
		if err := s.checkEvents(in.Events.Value); err != nil {
			return nil, err
		}
	}
	was := encode(hook)
	var changed []string
	set(&hook.Name, in.Name, "name", &changed)
	set(&hook.URL, in.URL, "url", &changed)
	set(&hook.Active, in.Active, "active", &changed)
	if in.Events.Set && !slices.Equal(hook.Events, in.Events.Value) {
		hook.Events = in.Events.Value
		changed = append(changed, "events")
	}
	if in.Active.Value {
		hook.Failures = 0
	}
	if len(changed) > 0 {
		hook.UpdatedAt = s.now()
		s.effect(c, hook.ID, "webhook", was, encode(hook), "")
	}
	return hook, nil
}

func (s *Sandbox) deleteWebhook(c *call) (any, error) {
	hook, err := s.hook(c)
	if err != nil {
		return nil, err
	}
	s.store.Webhooks = slices.DeleteFunc(slices.Clone(s.store.Webhooks), func(h *Webhook) bool { return h == hook })
	s.abandon(hook)
	s.effect(c, hook.ID, "webhook", encode(hook), nil, "")
	return nil, nil
}

// rotateSecret replaces the secret; every later attempt, retries included, is signed with the new
// one.
func (s *Sandbox) rotateSecret(c *call) (any, error) {
	hook, err := s.hook(c)
	if err != nil {
		return nil, err
	}
	was := encode(hook)
	hook.Secret = s.ids.Token(secretPrefix)
	hook.UpdatedAt = s.now()
	s.effect(c, hook.ID, "webhook", was, encode(hook), "")
	return secretView{hook, hook.Secret}, nil
}

// testWebhook sends a test event, whatever the webhook is subscribed to.
func (s *Sandbox) testWebhook(c *call) (any, error) {
	hook, err := s.hook(c)
	if err != nil {
		return nil, err
	}
	if !hook.Active {
		return nil, store.Conflict("the webhook is inactive; activate it with PATCH {\"active\": true}")
	}
	id := s.ids.ID()
	body := encode(event{ID: id, Type: webhookTest, CreatedAt: s.now(), TenantID: s.store.TenantID,
		Data: map[string]string{"message": "This is a test event."}})
	return s.deliver(hook, id, webhookTest, body), nil
}

// latestDeliveries is how many deliveries the list shows.
const latestDeliveries = 100

// listDeliveries gives the latest deliveries, the newest first.
func (s *Sandbox) listDeliveries(c *call) (any, error) {
	hook, err := s.hook(c)
	if err != nil {
		return nil, err
	}
	var latest []*Delivery
	for i := len(hook.Deliveries) - 1; i >= 0 && len(latest) < latestDeliveries; i-- {
		d := hook.Deliveries[i]
		if s.now().Sub(d.Created) >= store.DeliveriesKeptFor {
			break
		}
		latest = append(latest, d)
	}
	return listOf(latest), nil
}
