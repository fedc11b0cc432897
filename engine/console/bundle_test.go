package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestBundle shows that the editor was made from its sources as they stand, that these name exact
// versions and no place to get them from, and that the licence of everything that is in it is
// there.
func TestBundle(t *testing.T) {
	sum := sha256.New()
	for _, name := range []string{"editor.js", "replace.js", "text.js", "build.js", "package.json", "package-lock.json"} {
		sum.Write(must(os.ReadFile("editor/" + name)))
	}
	first, _, _ := strings.Cut(string(must(os.ReadFile("assets/editor.min.js"))), "\n")
	if want := hex.EncodeToString(sum.Sum(nil)); !strings.HasSuffix(first, " "+want) {
		t.Error("assets/editor.min.js is not made from its sources: make generate")
	}
	var project struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(must(os.ReadFile("editor/package.json")), &project); err != nil {
		t.Fatal(err)
	}
	licences := string(must(os.ReadFile("assets/LICENSE.editor.txt")))
	for name, version := range project.Dependencies {
		if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) || !strings.Contains(licences, "==== "+name+" "+version+"\n") {
			t.Errorf("%s %s is no exact version, or has no licence", name, version)
		}
	}
	if lock := string(must(os.ReadFile("editor/package-lock.json"))); strings.Contains(lock, "://") || !strings.Contains(lock, `"integrity"`) {
		t.Error("the lock file names a place to get packages from, or not what they must be")
	}
}
