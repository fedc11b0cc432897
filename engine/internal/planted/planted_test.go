package planted_test

import (
	"testing"

	"github.com/quandohq/quando/engine/internal/planted"
)

// TestApply: every bug can still be planted, and has a name of its own.
func TestApply(t *testing.T) {
	names := map[string]bool{}
	for _, b := range planted.All() {
		if _, err := b.Apply("../../.."); err != nil {
			t.Error(err)
		}
		if names[b.Name] {
			t.Errorf("two bugs are called %q", b.Name)
		}
		names[b.Name] = true
	}
}
