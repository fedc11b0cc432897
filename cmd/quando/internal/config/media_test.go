package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// TestMedia shows that rules can send what is in their media folder, whenever it came there, and
// nothing else of this machine.
func TestMedia(t *testing.T) {
	dir := t.TempDir()
	clitest.WriteFile(t, filepath.Join(dir, "rules/r.yaml"), "")
	media := MediaFolder(MediaPath(filepath.Join(dir, "rules")))
	if media != MediaFolder(MediaPath(filepath.Join(dir, "rules", "r.yaml"))) {
		t.Error("the media of a single file are not beside it")
	}
	if _, err := fs.ReadFile(media, "a.pdf"); err == nil {
		t.Error("a file that is not there")
	}
	clitest.WriteFile(t, filepath.Join(dir, "rules/media/a.pdf"), "prices")
	clitest.WriteFile(t, filepath.Join(dir, "secret"), "key")
	if text, err := fs.ReadFile(media, "a.pdf"); string(text) != "prices" {
		t.Errorf("%s %v", text, err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "rules", "media", "link.pdf")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.pdf", "../../secret", filepath.Join(dir, "secret")} {
		if text, err := fs.ReadFile(media, name); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}
