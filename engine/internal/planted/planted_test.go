package planted_test

import (
	"os/exec"
	"path"
	"slices"
	"testing"

	"github.com/quandohq/quando/engine/internal/planted"
)

const root = "../../.."

// TestApply: every bug can still be planted, and has a name of its own.
func TestApply(t *testing.T) {
	names := map[string]bool{}
	for _, b := range planted.All() {
		if _, err := b.Apply(root); err != nil {
			t.Error(err)
		}
		if names[b.Name] {
			t.Errorf("two bugs are called %q", b.Name)
		}
		names[b.Name] = true
	}
}

// TestCompiles: the packages compile with every bug. Bugs in different places are planted together,
// which takes a few builds instead of one for each bug.
func TestCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program several times")
	}
	for left := planted.All(); len(left) > 0; {
		var together planted.Bug
		var planting, next []planted.Bug
		for _, b := range left {
			tried := planted.Bug{Edits: slices.Concat(together.Edits, b.Edits)}
			if _, err := tried.Apply(root); err != nil && len(planting) > 0 {
				next = append(next, b)
				continue
			}
			together, planting = tried, append(planting, b)
		}
		left = next
		if compile(t, &together) == "" {
			continue
		}
		for _, b := range planting {
			if out := compile(t, &b); out != "" {
				t.Errorf("%s does not compile:\n%s", b.Name, out)
			}
		}
	}
}

// compile builds the program with a bug, and returns what the compiler complains of.
func compile(t *testing.T, b *planted.Bug) string {
	t.Helper()
	overlay, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay)
	for _, e := range b.Edits {
		build.Args = append(build.Args, "./"+path.Dir(e.File))
	}
	build.Dir = root
	out, err := build.CombinedOutput()
	if err != nil {
		return err.Error() + "\n" + string(out)
	}
	return ""
}
