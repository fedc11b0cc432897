package subscription

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quandohq/quando/service"
)

// TestKeyFile shows that the file is created once, for its owner alone, by many concurrent callers.
func TestKeyFile(t *testing.T) {
	folder := t.TempDir()
	keys := KeyFile(filepath.Join(folder, "quando.key"))
	if _, err := keys(false); err == nil {
		t.Fatal("there is a key")
	}
	ids := make([]string, 16)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() { ids[i] = must(keys(true)).id })
	}
	wait.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("there are several keys: %v", ids)
			break
		}
	}
	entries := must(os.ReadDir(folder))
	if len(entries) != 1 || must(entries[0].Info()).Mode().Perm() != 0o600 {
		t.Errorf("%v", entries)
	}
}

// TestKeyFileRefused shows that an invalid key file, or one that others can read, is refused and
// left as it is.
func TestKeyFileRefused(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		mode             os.FileMode
	}{
		{"others can read it", strings.Repeat("ab", 32), "chmod 600", 0o640},
		{"empty", "", "32 bytes", 0o600},
		{"too short", "abcd", "openssl rand", 0o600},
		{"words", "correct horse battery staple", "32 bytes", 0o600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "quando.key")
			if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := KeyFile(path)(true); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if got := string(must(os.ReadFile(path))); got != tt.text {
				t.Errorf("it was changed: %q", got)
			}
		})
	}
}

// TestSeal shows that a sealed secret opens with its key for its purpose, and in no other way.
func TestSeal(t *testing.T) {
	key := must(ParseKey(service.Secret(strings.Repeat("ab", 32))))
	same := must(ParseKey("q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=\n"))
	other := must(ParseKey(service.Secret(strings.Repeat("cd", 32))))
	if key.id != same.id || key.id == other.id {
		t.Errorf("%s %s %s", key.id, same.id, other.id)
	}
	sealed := key.seal("whsec_x", "a")
	if strings.Contains(string(sealed), "whsec") || string(sealed) == string(key.seal("whsec_x", "a")) {
		t.Error("it can be read, or recognised")
	}
	if plain, err := same.open(sealed, "a"); plain != "whsec_x" || err != nil {
		t.Errorf("%q %v", string(plain), err)
	}
	changed := append([]byte(nil), sealed...)
	changed[len(changed)-1] ^= 1
	for name, try := range map[string]func() (service.Secret, error){
		"another key":     func() (service.Secret, error) { return other.open(sealed, "a") },
		"another purpose": func() (service.Secret, error) { return key.open(sealed, "b") },
		"changed":         func() (service.Secret, error) { return key.open(changed, "a") },
		"cut off":         func() (service.Secret, error) { return key.open(sealed[:5], "a") },
	} {
		if plain, err := try(); err == nil || plain != "" {
			t.Errorf("%s: %q", name, string(plain))
		}
	}
}
