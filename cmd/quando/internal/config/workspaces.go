package config

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
)

// A NamedWorkspace is a workspace to run.
type NamedWorkspace struct {
	*Workspace
	Name      string
	RulesPath string   // the folder or file, resolved
	Except    []string // below rules, but another workspace's
}

// Active returns the workspaces to run, the default one first. Where others are configured the top
// level may hold only what is common: then there is no default one.
func (c *Config) Active() ([]NamedWorkspace, error) {
	var list []NamedWorkspace
	if s := c.Service; s.BaseURL != "" || len(c.Workspaces) == 0 {
		list = append(list, NamedWorkspace{Workspace: &c.Workspace, Name: DefaultWorkspaceName})
	} else if s.APIKey != "" || len(s.Webhook.Secrets) > 0 {
		return nil, errors.New("service.base_url is missing; set it, or take the rest of service away to run only the other workspaces")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Workspaces)) {
		w := c.Workspaces[name]
		list = append(list, NamedWorkspace{Workspace: &w, Name: name})
	}
	for i := range list {
		list[i].RulesPath = filepath.Clean(c.Path(list[i].Rules))
	}
	for i := range list {
		for j := range list {
			if below, err := filepath.Rel(list[i].RulesPath, list[j].RulesPath); err == nil && below != "." && filepath.IsLocal(below) {
				list[i].Except = append(list[i].Except, list[j].RulesPath)
			}
		}
	}
	return list, nil
}

// DefaultWorkspaceName is the workspace that the top level of a configuration describes.
const DefaultWorkspaceName = "default"

// Named returns a workspace by its name, or nil. The top level is the default one.
func (c *Config) Named(name string) *Workspace {
	if name == "" || name == DefaultWorkspaceName {
		return &c.Workspace
	}
	if w, ok := c.Workspaces[name]; ok {
		return &w
	}
	return nil
}
