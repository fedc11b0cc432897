package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules/source"
)

// LoadPart reads only some keys of the configuration, of every workspace, and reports whether there
// is a file. It ignores the rest: a command that reads a journal does not need the service's key in
// the environment. A missing file is an error only if it was named explicitly.
func LoadPart(cmd *cobra.Command, keys ...string) (c *Config, found bool, err error) {
	file, _ := cmd.Flags().GetString("config")
	return loadPart(file, cmd.Flags().Changed("config"), true, keys)
}

// LoadPartOf reads only some keys of a configuration that is there beside the one of the command.
// It is for other workspaces than those at hand: the environment says nothing about them.
func LoadPartOf(file string, keys ...string) (*Config, error) {
	c, _, err := loadPart(file, true, false, keys)
	return c, err
}

func loadPart(file string, required, environment bool, keys []string) (c *Config, found bool, err error) {
	c = Default()
	c.Folder = filepath.Dir(file)
	text, err := cli.ReadBounded(file)
	if err != nil {
		if _, statErr := os.Stat(file); !errors.Is(statErr, fs.ErrNotExist) || required {
			return nil, false, err
		}
	}
	found = err == nil
	f, problems := source.Read(file, text)
	d := &reader{file: file, problems: problems}
	unwanted := func(s setting) bool { return !slices.Contains(keys, s.path) }
	all := slices.DeleteFunc(c.settings(), unwanted)
	d.some(f.Root, all)
	if environment {
		d.environment("QUANDO", all)
	}
	c.Workspaces = make(map[string]Workspace)
	if n := f.Root.Get("workspaces"); n != nil {
		for _, p := range n.Pairs {
			w := DefaultWorkspace()
			w.Rules = filepath.Join("rules", p.Key.Value)
			d.some(p.Value, slices.DeleteFunc(w.settings(), unwanted))
			c.Workspaces[p.Key.Value] = w
		}
	}
	if err := configError(d.problems); err != nil {
		return nil, found, err
	}
	return c, found, nil
}

// PeopleNames returns the names in the table people of each workspace, or of all of them under "".
// They are nil if there is no configuration. It reads no phones, which may stand in the
// environment.
func PeopleNames(cmd *cobra.Command) (map[string][]string, error) {
	file, _ := cmd.Flags().GetString("config")
	text, err := cli.ReadBounded(file)
	if err != nil {
		if _, statErr := os.Stat(file); !errors.Is(statErr, fs.ErrNotExist) || cmd.Flags().Changed("config") {
			return nil, err
		}
		return nil, nil
	}
	f, _ := source.Read(file, text) // its problems are reported where it is used
	names := map[string][]string{"": {}}
	add := func(workspace string, n *source.Node) {
		names[workspace] = []string{}
		if table := n.Get("people"); table != nil {
			for _, p := range table.Pairs {
				names[workspace] = append(names[workspace], p.Key.Value)
			}
		}
		names[""] = append(names[""], names[workspace]...)
	}
	add(DefaultWorkspaceName, f.Root)
	if n := f.Root.Get("workspaces"); n != nil {
		for _, p := range n.Pairs {
			add(p.Key.Value, p.Value)
		}
	}
	return names, nil
}

// some reads these settings and passes over everything else.
func (d *reader) some(n *source.Node, all settings) {
	for _, s := range all {
		value := n
		for key := range strings.SplitSeq(s.path, ".") {
			value = value.Get(key)
		}
		if value != nil && value.Kind != source.Null {
			s.read(d, value)
		}
	}
}
