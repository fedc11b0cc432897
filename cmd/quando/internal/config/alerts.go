package config

import (
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// Alerts is who is told outside of the console what needs a person.
type Alerts struct {
	People  []string // by their names in people
	Webhook struct {
		URL    string
		Secret service.Secret
	}
	Linger   time.Duration
	Limit    duration.Rate
	Language string // en or pt
}

// None reports whether nobody is told.
func (a *Alerts) None() bool { return len(a.People) == 0 && a.Webhook.URL == "" }

func (a *Alerts) settings() settings {
	return settings{
		{"alerts.people", someTexts(&a.People, "name persons of people, or take the setting away")},
		{"alerts.webhook.url", webAddress(&a.Webhook.URL)},
		{"alerts.webhook.secret", secret(&a.Webhook.Secret)},
		{"alerts.linger", period(&a.Linger)},
		{"alerts.limit", bound(&a.Limit)},
		{"alerts.language", choice(&a.Language, "en", "pt")},
	}
}

// webAddress reads an address that is https, or http on this machine.
func webAddress(to *string) func(*reader, *source.Node) {
	return func(d *reader, n *source.Node) {
		s, ok := d.scalar(n)
		if !ok {
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			d.report(n, say("as in %s", "https://example.com/alerts"), "the address must begin with https://")
			return
		}
		*to = s
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkAlerts reports what the settings of alerts lack.
func (c *Config) checkAlerts(d *reader, root *source.Node) {
	at := func(keys ...string) *source.Node {
		n := root
		for _, key := range keys {
			if below := n.Get(key); below != nil {
				n = below
			}
		}
		if n == nil {
			return source.Text("$QUANDO_"+strings.ToUpper(strings.Join(keys, "_")), "")
		}
		return n
	}
	for _, name := range c.Alerts.People {
		if _, _, ok := c.Alerted(name); !ok {
			d.report(at("alerts", "people"), say("as in %s", "people: { Carla: { phone: \"+5511999990000\", channel: Main } }"), "alerts names %s, who is not among people", name)
		}
	}
	_, fromEnvironment := os.LookupEnv("QUANDO_ALERTS_WEBHOOK_SECRET")
	written := fromEnvironment || root.Get("alerts").Get("webhook").Get("secret") != nil
	switch {
	case c.Alerts.Webhook.URL != "" && !written:
		d.report(at("alerts", "webhook"), say("as in %s", "secret: \"${ALERTS_SECRET}\""), "the webhook of alerts needs a secret, by which its receiver knows that it is you")
	case c.Alerts.Webhook.URL == "" && c.Alerts.Webhook.Secret != "" && len(d.problems) == 0:
		d.report(at("alerts", "webhook"), say("as in %s", "url: https://example.com/alerts"), "the webhook of alerts needs a url")
	}
}

// Alerted returns where a person is reached by alerts, and in which workspace: the default one, or
// else the first that has the name.
func (c *Config) Alerted(person string) (workspace string, phone service.Phone, ok bool) {
	for _, name := range append([]string{DefaultWorkspaceName}, slices.Sorted(maps.Keys(c.Workspaces))...) {
		if phone, err := c.Named(name).People.Find(person); err == nil {
			return name, phone, true
		}
	}
	return "", service.Phone{}, false
}
