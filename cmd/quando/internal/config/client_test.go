package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// TestProfileFile shows that a profile is read whole: an empty one is the default, and all its
// problems are reported.
func TestProfileFile(t *testing.T) {
	dir := t.TempDir()
	profile := filepath.Join(dir, "profile.yaml")
	c := Default()
	c.Folder, c.Service.BaseURL, c.Service.APIKey, c.Service.Profile = dir, "https://desk.example.com/v1", "qsk_1", "profile.yaml"
	for _, text := range []string{"", "# nothing yet\n", "header_prefix: X-Desk\n"} {
		clitest.WriteFile(t, profile, text)
		if _, err := c.Client(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	clitest.WriteFile(t, profile, "header_prefx: X-Desk\ncards: { version_in: nowhere }\n")
	_, err := c.Client()
	if err == nil || !strings.Contains(err.Error(), "header_prefx") || !strings.Contains(err.Error(), "version_in") || !strings.Contains(err.Error(), profile) {
		t.Errorf("%v", err)
	}
	clitest.WriteFile(t, profile, "- a list\n")
	if _, err := c.Client(); err == nil || !strings.Contains(err.Error(), "mapping") {
		t.Errorf("%v", err)
	}
}
