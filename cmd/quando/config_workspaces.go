package main

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
)

// A namedWorkspace is a workspace that is run.
type namedWorkspace struct {
	*workspace
	name   string
	rules  string   // the folder or file, resolved
	except []string // below rules, but another workspace's
}

// active returns the workspaces to run, the default one first. Where others are configured the top level may hold only what is common: then
// there is no default one.
func (c *config) active() ([]namedWorkspace, error) {
	var list []namedWorkspace
	if s := c.Service; s.BaseURL != "" || len(c.Workspaces) == 0 {
		list = append(list, namedWorkspace{workspace: &c.workspace, name: defaultWorkspaceName})
	} else if s.APIKey != "" || len(s.Webhook.Secrets) > 0 {
		return nil, errors.New("service.base_url is missing; set it, or take the rest of service away to run only the other workspaces")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Workspaces)) {
		w := c.Workspaces[name]
		list = append(list, namedWorkspace{workspace: &w, name: name})
	}
	for i := range list {
		list[i].rules = filepath.Clean(c.path(list[i].Rules))
	}
	for i := range list {
		for j := range list {
			if below, err := filepath.Rel(list[i].rules, list[j].rules); err == nil && below != "." && filepath.IsLocal(below) {
				list[i].except = append(list[i].except, list[j].rules)
			}
		}
	}
	return list, nil
}
