package service

import (
	"context"
	"maps"
	"strings"
	"time"
)

var (
	opListWebhooks    = Operation{"GET", "/integrations/webhooks", "webhooks:manage"}
	opRegisterWebhook = Operation{"POST", "/integrations/webhooks", "webhooks:manage"}
	opListEvents      = Operation{"GET", "/integrations/webhooks/events", "webhooks:manage"}
	opUpdateWebhook   = Operation{"PATCH", "/integrations/webhooks/{id}", "webhooks:manage"}
	opDeleteWebhook   = Operation{"DELETE", "/integrations/webhooks/{id}", "webhooks:manage"}
	opRotateSecret    = Operation{"POST", "/integrations/webhooks/{id}/rotate-secret", "webhooks:manage"}
	opTestWebhook     = Operation{"POST", "/integrations/webhooks/{id}/test", "webhooks:manage"}
	opListDeliveries  = Operation{"GET", "/integrations/webhooks/{id}/deliveries", "webhooks:manage"}
)

var webhookOperations = []Operation{opListWebhooks, opRegisterWebhook, opListEvents, opUpdateWebhook, opDeleteWebhook, opRotateSecret, opTestWebhook, opListDeliveries}

// Webhook is an address that receives events.
type Webhook struct {
	ID        string
	Name      string
	URL       string
	Events    []string
	Active    bool
	Secret    Secret // shown once, on registration and rotation
	CreatedAt time.Time
	UpdatedAt time.Time
	Raw       map[string]any // without the secret
}

// DecodeWebhook reads a webhook through the profile. The secret is kept out of Raw, which may be
// stored.
func DecodeWebhook(raw map[string]any, p *Profile) Webhook {
	f, n := fields(raw), &p.Webhook
	return Webhook{
		ID: f.id(n.ID), Name: f.str(n.Name), URL: f.str(n.URL), Events: f.strs(n.Events), Active: f.flag(n.Active), Secret: Secret(f.str(n.Secret)),
		CreatedAt: f.time(n.CreatedAt), UpdatedAt: f.time(n.UpdatedAt), Raw: redact(raw, n.Secret),
	}
}

// redact copies an object with the values at the paths removed.
func redact(raw map[string]any, paths Paths) map[string]any {
	for _, path := range paths {
		name, rest, nested := strings.Cut(path, ".")
		v, ok := raw[name]
		if !ok || v == nil {
			continue
		}
		if nested {
			inner, ok := v.(map[string]any)
			if !ok {
				continue
			}
			v = redact(inner, Paths{rest})
		} else {
			v = redacted
		}
		raw = maps.Clone(raw)
		raw[name] = v
	}
	return raw
}

// ListWebhooks lists the registered webhooks.
func (c *Client) ListWebhooks(ctx context.Context) ([]Webhook, error) {
	return all(ctx, c, request{op: opListWebhooks}, DecodeWebhook)
}

// NewWebhook is an address to register. All fields are required, and the URL must be https.
type NewWebhook struct {
	Name   string   `json:"name"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
}

// RegisterWebhook registers an address. The answer's Secret is not shown again.
func (c *Client) RegisterWebhook(ctx context.Context, n NewWebhook) (Webhook, error) {
	o := opRegisterWebhook
	if n.Name == "" || n.URL == "" || len(n.Events) == 0 {
		return Webhook{}, invalid(o, "a webhook needs a name, a url and at least one event")
	}
	w, out, err := created(ctx, c, request{op: o, body: n}, "webhook", c.profile.Webhook.ID, DecodeWebhook)
	return c.withSecret(w, out), err
}

// ListEvents lists the names of the events that can be subscribed to.
func (c *Client) ListEvents(ctx context.Context) ([]string, error) {
	r := request{op: opListEvents}
	out, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	items, _, err := pageOf[string](c.profile, out.value)
	if err != nil {
		return nil, &Error{Op: r.op.String(), Status: 200, Scope: r.op.Scope, Message: "the answer is not a list", Err: err}
	}
	var names []string
	for _, item := range items {
		if name, ok := asString(item); ok {
			names = append(names, name)
		} else if m, ok := asObject(item); ok {
			names = append(names, fields(m).str(c.profile.Webhook.EventName))
		}
	}
	return names, nil
}

// WebhookPatch changes the fields that are set. Active true reactivates a webhook that failed too
// often.
type WebhookPatch struct {
	Name   Opt[string]   `json:"name,omitzero"`
	URL    Opt[string]   `json:"url,omitzero"`
	Events Opt[[]string] `json:"events,omitzero"`
	Active Opt[bool]     `json:"active,omitzero"`
}

// UpdateWebhook sets absolute values, so a repeat is harmless.
func (c *Client) UpdateWebhook(ctx context.Context, id string, p WebhookPatch) (Webhook, error) {
	v, _, err := one(ctx, c, request{op: opUpdateWebhook, id: id, body: p}, "webhook", c.profile.Webhook.ID, DecodeWebhook)
	return v, err
}

// DeleteWebhook removes a webhook.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{op: opDeleteWebhook, id: id})
	return err
}

// RotateSecret replaces the signing secret and returns the new one. It must not be repeated
// blindly: each call makes another secret.
func (c *Client) RotateSecret(ctx context.Context, id string) (Webhook, error) {
	r := request{op: opRotateSecret, id: id}
	w, out, err := one(ctx, c, r, "webhook", c.profile.Webhook.ID, DecodeWebhook)
	if err != nil {
		return w, err
	}
	if w = c.withSecret(w, out); w.Secret == "" {
		return w, &Error{Op: r.op.String(), Status: 200, Scope: r.op.Scope, Uncertain: true,
			Message: "the secret was replaced, but the answer carries it under no name the profile knows (webhook.secret)"}
	}
	if w.ID == "" {
		w.ID = id
	}
	return w, nil
}

// withSecret finds the secret beside a wrapped webhook, where some services put it.
func (c *Client) withSecret(w Webhook, out reply) Webhook {
	if m, ok := out.value.(map[string]any); ok && w.Secret == "" {
		w.Secret = Secret(fields(m).str(c.profile.Webhook.Secret))
	}
	return w
}

// TestWebhook asks the service to send a test event.
func (c *Client) TestWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{op: opTestWebhook, id: id})
	return err
}

// Delivery is one attempt, or a series of attempts, to deliver an event.
type Delivery struct {
	ID             string
	EventID        string
	EventType      string
	Attempt        int
	Status         string
	ResponseStatus int // 0: no answer
	Error          string
	At             time.Time
	NextAttemptAt  *time.Time
	Raw            map[string]any
}

// DecodeDelivery reads a delivery through the profile.
func DecodeDelivery(raw map[string]any, p *Profile) Delivery {
	f, n := fields(raw), &p.Delivery
	return Delivery{
		ID: f.id(n.ID), EventID: f.id(n.EventID), EventType: f.str(n.EventType), Attempt: f.int(n.Attempt), Status: f.str(n.Status),
		ResponseStatus: f.int(n.ResponseStatus), Error: f.str(n.Error), At: f.time(n.At), NextAttemptAt: f.optTime(n.NextAttemptAt), Raw: raw,
	}
}

// ListDeliveries lists the latest deliveries of a webhook.
func (c *Client) ListDeliveries(ctx context.Context, id string) ([]Delivery, error) {
	return all(ctx, c, request{op: opListDeliveries, id: id}, DecodeDelivery)
}
