package rulescmd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
)

// A suite is a rule set with its tests, and what the configuration says about them.
type suite struct {
	set      *rules.Set
	problems rules.Problems
	only     []string // the files whose tests were asked for; empty is all

	config     *config.Config
	configured bool     // there is a configuration
	roots      []string // the paths that were named
	folders    map[string]*rules.Set
}

// A trial is a test with all that it runs with.
type trial struct {
	test  *rules.Test
	set   *rules.Set
	media fs.FS
	zone  *time.Location // nil is the usual one
}

// readSuite reads what the paths name.
func readSuite(cmd *cobra.Command, paths []string) (*suite, error) {
	s := &suite{folders: make(map[string]*rules.Set)}
	for _, path := range paths {
		s.roots = append(s.roots, filepath.Clean(path))
	}
	var err error
	if s.config, s.configured, err = config.LoadPart(cmd, "rules", "timezone"); err != nil {
		return nil, err
	}
	more, err := s.rulesBeside(cmd, paths)
	if err != nil {
		return nil, err
	}
	files, err := config.ReadRules(cmd, slices.Concat(paths, more))
	if err != nil {
		return nil, err
	}
	s.set, s.problems = rules.Compile(files, rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside})
	return s, nil
}

// rulesBeside returns the rule files that belong to test files that were named without any: those
// of their folder, else those of the configuration. Of all that is read then, only the tests in the
// named files are meant.
func (s *suite) rulesBeside(cmd *cobra.Command, paths []string) ([]string, error) {
	if len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return !isTestFile(p) }) {
		return nil, nil
	}
	var more []string
	for _, path := range paths {
		s.only = append(s.only, path)
		if _, err := os.Stat(path); err != nil {
			return nil, cli.FileError(err)
		}
		rules, err := rulesBelow(filepath.Dir(path))
		if err == nil && len(rules) == 0 {
			var usual string
			if usual, err = config.DefaultRules(cmd); err == nil {
				rules, err = config.RuleFiles(cmd, []string{usual})
			}
		}
		if err != nil {
			return nil, err
		}
		more = append(more, slices.DeleteFunc(rules, isTestFile)...)
	}
	return more, nil
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
		zone, media := s.surroundings(test.File)
		list = append(list, &trial{test: test, set: set, media: media, zone: zone})
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
// own have the rules of the nearest folder above.
func (s *suite) setOf(test *rules.Test) *rules.Set {
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

// surroundings returns the zone and the media of a test: those of the workspace that its file
// belongs to, and where there is none, the zone of the configuration and the nearest folder media
// above the file, as far as the paths that were named.
func (s *suite) surroundings(file string) (*time.Location, fs.FS) {
	var zone *time.Location
	if s.configured {
		zone = s.config.Timezone
	}
	owner := ""
	for _, w := range s.workspaces() {
		if absoluteWithin(w.RulesPath, file) && len(w.RulesPath) >= len(owner) {
			owner, zone = w.RulesPath, w.Timezone
		}
	}
	if owner != "" {
		return zone, config.MediaFolder(config.MediaPath(owner))
	}
	folder := filepath.Dir(file)
	for at := folder; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, "media")); err == nil && info.IsDir() {
			return zone, config.MediaFolder(filepath.Join(at, "media"))
		}
		if slices.Contains(s.roots, at) || filepath.Dir(at) == at || at == "." || strings.HasSuffix(at, "..") {
			return zone, config.MediaFolder(filepath.Join(folder, "media"))
		}
	}
}

// workspaces lists the workspaces of the configuration with where their rules are.
func (s *suite) workspaces() []config.NamedWorkspace {
	if !s.configured {
		return nil
	}
	list := []config.NamedWorkspace{{Workspace: &s.config.Workspace, RulesPath: s.config.Path(s.config.Rules)}}
	for name, w := range s.config.Workspaces {
		list = append(list, config.NamedWorkspace{Workspace: &w, Name: name, RulesPath: s.config.Path(w.Rules)})
	}
	return list
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
