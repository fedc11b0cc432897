package config

import (
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/rules/duration"
)

const withCarla = "service: { base_url: \"https://desk.example.com/v1\", api_key: k }\npeople: { Carla: { phone: \"+5511999990000\", channel: Main } }\n"

func TestAlerts(t *testing.T) {
	t.Setenv("ALERTS_SECRET", "hush")
	c, err := Load(clitest.WriteConfig(t, withCarla+`alerts: { people: [carla], webhook: { url: "https://example.com/a", secret: "${ALERTS_SECRET}" }, linger: 2m, limit: 4 per 1h, language: pt }`), false)
	if err != nil {
		t.Fatal(err)
	}
	workspace, phone, ok := c.Alerted(c.Alerts.People[0])
	if c.Alerts.None() || c.Alerts.Linger != 2*time.Minute || c.Alerts.Limit != (duration.Rate{Times: 4, Per: time.Hour}) || c.Alerts.Webhook.Secret != "hush" || !ok || workspace != "default" || phone.Number != "+5511999990000" {
		t.Errorf("%+v %s %+v", c.Alerts, workspace, phone)
	}
	for text, want := range map[string]string{
		"alerts: { people: [Bruno] }":                                                "quando.yaml:3:19: alerts names Bruno, who is not among people",
		"alerts: { people: [] }":                                                     "the list is empty",
		"alerts: { webhook: { url: \"https://example.com/a\" } }":                    "the webhook of alerts needs a secret",
		"alerts: { webhook: { secret: hush } }":                                      "the webhook of alerts needs a url",
		"alerts: { webhook: { url: \"http://example.com/a\", secret: hush } }":       "must begin with https://",
		"alerts: { phone: \"+5511988887777\" }":                                      "has no key \"phone\"",
		"alerts: { people: [Carla], language: fr }":                                  "\"fr\" is none of the values allowed here",
		"console: { public_url: quando.example.com }":                                "must begin with https://",
		"alerts: { webhook: { url: \"https://example.com/a\", secret: \"${NO}\" } }": "the environment has no NO",
	} {
		if _, err := Load(clitest.WriteConfig(t, withCarla+text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Rules are checked on machines that have no secrets.
	if _, problems, err := CheckOf(clitest.WriteConfig(t, withCarla+"alerts: { people: [Carla], webhook: { url: \"https://example.com/a\", secret: \"${NO}\" } }")); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
