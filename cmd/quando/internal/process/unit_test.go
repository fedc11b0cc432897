package process

import (
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// TestLimitersAreShared shows that workspaces with the same key are held back together.
func TestLimitersAreShared(t *testing.T) {
	a, b, c := config.DefaultWorkspace(), config.DefaultWorkspace(), config.DefaultWorkspace()
	a.Service.APIKey, b.Service.APIKey, c.Service.APIKey = "1", "1", "2"
	l := limiters([]config.NamedWorkspace{{Workspace: &a, Name: "a"}, {Workspace: &b, Name: "b"}, {Workspace: &c, Name: "c"}})
	if l["a"] != l["b"] || l["a"] == l["c"] {
		t.Error(l)
	}
}
