package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestMedia shows that rules can send what is in their media folder, whenever it came there, and nothing else of this machine.
func TestMedia(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules/r.yaml"), "")
	media := mediaFolder(mediaPath(filepath.Join(dir, "rules")))
	if media != mediaFolder(mediaPath(filepath.Join(dir, "rules", "r.yaml"))) {
		t.Error("the media of a single file are not beside it")
	}
	if _, err := fs.ReadFile(media, "a.pdf"); err == nil {
		t.Error("a file that is not there")
	}
	writeFile(t, filepath.Join(dir, "rules/media/a.pdf"), "prices")
	writeFile(t, filepath.Join(dir, "secret"), "key")
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

// TestLimitersAreShared shows that workspaces with the same key are held back together.
func TestLimitersAreShared(t *testing.T) {
	a, b, c := defaultWorkspace(), defaultWorkspace(), defaultWorkspace()
	a.Service.APIKey, b.Service.APIKey, c.Service.APIKey = "1", "1", "2"
	l := limiters([]namedWorkspace{{workspace: &a, name: "a"}, {workspace: &b, name: "b"}, {workspace: &c, name: "c"}})
	if l["a"] != l["b"] || l["a"] == l["c"] {
		t.Error(l)
	}
}
