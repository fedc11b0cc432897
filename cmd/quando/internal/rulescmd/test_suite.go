package rulescmd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
)

// A suite is the rule set of a workspace with its tests.
type suite struct {
	workspace *ruleWorkspace
	set       *rules.Set
	problems  rules.Problems
	only      []string // the files whose tests were asked for; empty is all
	roots     []string // the paths that were named
	folders   map[string]*rules.Set
}

// A trial is a test with all that it runs with.
type trial struct {
	test      *rules.Test
	workspace string // empty if there is only one
	set       *rules.Set
	media     fs.FS
	settings  *config.Workspace // of the configuration; nil if there is none
}

// readSuites reads what the paths name, each workspace by itself.
func readSuites(cmd *cobra.Command, paths []string) ([]*suite, error) {
	main, found, err := config.LoadForRules(cmd)
	if err != nil {
		return nil, err
	}
	if !found {
		main = nil
	}
	finder := newWorkspaceFinder(cmd, main, paths, config.LoadForRulesOf)
	more, only, err := rulesBeside(cmd, paths)
	if err != nil {
		return nil, err
	}
	names, err := finder.namedFiles(cmd, slices.Concat(paths, more))
	if err != nil {
		return nil, err
	}
	files, err := config.ReadRules(cmd, names)
	if err != nil {
		return nil, err
	}
	workspaces, err := finder.split(files)
	if err != nil {
		return nil, err
	}
	var list []*suite
	for _, w := range workspaces {
		s := &suite{workspace: w, only: only, roots: finder.roots, folders: make(map[string]*rules.Set)}
		completed, err := finder.complete(cmd, w)
		if err != nil {
			return nil, err
		}
		if completed && len(only) == 0 {
			s.only = names
		}
		s.set, s.problems = w.compile()
		list = append(list, s)
	}
	return list, nil
}

// rulesBeside returns the rule files that belong to test files that were named without any: those
// of their folder, else those of the configuration. Of all that is read then, only the tests in the
// named files are meant.
func rulesBeside(cmd *cobra.Command, paths []string) (more, only []string, err error) {
	if len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return !isTestFile(p) }) {
		return nil, nil, nil
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return nil, nil, cli.FileError(err)
		}
		rules, err := rulesBelow(filepath.Dir(path))
		if err == nil && len(rules) == 0 {
			var usual string
			if usual, err = config.DefaultRules(cmd); err == nil {
				rules, err = config.RuleFiles(cmd, []string{usual})
			}
		}
		if err != nil {
			return nil, nil, err
		}
		more = append(more, slices.DeleteFunc(rules, isTestFile)...)
	}
	return more, paths, nil
}

// rulesBelow lists the rule files of a folder that are not tests alone.
func rulesBelow(folder string) ([]string, error) {
	files, err := config.FilesBelow(folder)
	return slices.DeleteFunc(files, isTestFile), err
}

func isTestFile(name string) bool {
	return (&rules.File{Name: name}).IsTest()
}

// trials lists the tests in the order of their files, each with its rules.
func (s *suite) trials() ([]*trial, error) {
	var list []*trial
	for _, test := range s.set.Tests {
		if len(s.only) > 0 && !slices.Contains(s.only, test.File) {
			continue
		}
		set := s.setOf(test)
		if len(set.Rules) == 0 {
			return nil, fmt.Errorf("%s:%d: there are no rules to test: name their file too", test.File, test.Line)
		}
		list = append(list, &trial{test: test, set: set, media: s.media(test.File), settings: s.workspace.settings()})
	}
	return list, nil
}

// choose returns the trials whose test or file has a name that matches.
func choose(list []*trial, chosen *regexp.Regexp) []*trial {
	var out []*trial
	for _, t := range list {
		if chosen.MatchString(t.test.Name) || chosen.MatchString(filepath.ToSlash(t.test.File)) {
			out = append(out, t)
		}
	}
	return out
}

// setOf returns the rules of a test's folder, and those that it names from elsewhere. So a test
// says the same whether its folder was named or one above. Tests that stand in a folder of their
// own have the rules of the nearest folder above. A test may also run with all rules.
func (s *suite) setOf(test *rules.Test) *rules.Set {
	if test.All {
		return s.set
	}
	folder := filepath.Dir(test.File)
	set := s.below(folder)
	for len(set.Rules) == 0 && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
		set = s.below(folder)
	}
	var more []*rules.Rule
	for _, id := range test.Rules {
		if r := s.set.Rule(id); r != nil && set.Rule(id) == nil {
			more = append(more, r)
		}
	}
	if len(more) == 0 {
		return set
	}
	return set.With(more...)
}

// below returns the rules of a folder and those below it.
func (s *suite) below(folder string) *rules.Set {
	if set := s.folders[folder]; set != nil {
		return set
	}
	var list []*rules.Rule
	for _, r := range s.set.Rules {
		if within(folder, r.File) {
			list = append(list, r)
		}
	}
	set := (&rules.Set{Calendars: s.set.Calendars}).With(list...)
	s.folders[folder] = set
	return set
}

// within reports whether a file is in a folder or below it.
func within(folder, file string) bool {
	below, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(below)
}

// media returns the media of a test: those of the workspace that its file belongs to, and where
// there is none, the nearest folder media above the file, as far as the paths that were named.
func (s *suite) media(file string) fs.FS {
	if c := s.workspace.config; c != nil {
		if of := owner(configured(c), file); of != nil {
			return config.MediaFolder(config.MediaPath(of.root))
		}
	}
	folder := filepath.Dir(file)
	for at := folder; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, "media")); err == nil && info.IsDir() {
			return config.MediaFolder(filepath.Join(at, "media"))
		}
		if slices.Contains(s.roots, at) || filepath.Dir(at) == at || at == "." || strings.HasSuffix(at, "..") {
			return config.MediaFolder(filepath.Join(folder, "media"))
		}
	}
}

// absoluteWithin reports whether a file is a path or below it, however the two are spelt.
func absoluteWithin(path, file string) bool {
	a, err := filepath.Abs(path)
	b, err2 := filepath.Abs(file)
	if err != nil || err2 != nil {
		return false
	}
	if info, err := os.Stat(a); err == nil && !info.IsDir() {
		a = filepath.Dir(a)
	}
	return within(a, b)
}
