package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// docs/configuration.md lists every key, and its example is a configuration.
func TestConfigurationDoc(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SERVICE_URL", "SERVICE_API_KEY", "SERVICE_WEBHOOK_SECRET", "QUANDO_CONSOLE_TOKEN", "HOOKS_TOKEN", "ACME_API_KEY", "ALERTS_SECRET"} {
		t.Setenv(name, "x")
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if _, err := Load(clitest.WriteConfig(t, example), false); err != nil {
		t.Errorf("the example: %v", err)
	}
	var documented, known []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	for _, s := range Default().settings() {
		known = append(known, s.path)
	}
	slices.Sort(documented)
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("documented: %v\nknown: %v", documented, known)
	}
}
