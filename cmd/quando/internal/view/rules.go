package view

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// WorkspaceRules compiles the rules of a workspace as check does.
func (v *View) WorkspaceRules(cmd *cobra.Command, name string) (*rules.Set, error) {
	set, _, err := v.CompileWorkspace(cmd, name)
	return set, err
}

// CompileWorkspace does the same, and says what is wrong with the rules.
func (v *View) CompileWorkspace(cmd *cobra.Command, name string) (*rules.Set, rules.Problems, error) {
	files, err := v.WorkspaceFiles(cmd, name)
	if err != nil {
		return nil, nil, err
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside})
	return set, problems, nil
}

// WorkspaceFiles reads the rules of a workspace, without those of another that are in a folder
// below them.
func (v *View) WorkspaceFiles(cmd *cobra.Command, name string) ([]*rules.File, error) {
	w := v.Config.Named(name)
	if w == nil {
		return nil, v.NoWorkspace(name)
	}
	names, err := config.RuleFiles(cmd, []string{v.Config.Path(w.Rules)})
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(file string) bool { return v.ofAnother(w, file) })
	if len(names) == 0 {
		return nil, nil
	}
	return config.ReadRules(cmd, names)
}

// NoWorkspace says that there is no such workspace, and which there are.
func (v *View) NoWorkspace(name string) error {
	names := v.workspaceNames("")
	return fmt.Errorf("the configuration has no workspace %q (%s)", name, source.OneOf(name, names).String())
}

// ofAnother reports whether a file below a workspace's rules belongs to another workspace, whose
// rules are a folder in there.
func (v *View) ofAnother(w *config.Workspace, file string) bool {
	for other := range maps.Values(v.Config.Workspaces) {
		inside, err := filepath.Rel(w.Rules, other.Rules)
		if err != nil || inside == "." || !filepath.IsLocal(inside) {
			continue
		}
		if below, err := filepath.Rel(v.Config.Path(other.Rules), file); err == nil && filepath.IsLocal(below) {
			return true
		}
	}
	return false
}

// Broken returns a rule that could not be compiled, or nil.
func Broken(set *rules.Set, id string) *rules.Broken {
	if i := slices.IndexFunc(set.Broken, func(b rules.Broken) bool { return b.ID == id }); i >= 0 {
		return &set.Broken[i]
	}
	return nil
}

// NoRule is the error for an unknown rule, with a similar name or another workspace as a hint.
func (v *View) NoRule(cmd *cobra.Command, workspace, id string, set *rules.Set) error {
	hint := cmp.Or(source.DidYouMean(id, ruleIDs(set)).String(), "quando check lists what there is")
	for _, other := range v.workspaceNames("") {
		if other == workspace {
			continue
		}
		if set, err := v.WorkspaceRules(cmd, other); err == nil && (set.Rule(id) != nil || Broken(set, id) != nil) {
			hint = "the workspace " + other + " has one: --workspace " + other
			break
		}
	}
	return cli.No(cmd, "there is no rule %q in the workspace %s (%s)", id, workspace, hint)
}

// KnownRule refuses the id of a rule that is neither loaded nor recorded. Workspace is where; empty
// is anywhere.
func (v *View) KnownRule(cmd *cobra.Command, workspace, id string) error {
	runs, err := v.ListRuns(cmd.Context(), journal.RunFilter{Workspace: workspace, Rule: id, Limit: 1})
	if err != nil || len(runs) > 0 {
		return err
	}
	events, err := v.ListEvents(cmd.Context(), journal.EventFilter{Workspace: workspace, Rule: id, Limit: 1})
	if err != nil || len(events) > 0 {
		return err
	}
	var ids []string
	for _, name := range v.workspaceNames(workspace) {
		set, err := v.WorkspaceRules(cmd, name)
		if err != nil {
			continue // what is recorded can be listed without the rules
		}
		if set.Rule(id) != nil || Broken(set, id) != nil {
			return nil
		}
		ids = append(ids, ruleIDs(set)...)
	}
	return cli.No(cmd, "no rule with the id %q is loaded, and none is recorded (%s)", id, cmp.Or(source.DidYouMean(id, ids).String(), "quando check lists what there is"))
}

// workspaceNames returns the name of a workspace; of an empty one, all names.
func (v *View) workspaceNames(workspace string) []string {
	if workspace != "" {
		return []string{workspace}
	}
	return append(slices.Sorted(maps.Keys(v.Config.Workspaces)), config.DefaultWorkspaceName)
}

func ruleIDs(set *rules.Set) (ids []string) {
	for _, r := range set.Rules {
		ids = append(ids, r.ID)
	}
	for _, b := range set.Broken {
		ids = append(ids, b.ID)
	}
	return ids
}
