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

// LoadForRules reads what rules are tested with: where they are, and what changes how they behave.
// It reads no key, token or header, and a variable that the environment lacks is no problem but in
// the place and the time zone of the rules.
func LoadForRules(cmd *cobra.Command) (c *Config, found bool, err error) {
	return LoadPart(cmd, keysForRules...)
}

// LoadForRulesOf does the same for a configuration that is there beside the one of the command. It
// is for other workspaces than those at hand: the environment overrides nothing in them.
func LoadForRulesOf(file string) (*Config, error) {
	c, _, err := loadPart(file, true, false, keysForRules)
	return c, err
}

// keysForRules are the keys that change how rules behave.
var keysForRules = []string{"rules", "timezone", "safety.messages_per_conversation", "safety.messages", "safety.internal", "http_request.allow", "people"}

// LoadForPlay reads what rules are played with in a sandbox: the same or, with http, also what
// http_request sends. It names the variables that the file uses and the environment lacks. Nothing
// of the service is read, so nothing of it can be called.
func LoadForPlay(file string, http bool) (c *Config, missing []string, err error) {
	keys := keysForRules
	if http {
		keys = slices.Concat(keys, []string{"http_request.headers", "http_request.plain_http"})
	}
	if c, _, err = loadPart(file, true, false, keys); err != nil {
		return nil, nil, err
	}
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, nil, err
	}
	f, _ := source.Read(file, text)
	return c, newReader(file, nil).missing(f.Root), nil
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
	d := newReader(file, problems)
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

// some reads these settings and passes over everything else.
func (d *reader) some(n *source.Node, all settings) {
	for _, s := range all {
		value := n
		for key := range strings.SplitSeq(s.path, ".") {
			value = value.Get(key)
		}
		if value == nil || value.Kind == source.Null {
			continue
		}
		d.elsewhere = slices.Contains(keysForRules, s.path) && s.path != "rules" && s.path != "timezone"
		if d.canRead(s.path, value) {
			s.read(d, value)
		}
	}
	d.elsewhere = false
}
