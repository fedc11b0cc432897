package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

// RuleFiles returns the rule files that the paths name: files, and folders with all that is below
// them.
func RuleFiles(cmd *cobra.Command, paths []string) ([]string, error) {
	if len(paths) == 0 {
		path, err := DefaultRules(cmd)
		if err != nil {
			return nil, err
		}
		paths = []string{path}
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, cli.FileError(err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := FilesBelow(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no rule files (*.yaml) in %s", path)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// DefaultRules returns the rules of the configuration, else the folder rules, else this folder. It
// reads only that key: a configuration with missing environment variables still says where the
// rules are.
func DefaultRules(cmd *cobra.Command) (string, error) {
	c, _, err := LoadPart(cmd, "rules")
	if err != nil {
		return "", err
	}
	path := c.Path(c.Rules)
	if _, err := os.Stat(path); err != nil && c.Rules == Default().Rules && !cmd.Flags().Changed("config") {
		return ".", nil
	}
	return path, nil
}

// FilesBelow lists the YAML files of a folder, but for what is below one of except. Hidden folders,
// media and the configuration hold no rules.
func FilesBelow(folder string, except ...string) ([]string, error) {
	var files []string
	// The separator makes the walk follow a folder that is a link.
	root := folder + string(filepath.Separator)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path != root && errors.Is(err, fs.ErrNotExist) {
				return nil // it was removed meanwhile
			}
			return cli.FileError(err)
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (store.IsAside(name) || slices.Contains(except, path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.Contains(except, path) {
			return nil
		}
		if store.IsRuleFile(name) {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// ReadRules parses the files that the paths name.
func ReadRules(cmd *cobra.Command, paths []string) ([]*rules.File, error) {
	names, err := RuleFiles(cmd, paths)
	if err != nil {
		return nil, err
	}
	var files []*rules.File
	for _, name := range names {
		text, err := cli.ReadBounded(name)
		if err != nil {
			return nil, err
		}
		files = append(files, rules.Parse(name, text))
	}
	return files, nil
}

// ReadBeside reads a file that a rule file names. It must be below the rule file's folder.
func ReadBeside(ruleFile, name string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%s is not beside the rules", name)
	}
	return cli.ReadBounded(filepath.Join(filepath.Dir(ruleFile), name))
}
