package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// workspaceRules compiles the rules of a workspace as check does.
func (v *view) workspaceRules(cmd *cobra.Command, name string) (*rules.Set, error) {
	set, _, err := v.compileWorkspace(cmd, name)
	return set, err
}

// compileWorkspace does the same, and says what is wrong with the rules.
func (v *view) compileWorkspace(cmd *cobra.Command, name string) (*rules.Set, rules.Problems, error) {
	files, err := v.workspaceFiles(cmd, name)
	if err != nil {
		return nil, nil, err
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog(), ReadFile: besideRules})
	return set, problems, nil
}

// workspaceFiles reads the rules of a workspace, without those of another that are in a folder below them.
func (v *view) workspaceFiles(cmd *cobra.Command, name string) ([]*rules.File, error) {
	w := v.config.named(name)
	if w == nil {
		return nil, v.noWorkspace(name)
	}
	names, err := ruleFiles(cmd, []string{v.config.path(w.Rules)})
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(file string) bool { return v.ofAnother(w, file) })
	if len(names) == 0 {
		return nil, nil
	}
	return readRules(cmd, names)
}

// noWorkspace says that there is no such workspace, and which there are.
func (v *view) noWorkspace(name string) error {
	names := append(slices.Sorted(maps.Keys(v.config.Workspaces)), defaultWorkspaceName)
	return fmt.Errorf("the configuration has no workspace %q (%s)", name, source.OneOf(name, names))
}

// ofAnother reports whether a file below a workspace's rules belongs to another workspace, whose rules are a folder in there.
func (v *view) ofAnother(w *workspace, file string) bool {
	for other := range maps.Values(v.config.Workspaces) {
		inside, err := filepath.Rel(w.Rules, other.Rules)
		if err != nil || inside == "." || !filepath.IsLocal(inside) {
			continue
		}
		if below, err := filepath.Rel(v.config.path(other.Rules), file); err == nil && filepath.IsLocal(below) {
			return true
		}
	}
	return false
}

// broken returns a rule that could not be compiled, or nil.
func broken(set *rules.Set, id string) *rules.Broken {
	if i := slices.IndexFunc(set.Broken, func(b rules.Broken) bool { return b.ID == id }); i >= 0 {
		return &set.Broken[i]
	}
	return nil
}

// noRule says that there is no such rule, with the near name or the other workspace that may have been meant.
func (v *view) noRule(cmd *cobra.Command, workspace, id string, set *rules.Set) error {
	var ids []string
	for _, r := range set.Rules {
		ids = append(ids, r.ID)
	}
	for _, b := range set.Broken {
		ids = append(ids, b.ID)
	}
	hint := cmp.Or(source.DidYouMean(id, ids), "quando check lists what there is")
	for _, other := range append(slices.Sorted(maps.Keys(v.config.Workspaces)), defaultWorkspaceName) {
		if other == workspace {
			continue
		}
		if set, err := v.workspaceRules(cmd, other); err == nil && (set.Rule(id) != nil || broken(set, id) != nil) {
			hint = "the workspace " + other + " has one: --workspace " + other
			break
		}
	}
	return no(cmd, "there is no rule %q in the workspace %s (%s)", id, workspace, hint)
}
