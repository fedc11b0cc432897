package config

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/service"
)

func TestConfig(t *testing.T) {
	t.Setenv("SERVICE_URL", "https://desk.example.com/v1")
	t.Setenv("SERVICE_API_KEY", "qsk_1")
	t.Setenv("HOOK", "whsec_1")
	t.Setenv("CARLA", "+5511999990000")
	t.Setenv("QUANDO_LISTEN", "127.0.0.1:9999")
	t.Setenv("QUANDO_SERVICE_TIMEOUT", "3s")
	t.Setenv("QUANDO_HTTP_REQUEST_ALLOW", "[a.example.com, b.example.com:8443]")
	c, err := Load(clitest.WriteConfig(t, `
service:
  base_url: ${SERVICE_URL}
  api_key: ${SERVICE_API_KEY}
  rate: 20/s
  timeout: 20s
  webhook:
    secrets: [ "${HOOK}", old ]
    public_url: https://hooks.example.com/webhook
listen: ":8080"
rules: automations
journal: quando.db
keep: 45d
console: { listen: "127.0.0.1:8081", token: "${SERVICE_API_KEY}" }
safety: { messages_per_conversation: 3 per 10m, messages: 100 per 1h }
timezone: Europe/Lisbon
log: { level: debug, format: json }
workspaces:
  acme: { service: { base_url: "https://acme.example.com/v1", api_key: "k" }, timezone: America/Manaus, people: { Carla: { phone: "${CARLA}", channel: Main } } }
`), false)
	if err != nil {
		t.Fatal(err)
	}
	acme := c.Workspaces["acme"]
	got := []any{
		c.Service.BaseURL, string(c.Service.APIKey), c.Service.Rate, c.Service.Timeout, len(c.Service.Webhook.Secrets), string(c.Service.Webhook.Secrets[0]), c.Listen, c.Keep,
		c.Safety.MessagesPerConversation, c.Safety.Messages, c.Timezone.String(), c.Log.Level, c.HTTPRequest.Allow, acme.Service.BaseURL, acme.Timezone.String(), acme.Rules,
		acme.Safety.Messages, acme.People,
	}
	want := []any{
		"https://desk.example.com/v1", "qsk_1", 20.0, 3 * time.Second, 2, "whsec_1", "127.0.0.1:9999", 45 * 24 * time.Hour,
		duration.Rate{Times: 3, Per: 10 * time.Minute}, duration.Rate{Times: 100, Per: time.Hour}, "Europe/Lisbon", "debug", []string{"a.example.com", "b.example.com:8443"}, "https://acme.example.com/v1", "America/Manaus", "rules/acme",
		duration.Rate{Times: 2000, Per: time.Hour}, service.People{"Carla": {Number: "+5511999990000", Channel: "Main"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if filepath.Base(c.Path(c.Journal)) != "quando.db" || !filepath.IsAbs(c.Path(c.Journal)) {
		t.Errorf("the journal's path does not start from the file's folder: %s", c.Path(c.Journal))
	}
}

// TestConfigOfAWorkspace shows that a workspace has everything of its own, and nothing of the top
// level.
func TestConfigOfAWorkspace(t *testing.T) {
	c, err := Load(clitest.WriteConfig(t, `
service: { base_url: "https://desk.example.com/v1", api_key: common, rate: 20/s, timeout: 20s, webhook: { secrets: [common] } }
safety: { messages_per_conversation: 3 per 10m, messages: 100 per 1h }
http_request: { allow: [common.example.com] }
timezone: Europe/Lisbon
workspaces:
  acme:
    service: { base_url: "https://acme.example.com/v1", api_key: own, rate: 5/s, timeout: 4s, profile: acme.yaml, webhook: { secrets: [own, older], public_url: "https://hooks.example.com/webhook/acme" } }
    rules: of-acme
    safety: { messages_per_conversation: 1 per 5m, messages: 7 per 1h }
    http_request: { allow: [own.example.com] }
    timezone: America/Manaus
  bare: { service: { base_url: "https://bare.example.com/v1", api_key: bare } }
`), false)
	if err != nil {
		t.Fatal(err)
	}
	parts := func(w Workspace) []any {
		s := w.Service
		return []any{s.BaseURL, string(s.APIKey), s.Rate, s.Timeout, s.Profile, len(s.Webhook.Secrets), s.Webhook.PublicURL, w.Rules, w.Safety.MessagesPerConversation, w.Safety.Messages, w.HTTPRequest.Allow, w.Timezone.String()}
	}
	want := []any{"https://acme.example.com/v1", "own", 5.0, 4 * time.Second, "acme.yaml", 2, "https://hooks.example.com/webhook/acme", "of-acme", duration.Rate{Times: 1, Per: 5 * time.Minute}, duration.Rate{Times: 7, Per: time.Hour}, []string{"own.example.com"}, "America/Manaus"}
	if diff := cmp.Diff(want, parts(c.Workspaces["acme"])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = []any{"https://bare.example.com/v1", "bare", 0.0, 10 * time.Second, "", 0, "", "rules/bare", duration.Rate{Times: 5, Per: 10 * time.Minute}, duration.Rate{Times: 2000, Per: time.Hour}, []string(nil), "America/Sao_Paulo"}
	if diff := cmp.Diff(want, parts(c.Workspaces["bare"])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestConfigProblems shows that everything wrong is reported at once, with line and column, and
// without any secret.
func TestConfigProblems(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	t.Setenv("QUANDO_KEEP", "forever")
	_, err := Load(clitest.WriteConfig(t, `
service:
  base_url: ${NO_SUCH_VARIABLE}
  api_kee: "${SECRET}"
  rate: fast
  timeout: 10
listen: 8080
console: yes
safety: { messages: many, internal: [Carla] }
timezone: Brasilia
log: { level: loud }
workspaces: { Default Corp: {} }
http_request: { headers: { erp.example.com: "Bearer ${SECRET}", b.example.com: { X: "${NO_SUCH_TOKEN}" } } }
people:
  Carla: { phone: "+5511999990000" }
  Bruno: { phone: Main, channel: Main }
  Ana: { phone: "+5511999990000", channel: Main, email: a@example.com }
  bruno: { phone: "+5511999990000", channel: Main }
`), false)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`:3:13: the environment has no NO_SUCH_VARIABLE (export NO_SUCH_VARIABLE=… before you start quando)`,
		`:4:3: service has no key "api_kee" (did you mean "api_key"?)`,
		`:5:9: "fast" is not a rate (as in 20/s)`,
		`:6:12: "10" is not a duration`,
		`:7:9: "8080" is not an address to listen on`,
		`:8:10: console must be a mapping, not a value`,
		`:9:21: "many" is not a bound (as in 5 per 10m)`,
		`:9:37: "Carla" is neither a phone nor the id of a conversation (as in ["+5511999990000"])`,
		`:10:11: unknown time zone "Brasilia"`,
		`:11:15: "loud" is none of the values allowed here (one of: debug, info, warn, error)`,
		`:12:15: "Default Corp" cannot be a workspace's name`,
		`:13:45: the headers of erp.example.com must be a mapping of names, not a value (as in headers:`,
		`:13:85: the environment has no NO_SUCH_TOKEN`,
		`:15:10: the person Carla needs a channel: the WhatsApp number to write from (as in people:`,
		`:16:10: the person Bruno needs a phone, not "Main" (as in people:`,
		`:17:50: the configuration has no key "email" (one of: phone, channel)`,
		`:18:3: people has bruno twice (give one of them a surname)`,
		`$QUANDO_KEEP:1:1: "forever" is not a duration`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s\nin: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("a secret is in the message")
	}
}

func TestForwardedForIsAHeader(t *testing.T) {
	c, err := Load(clitest.WriteConfig(t, "console: { forwarded_for: X-Real-IP }\n"), false)
	if err != nil || c.Console.Forwarded != "X-Real-IP" {
		t.Errorf("%v %v", c, err)
	}
	if _, err := Load(clitest.WriteConfig(t, "console: { forwarded_for: \"X-Real-IP:\" }\n"), false); err == nil || !strings.Contains(err.Error(), "is not the name of a header") {
		t.Error(err)
	}
}

// TestConsoleUsers shows that users of the console are read, and that a password that is no hash is
// refused and not shown.
func TestConsoleUsers(t *testing.T) {
	hash, err := console.HashPassword("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	quoted := strconv.Quote(hash)
	c, err := Load(clitest.WriteConfig(t, "console:\n  users:\n    ana: { role: operator, password: "+quoted+" }\n"), false)
	if err != nil || c.Console.Users["ana"] != (console.User{Role: console.Operator, Password: hash}) {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"{ ana: { role: operator, password: hunter2 } }":      "the user ana: the password must be a hash",
		"{ ana: { role: boss, password: " + quoted + " } }":   `"boss" is none of the values allowed here`,
		"{ ana: { password: " + quoted + " } }":               "is no role",
		"{ ana: { role: viewer, passwort: " + quoted + " } }": "has no key",
		"[ana]": "console.users must be a mapping of names",
	} {
		if _, err := Load(clitest.WriteConfig(t, "console:\n  users: "+text+"\n"), false); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestConfigMissing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "quando.yaml")
	if _, err := Load(name, false); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("%v", err)
	}
	c, err := Load(name, true)
	if err != nil || c.Keep != 30*24*time.Hour || c.Service.APIKey != service.Secret("") {
		t.Errorf("%+v, %v", c, err)
	}
}
