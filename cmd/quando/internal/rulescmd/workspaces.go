package rulescmd

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// A ruleWorkspace is the rule files of one workspace, which are checked and tested together.
type ruleWorkspace struct {
	name   string         // in the configuration, or its folder
	of     string         // its name in the configuration; empty if the files may be of any
	root   string         // where all its rules are; empty is the files that were named
	config *config.Config // nil if there is none
	nested string         // the file of the configuration, if it is not the one at hand
	files  []*rules.File
}

// settings returns what the configuration says of the workspace; nil if there is none. What may be
// of any workspace has the people and the systems of all of them.
func (t *ruleWorkspace) settings() *config.Workspace {
	if t.config == nil {
		return nil
	}
	if t.of != "" {
		return t.config.Named(t.of)
	}
	all := t.config.Workspace
	all.People = maps.Clone(all.People)
	for _, name := range slices.Sorted(maps.Keys(t.config.Workspaces)) {
		w := t.config.Workspaces[name]
		all.HTTPRequest.Allow = slices.Concat(all.HTTPRequest.Allow, w.HTTPRequest.Allow)
		for person, phone := range w.People {
			if all.People == nil {
				all.People = make(service.People)
			}
			if _, err := all.People.Find(person); err != nil {
				all.People[person] = phone
			}
		}
	}
	return &all
}

// compile compiles the rules, and checks them against the configuration.
func (t *ruleWorkspace) compile() (*rules.Set, rules.Problems) {
	set, problems := rules.Compile(t.files, t.options())
	return set, append(problems, checkAddresses(t.settings(), set)...)
}

// options are what the rules are compiled with.
func (t *ruleWorkspace) options() rules.Options {
	o := rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside}
	if w := t.settings(); w != nil {
		o.People = w.People.Names()
	}
	return o
}

// systems returns the other systems that rules may call; nil is all of them, where no configuration
// says which, or only the machine knows that runs the rules.
func systems(w *config.Workspace) []builtin.HTTPHost {
	if w == nil {
		return nil
	}
	hosts := []builtin.HTTPHost{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(w.HTTPRequest.Allow))) {
		if strings.Contains(name, "${") {
			return nil
		}
		hosts = append(hosts, builtin.HTTPHost{Host: name})
	}
	return hosts
}

// checkAddresses finds calls of systems that are not on the list of the configuration.
func checkAddresses(w *config.Workspace, set *rules.Set) (problems rules.Problems) {
	hosts := systems(w)
	if hosts == nil {
		return nil
	}
	list, err := builtin.NewAllowList(hosts)
	for _, use := range set.Addresses() {
		if err != nil {
			return append(problems, use.Problem(phrases.Sprintf("%v", err), phrases.Sprintf("mend http_request.allow in the configuration")))
		}
		if why := list.Check(use.Name); why != nil {
			_, host, _ := strings.Cut(use.Name, "://")
			problems = append(problems, use.Problem(phrases.Sprintf("%v", why), cmp.Or(source.DidYouMean(host, w.HTTPRequest.Allow), phrases.Sprintf("write %s", "http_request: { allow: ["+host+"] }"))))
		}
	}
	return problems
}

// A workspaceFinder finds the workspace that a rule file belongs to. A workspace is what the
// configuration at hand says, or a configuration in the file's folder or one above it, as far as
// the paths that were named.
type workspaceFinder struct {
	main   *config.Config   // nil if there is none
	file   string           // of the configuration at hand
	usual  []*ruleWorkspace // of the configuration at hand, the default one first
	roots  []string         // the paths that were named
	nested map[string]*config.Config
	load   func(file string) (*config.Config, error) // reads the configuration of a folder
}

// configFile is the name of a configuration.
const configFile = "quando.yaml"

// newWorkspaceFinder takes the configuration at hand, nil if there is none.
func newWorkspaceFinder(cmd *cobra.Command, main *config.Config, paths []string, load func(file string) (*config.Config, error)) *workspaceFinder {
	w := &workspaceFinder{main: main, nested: make(map[string]*config.Config), load: load}
	w.file, _ = cmd.Flags().GetString("config")
	for _, path := range paths {
		w.roots = append(w.roots, filepath.Clean(path))
	}
	if main != nil {
		w.usual = configured(main)
		return w
	}
	none := config.Default()
	none.Folder = filepath.Dir(w.file)
	w.usual = configured(none)
	w.usual[0].config = nil
	return w
}

// namedFiles returns the files that the paths name; without a path, those of all workspaces.
func (w *workspaceFinder) namedFiles(cmd *cobra.Command, paths []string) ([]string, error) {
	if len(paths) > 0 || w.main == nil || len(w.main.Workspaces) == 0 {
		return config.RuleFiles(cmd, paths)
	}
	for _, one := range w.usual {
		_, err := os.Stat(one.root)
		if err == nil {
			paths = append(paths, one.root)
		} else if one.name != config.DefaultWorkspaceName || w.main.Rules != config.Default().Rules {
			return nil, cli.FileError(err)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("no workspace of the configuration has rules")
	}
	return config.RuleFiles(cmd, paths)
}

// split takes the files of different workspaces apart, in the order of the files.
func (w *workspaceFinder) split(files []*rules.File) ([]*ruleWorkspace, error) {
	var list []*ruleWorkspace
	var usual *ruleWorkspace
	var free []*rules.File // those that no configuration knows
	for _, f := range files {
		of, err := w.find(f.Name)
		if err != nil {
			return nil, err
		}
		if of == nil {
			free = append(free, f)
			continue
		}
		i := slices.IndexFunc(list, of.is)
		if i < 0 {
			i, list = len(list), append(list, of)
		}
		if list[i].files = append(list[i].files, f); of.is(w.usual[0]) {
			usual = list[i]
		}
	}
	for _, group := range splitByFolder(commonFolder(free), free) {
		if usual != nil && w.joins(group, usual) {
			usual.files = append(usual.files, group.files...)
			continue
		}
		group.config = w.main
		list = append(list, group)
	}
	slices.SortStableFunc(list, func(a, b *ruleWorkspace) int { return cmp.Compare(a.files[0].Name, b.files[0].Name) })
	return list, nil
}

// is reports whether two are the same workspace.
func (t *ruleWorkspace) is(o *ruleWorkspace) bool { return t.name == o.name && t.root == o.root }

// joins reports whether files that no configuration knows belong to the default workspace:
// tests without rules, and where there is no other workspace, whatever fits to its rules.
func (w *workspaceFinder) joins(group, usual *ruleWorkspace) bool {
	if !slices.ContainsFunc(group.files, func(f *rules.File) bool { return !f.IsTest() }) {
		return true
	}
	return len(w.usual) == 1 && !rules.Clash(slices.Concat(usual.files, group.files))
}

// find returns the workspace of a file; nil if no configuration knows it.
func (w *workspaceFinder) find(file string) (*ruleWorkspace, error) {
	for at := filepath.Dir(file); !sameFile(at, filepath.Dir(w.file)); at = filepath.Dir(at) {
		c, err := w.configIn(at)
		if err != nil {
			return nil, err
		}
		if c != nil {
			of := inConfig(c, at, file)
			of.nested = filepath.Join(at, configFile)
			return of, nil
		}
		if w.isRoot(at) || filepath.Dir(at) == at || at == "." || strings.HasSuffix(at, "..") {
			break
		}
	}
	return owner(w.usual, file), nil
}

// isRoot reports whether a folder was named, or a file in it.
func (w *workspaceFinder) isRoot(folder string) bool {
	return slices.Contains(w.roots, folder) || slices.ContainsFunc(w.roots, func(root string) bool {
		info, err := os.Stat(root)
		return err == nil && !info.IsDir() && filepath.Dir(root) == folder
	})
}

// configIn reads the configuration of a folder; nil if it has none.
func (w *workspaceFinder) configIn(folder string) (*config.Config, error) {
	if c, known := w.nested[folder]; known {
		return c, nil
	}
	file := filepath.Join(folder, configFile)
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		w.nested[folder] = nil
		return nil, nil
	}
	c, err := w.load(file)
	if err != nil {
		return nil, err
	}
	w.nested[folder] = c
	return c, nil
}

// sameFile reports whether two paths lead to the same file or folder.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// inConfig returns the workspace of a file in a folder that has a configuration of its own. If that
// has only one, the file belongs to it wherever it is; the rules may be beside the configuration.
func inConfig(c *config.Config, folder, file string) *ruleWorkspace {
	list := configured(c)
	of := owner(list, file)
	switch {
	case of != nil && len(list) > 1:
		of.name = folder + " " + of.name
		return of
	case len(list) > 1:
		return &ruleWorkspace{name: folder, of: config.DefaultWorkspaceName, root: folder, config: c}
	}
	of = list[0]
	of.name = folder
	if _, err := os.Stat(of.root); err != nil && c.Rules == config.Default().Rules {
		of.root = folder
	}
	return of
}

// configured lists the workspaces of a configuration, the default one first.
func configured(c *config.Config) []*ruleWorkspace {
	list := []*ruleWorkspace{{name: config.DefaultWorkspaceName, of: config.DefaultWorkspaceName, root: filepath.Clean(c.Path(c.Rules)), config: c}}
	for name, w := range c.Workspaces {
		list = append(list, &ruleWorkspace{name: name, of: name, root: filepath.Clean(c.Path(w.Rules)), config: c})
	}
	slices.SortFunc(list[1:], func(a, b *ruleWorkspace) int { return cmp.Compare(a.name, b.name) })
	return list
}

// owner returns the workspace whose rules a file is among; of those in each other, the innermost.
func owner(list []*ruleWorkspace, file string) (of *ruleWorkspace) {
	for _, w := range list {
		if absoluteWithin(w.root, file) && (of == nil || len(w.root) >= len(of.root)) {
			of = w
		}
	}
	return of
}

// splitByFolder takes files apart that no configuration knows. They are one workspace, unless that
// cannot be: where two of them have a rule of the same id, or different calendars of one name, and
// are in different folders of one that has no rules itself, each of these folders is a workspace.
func splitByFolder(folder string, files []*rules.File) []*ruleWorkspace {
	if len(files) == 0 {
		return nil
	}
	here := func(f *rules.File) bool { return filepath.Dir(f.Name) == folder && !f.IsTest() }
	if !rules.Clash(files) || slices.ContainsFunc(files, here) {
		return []*ruleWorkspace{{name: folder, files: files}}
	}
	var folders []string
	parts := make(map[string][]*rules.File)
	for _, f := range files {
		below, _ := filepath.Rel(folder, f.Name)
		part := folder
		if first, _, deeper := strings.Cut(below, string(filepath.Separator)); deeper {
			part = filepath.Join(folder, first)
		}
		if parts[part] == nil {
			folders = append(folders, part)
		}
		parts[part] = append(parts[part], f)
	}
	var out []*ruleWorkspace
	for _, part := range folders {
		if part == folder {
			out = append(out, &ruleWorkspace{name: folder, files: parts[part]})
			continue
		}
		for _, group := range splitByFolder(part, parts[part]) {
			group.root = cmp.Or(group.root, group.name)
			out = append(out, group)
		}
	}
	return out
}

// commonFolder returns the innermost folder that all files are in or below.
func commonFolder(files []*rules.File) string {
	if len(files) == 0 {
		return ""
	}
	folder := filepath.Dir(files[0].Name)
	for _, f := range files {
		for !within(folder, f.Name) && filepath.Dir(folder) != folder {
			folder = filepath.Dir(folder)
		}
	}
	return folder
}

// complete adds the rules of the workspace that were not named, if a test runs with all of them. It
// reports whether it did.
func (w *workspaceFinder) complete(cmd *cobra.Command, t *ruleWorkspace) (bool, error) {
	if !slices.ContainsFunc(t.files, (*rules.File).RunsAll) {
		return false, nil
	}
	root := t.root
	if usual, err := config.DefaultRules(cmd); root == "" && err == nil && absoluteWithin(usual, t.files[0].Name) {
		root = usual // no configuration knows the file, but it is where rules are looked for
	}
	info, err := os.Stat(root)
	if root == "" || err != nil || !info.IsDir() {
		return false, nil //nolint:nilerr // without such a folder, all rules are those that were named
	}
	names, err := rulesBelow(root)
	if err != nil {
		return false, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		of, err := w.find(name)
		same := of == nil && (t.root == "" || within(t.root, name)) || of != nil && of.is(t)
		return err != nil || !same || slices.ContainsFunc(t.files, func(f *rules.File) bool { return sameFile(f.Name, name) })
	})
	if len(names) == 0 {
		return false, nil
	}
	more, err := config.ReadRules(cmd, names)
	t.files = append(t.files, more...)
	return true, err
}
