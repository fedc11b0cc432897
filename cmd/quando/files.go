package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/store"
)

// ruleFiles returns the rule files that the paths name: files, and folders with all that is below them.
func ruleFiles(cmd *cobra.Command, paths []string) ([]string, error) {
	if len(paths) == 0 {
		path, err := defaultRules(cmd)
		if err != nil {
			return nil, err
		}
		paths = []string{path}
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, plainError(err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := filesBelow(path)
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

// defaultRules returns the rules of the configuration, else the folder rules, else this folder. Only the key counts: a configuration that cannot be used
// otherwise, for want of an environment, still says where the rules are.
func defaultRules(cmd *cobra.Command) (string, error) {
	c, _, err := partConfig(cmd, "rules")
	if err != nil {
		return "", err
	}
	path := c.path(c.Rules)
	if _, err := os.Stat(path); err != nil && c.Rules == defaultConfig().Rules && !cmd.Flags().Changed("config") {
		return ".", nil
	}
	return path, nil
}

// filesBelow lists the YAML files of a folder, but for what is below one of except. Hidden folders, media and the configuration hold no rules.
func filesBelow(folder string, except ...string) ([]string, error) {
	var files []string
	// The separator leads through a folder that is a link.
	root := folder + string(filepath.Separator)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path != root && errors.Is(err, fs.ErrNotExist) {
				return nil // it went while we looked
			}
			return plainError(err)
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

// readRules parses the files that the paths name.
func readRules(cmd *cobra.Command, paths []string) ([]*rules.File, error) {
	names, err := ruleFiles(cmd, paths)
	if err != nil {
		return nil, err
	}
	var files []*rules.File
	for _, name := range names {
		text, err := readBounded(name)
		if err != nil {
			return nil, err
		}
		files = append(files, rules.Parse(name, text))
	}
	return files, nil
}

// readBounded reads a rule file, and of one that is too large only enough to say so.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, plainError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, source.MaxBytes+1))
	if err != nil {
		return nil, plainError(err)
	}
	return text, nil
}

// besideRules reads a file that a rule file names. It must be below the rule file's folder.
func besideRules(ruleFile, name string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%s is not beside the rules", name)
	}
	return readBounded(filepath.Join(filepath.Dir(ruleFile), name))
}

// plainError words a file error without Go's name for the call.
func plainError(err error) error {
	var e *fs.PathError
	if !errors.As(err, &e) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", e.Path)
	}
	return fmt.Errorf("%s: %w", e.Path, e.Err)
}
