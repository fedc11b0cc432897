// Package programtest finds the programs that tests need.
package programtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// LeftOut is the variable of the environment in which make test names, with spaces between them,
// the packages that this machine has not and that it may not install.
const LeftOut = "QUANDO_LEFT_OUT"

// Find returns the path of the first of some programs that this machine has. pkg is the package of
// Debian that has it.
func Find(t testing.TB, pkg string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Absent(t, pkg)
	return ""
}

// Absent ends a test that needs what this machine has not. The test fails, unless make test has
// said that it leaves out what needs that package.
func Absent(t testing.TB, pkg string) {
	t.Helper()
	if slices.Contains(strings.Fields(os.Getenv(LeftOut)), pkg) {
		t.Skipf("left out: this machine has no %s", pkg)
	}
	t.Fatalf("this machine has no %s: make tools installs it", pkg)
}
