package backtest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoWayOut shows that nothing that a backtest is made of, down to the standard library, can
// reach a network.
func TestNoWayOut(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("%d packages", len(deps))
	}
	for _, p := range deps {
		if p == "net" || strings.HasPrefix(p, "net/") || p == "os/exec" || strings.Contains(p, "/quando/service") {
			t.Errorf("it has the package %s", p)
		}
	}
}
