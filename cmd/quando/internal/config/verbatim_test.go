package config

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service"
)

// printables are texts that begin with each printable character of ASCII, and with some that are
// not.
func printables() (list []string) {
	for r := ' '; r <= '~'; r++ {
		list = append(list, string(r)+"Secret123", string(r)+" x: y #z ${HOME} 'q' \"p\"", string(r)+string(r)+string(r)+"Secret123")
	}
	return append(list, "ção-123", "“quoted”", "\u00a0space", "日本語", "true-ish", "null", "~", "0x10", "correct horse #battery", "a, b", "{a: b}", "[a, b", "*alias", "&anchor x", "%TAG ! x", "line\nfeed", "\xff\xfe")
}

// TestVariablesAreTexts shows that a variable is literal, whatever it begins with: no token becomes
// a shorter one, or empty, because YAML would read it differently.
func TestVariablesAreTexts(t *testing.T) {
	t.Setenv("HOME", "/elsewhere")
	for _, want := range printables() {
		t.Run(strconv.Quote(want), func(t *testing.T) {
			t.Setenv("QUANDO_CONSOLE_TOKEN", want)
			t.Setenv("QUANDO_SERVICE_WEBHOOK_SECRETS", want)
			c, err := Load(clitest.WriteConfig(t, "listen: \":8080\"\n"), false)
			if err != nil {
				t.Fatal(err)
			}
			if string(c.Console.Token) != want || len(c.Service.Webhook.Secrets) != 1 || string(c.Service.Webhook.Secrets[0]) != want {
				t.Errorf("the variables became %q and %q", string(c.Console.Token), c.Service.Webhook.Secrets)
			}
			_ = os.Unsetenv("QUANDO_CONSOLE_TOKEN")
			_ = os.Unsetenv("QUANDO_SERVICE_WEBHOOK_SECRETS")
			t.Setenv("THE_TOKEN", want)
			for _, file := range []string{
				"console:\n  token: ${THE_TOKEN}\nservice: { webhook: { secrets: [\"${THE_TOKEN}\"] } }\n",
				"console: { token: \"${THE_TOKEN}\" }\nservice:\n  webhook:\n    secrets:\n      - ${THE_TOKEN}\n",
			} {
				c, err := Load(clitest.WriteConfig(t, file), false)
				if err != nil {
					t.Fatal(err)
				}
				if string(c.Console.Token) != want || len(c.Service.Webhook.Secrets) != 1 || string(c.Service.Webhook.Secrets[0]) != want {
					t.Errorf("${…} became %q and %q", string(c.Console.Token), c.Service.Webhook.Secrets)
				}
			}
		})
	}
}

// TestListsInVariables shows how a variable says several things, and that what is not clear is
// refused.
func TestListsInVariables(t *testing.T) {
	for value, want := range map[string][]service.Secret{
		"[a, b]":                       {"a", "b"},
		"[!Secret123, #x, &y, *z, %w]": {"!Secret123", "#x", "&y", "*z", "%w"},
		`["a, b", c]`:                  {"a, b", "c"},
		"[ one ]":                      {"one"},
		"[a, ${HOME}]":                 {"a", "${HOME}"},
		`[a "b" c]`:                    nil,
		`["a]`:                         nil,
		"['a', 'b']":                   nil,
	} {
		t.Setenv("QUANDO_SERVICE_WEBHOOK_SECRETS", value)
		c, err := Load(clitest.WriteConfig(t, ""), false)
		switch {
		case want == nil && (err == nil || !strings.Contains(err.Error(), "$QUANDO_SERVICE_WEBHOOK_SECRETS")):
			t.Errorf("%s is taken: %v", value, err)
		case want != nil && err != nil:
			t.Errorf("%s: %v", value, err)
		case want != nil:
			if diff := cmp.Diff(want, c.Service.Webhook.Secrets); diff != "" {
				t.Errorf("%s (-want +got)\n%s", value, diff)
			}
		}
	}
}
