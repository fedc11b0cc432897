package rulescmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/lsp"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/store"
)

// An editorWorkspace is the workspace of a file that is open in an editor.
type editorWorkspace struct {
	*ruleWorkspace
	cmd   *cobra.Command
	names []string
}

// Workspace finds the workspace of a file. Where no configuration knows the file, or it cannot be
// read, that is the rule files of its folder.
func (d *editorDesk) Workspace(file string) (lsp.Workspace, error) {
	main, found, err := config.LoadForRules(d.cmd)
	if !found || err != nil {
		main = nil
	}
	finder := newWorkspaceFinder(d.cmd, main, nil, config.LoadForRulesOf)
	of, findErr := finder.find(file)
	w := &editorWorkspace{ruleWorkspace: of, cmd: d.cmd}
	if of == nil {
		w.ruleWorkspace = &ruleWorkspace{name: filepath.Dir(file), config: main}
		w.names = looseRules(filepath.Dir(file))
		return w, cmp.Or(err, findErr)
	}
	w.names = finder.filesOf(of, file)
	return w, cmp.Or(err, findErr)
}

// filesOf lists the rule files of a workspace. The name of one that is open is as the editor has
// it.
func (w *workspaceFinder) filesOf(of *ruleWorkspace, open string) (names []string) {
	root, err := filepath.Abs(of.root)
	if err != nil {
		return nil
	}
	found := []string{root}
	if info, err := os.Stat(root); err != nil || info.IsDir() {
		found, _ = config.FilesBelow(root) // what can be read
	}
	for _, name := range found {
		if other, err := w.find(name); err != nil || other == nil || !other.is(of) {
			continue
		}
		if sameFile(name, open) {
			name = open
		}
		names = append(names, filepath.Clean(name))
	}
	return names
}

var ruleKeyLine = regexp.MustCompile(`(?m)^(vars|calendars|rules|tests)\s*:`)

// looseRules lists the files of a folder that look like rules.
func looseRules(folder string) (names []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // a new file
	}
	for _, e := range entries {
		if name := filepath.Join(folder, e.Name()); e.Type().IsRegular() && store.IsRuleFile(e.Name()) {
			if text, err := cli.ReadBounded(name); err == nil && ruleKeyLine.Match(text) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (w *editorWorkspace) Key() string { return w.nested + "\x00" + w.name + "\x00" + w.root }

func (w *editorWorkspace) Files() []string { return w.names }

func (w *editorWorkspace) Options() rules.Options { return w.options() }

// Compile compiles the rules, and checks them against the configuration.
func (w *editorWorkspace) Compile(ctx context.Context, files []*rules.File) (*rules.Set, rules.Problems, error) {
	files = slices.DeleteFunc(slices.Clone(files), func(f *rules.File) bool { return f.Template })
	set, problems, err := rules.CompileContext(ctx, files, w.options())
	if err != nil {
		return nil, nil, err
	}
	return set, append(problems, checkAddresses(w.settings(), set)...).Sort(), nil
}

// Names returns whom rules can write to, and what the journal knows of the service.
func (w *editorWorkspace) Names(ctx context.Context) (choices []editor.Choice, media []string) {
	if s := w.settings(); s != nil {
		for _, name := range s.People.Names() {
			choices = append(choices, editor.Choice{Kind: "teammate", Name: name})
		}
	}
	if w.root != "" {
		entries, _ := fs.ReadDir(config.MediaFolder(config.MediaPath(w.root)), ".") // there need not be any
		for _, e := range entries {
			media = append(media, e.Name())
		}
	}
	_ = view.Open(w.command(ctx), w.workspace(), func(v *view.View) error { // there need not be a journal
		known, err := storage.Choices(ctx, v.Journal, w.workspace())
		choices = append(choices, known...)
		return err
	})
	return choices, media
}

// workspace returns the name under which the journal has the workspace.
func (w *editorWorkspace) workspace() string { return cmp.Or(w.of, config.DefaultWorkspaceName) }

// command returns a command that reads the configuration of the workspace.
func (w *editorWorkspace) command(ctx context.Context) *cobra.Command {
	cmd := &cobra.Command{}
	file, _ := w.cmd.Flags().GetString("config")
	cmd.Flags().String("config", cmp.Or(w.nested, file), "")
	cli.JournalFlag(cmd)
	cmd.SetContext(ctx)
	return cmd
}

// compileAll compiles the files, and refuses those with errors.
func (w *editorWorkspace) compileAll(ctx context.Context, files []*rules.File) (*rules.Set, error) {
	set, problems, err := w.Compile(ctx, files)
	if err == nil && problems.HasErrors() {
		err = problems.In(cli.Language(w.cmd)).Err()
	}
	return set, err
}

// Test runs the tests of a file.
func (w *editorWorkspace) Test(ctx context.Context, files []*rules.File, file, name string) ([]lsp.TestResult, error) {
	set, err := w.compileAll(ctx, files)
	if err != nil {
		return nil, err
	}
	s := &suite{workspace: w.ruleWorkspace, set: set, only: []string{file}, folders: make(map[string]*rules.Set)}
	trials, err := s.trials()
	if err != nil {
		return nil, err
	}
	if name != "" {
		trials = slices.DeleteFunc(trials, func(t *trial) bool { return t.test.Name != name })
	}
	if len(trials) == 0 {
		return nil, fmt.Errorf("%s", phrases.Sprintf("there is no such test in %s", filepath.Base(file)).In(cli.Language(w.cmd)))
	}
	r := &trialRunner{workers: runtime.GOMAXPROCS(0), faults: true, progress: func() {}}
	outcomes, err := r.run(ctx, trials, func(*outcome) {})
	if err != nil {
		return nil, err
	}
	var results []lsp.TestResult
	for _, o := range outcomes {
		result := lsp.TestResult{File: o.Test.File, Name: o.Test.Name, OK: o.OK, Line: cmp.Or(o.Line, o.Test.Line), Message: cli.Harmless(o.Message)}
		result.Report = strings.Join(reportLines(&o.Result), "\n")
		results = append(results, result)
	}
	return results, nil
}

// backtestPeriod is how far back a rule is tried from an editor, as backtest does.
const backtestPeriod = "14d"

// Backtest says what a rule would have done on recorded events.
func (w *editorWorkspace) Backtest(ctx context.Context, files []*rules.File, _, rule string) (summary, report string, err error) {
	set, err := w.compileAll(ctx, files)
	if err != nil {
		return "", "", err
	}
	l := cli.Language(w.cmd)
	tried := set.Rule(rule)
	if tried == nil {
		return "", "", fmt.Errorf("%s", phrases.Sprintf("there is no rule %q", rule).In(l))
	}
	f := backtestFlags{since: backtestPeriod, workspace: w.workspace()}
	err = view.Open(w.command(ctx), f.workspace, func(v *view.View) error {
		o, err := f.options(ctx, v)
		if err != nil {
			return err
		}
		o.Only = true
		r, err := backtest.Run(ctx, o, (&rules.Set{Calendars: set.Calendars}).With(tried))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		(&backtestText{View: v, w: &b, c: cli.Colours(&b), was: "what was done"}).write(r)
		counts := make(map[string]int)
		for _, e := range r.Effects {
			counts[e.Verb]++
		}
		report, summary = b.String(), phrases.Sprintf("%s, on %d events of the last 14 days: nothing", rule, r.Events).In(l)
		if len(counts) > 0 {
			summary = phrases.Sprintf("%s, on %d events of the last 14 days: %s", rule, r.Events, verbCounts(counts)).In(l)
		}
		return nil
	})
	return summary, report, err
}
