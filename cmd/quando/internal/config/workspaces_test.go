package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestActiveWorkspaces(t *testing.T) {
	names := func(c *Config) (out []string) {
		list, err := c.Active()
		if err != nil {
			return []string{err.Error()}
		}
		for _, w := range list {
			out = append(out, w.Name+":"+w.RulesPath)
			for _, e := range w.Except {
				out = append(out, "-"+e)
			}
		}
		return out
	}
	other := DefaultWorkspace()
	other.Rules = filepath.Join("rules", "acme")
	c := Default()
	c.Folder = "desk"
	if diff := cmp.Diff([]string{"default:desk/rules"}, names(c)); diff != "" {
		t.Error(diff)
	}
	c.Workspaces = map[string]Workspace{"acme": other}
	if diff := cmp.Diff([]string{"acme:desk/rules/acme"}, names(c)); diff != "" {
		t.Error(diff)
	}
	c.Service.APIKey = "k"
	if got := names(c); !strings.Contains(got[0], "service.base_url is missing") {
		t.Error(got)
	}
	c.Service.BaseURL = "https://desk.example.com/v1"
	if diff := cmp.Diff([]string{"default:desk/rules", "-desk/rules/acme", "acme:desk/rules/acme"}, names(c)); diff != "" {
		t.Error(diff)
	}
}
