// Package rulescmd has the commands for those who write rules: check, test, backtest and others.
package rulescmd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/learn"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/blueprint"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// NewCheck returns the command check, which reports every problem of the rules.
func NewCheck() *cobra.Command {
	var output, journal string
	var online bool
	cmd := &cobra.Command{
		Use:   "check [path…]",
		Short: "Report every problem of the rules, and the scopes that the key needs",
		Long: `Check reads rule files, or folders of them, as one rule set and reports everything that is wrong, each problem with
its file, line and column. Without a path it takes the rules of the configuration, else the folder rules, else this folder. Of several workspaces,
those of the configuration or folders that have a quando.yaml of their own, each is checked by itself.

A template, which is a file with blanks, is checked with their defaults where it is named itself. In a folder of rules it is an error: it does not run.

The configuration is checked too: its keys, and that rules call only the systems of http_request.allow.

Problems are told in Portuguese where --lang, LC_ALL, LC_MESSAGES or LANG says so (the first of them that is set), else in English; in the JSON, too.

It exits with 0 when there is no error (warnings are allowed), 1 when there is one, and 2 when the files, or the configuration that --config names, could not be read.`,
		Example: "  quando check\n  quando check rules/away.yaml\n  quando check --output json rules",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(cli.CheckOutput(output), cli.CheckLanguage(cmd)); err != nil {
				return err
			}
			report := cli.NewReport()
			workspaces, err := workspacesToCheck(cmd, args, report)
			if err != nil {
				return err
			}
			for _, w := range workspaces {
				set, problems := w.compile()
				if online {
					more, err := checkOnline(cmd, w, set)
					if err != nil {
						return err
					}
					problems = append(problems, more...)
				}
				if journal != "" {
					more, err := checkJournal(cmd, set, journal)
					if err != nil {
						return err
					}
					problems = append(problems, more...)
				}
				report.Add(len(w.files), set, problems.Sort())
				engineScopes(report, w.settings(), set)
			}
			if output == "text" {
				report.WriteText(cmd.OutOrStdout(), cli.Language(cmd))
			} else if err := cli.WriteJSON(cmd.OutOrStdout(), report.In(cli.Language(cmd))); err != nil {
				return err
			}
			if report.Problems.HasErrors() {
				return cli.ErrNo
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the service of the configuration for the names that the rules use, and for the key's scopes")
	cmd.Flags().StringVar(&journal, "journal", "", "compare what the rules read of event.data with the events recorded in this `file`")
	cli.OutputFlag(cmd, &output)
	cli.LanguageFlag(cmd)
	return cmd
}

// workspacesToCheck reads what the paths name, each workspace by itself: neither ids nor calendars
// are shared. It reports what is wrong with the configurations.
func workspacesToCheck(cmd *cobra.Command, paths []string, report *cli.Report) ([]*ruleWorkspace, error) {
	main, wrong, err := config.Check(cmd)
	if err != nil {
		return nil, err
	}
	report.Problems = append(report.Problems, wrong.Sort()...)
	finder := newWorkspaceFinder(cmd, main, paths, func(file string) (*config.Config, error) {
		c, wrong, err := config.CheckOf(file)
		report.Problems = append(report.Problems, wrong.Sort()...)
		return c, err
	})
	names, err := finder.namedFiles(cmd, paths)
	if err != nil {
		return nil, err
	}
	files, err := config.ReadRules(cmd, names)
	if err != nil {
		return nil, err
	}
	named := len(files)
	files = slices.DeleteFunc(files, func(f *rules.File) bool {
		return f.Template && slices.Contains(paths, f.Name) && checkTemplate(report, f.Name)
	})
	if len(files) == 0 && named > 0 {
		return nil, nil
	}
	return finder.split(files)
}

// checkTemplate checks a template that was named itself, with the defaults of its blanks. One that
// is found in a folder of rules is a mistake, which checking the rules reports.
func checkTemplate(report *cli.Report, name string) bool {
	text, err := cli.ReadBounded(name)
	if err != nil {
		return false
	}
	set, problems := compileTemplate(name, text)
	report.Add(1, set, problems.Sort())
	return true
}

// compileTemplate compiles a template with the defaults of its blanks.
func compileTemplate(name string, text []byte) (*rules.Set, rules.Problems) {
	template, problems := blueprint.Parse(builtin.Catalog(), name, text)
	if template == nil {
		return &rules.Set{}, problems
	}
	set, more := template.Check(rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside})
	return set, append(problems, more...)
}

// engineScopes adds the scopes that the engine needs for its own calls: to find what no webhook
// told, to look after the webhook, and to know which chats are the company's own.
func engineScopes(report *cli.Report, w *config.Workspace, set *rules.Set) {
	if w == nil {
		usual := config.DefaultWorkspace()
		w = &usual
	}
	if w.Service.Webhook.PublicURL != "" {
		report.Need("webhooks:manage", "the webhook, which the engine looks after")
	}
	if len(w.People)+len(w.Safety.Internal) > 0 {
		const own phrases.Word = "which chats are our own"
		report.Need("contacts:read", own)
		report.Need("conversations:read", own)
	}
	if w.Backfill.Every == 0 {
		return
	}
	const missed phrases.Word = "events that no webhook told"
	for _, e := range set.Listens() {
		switch vocabulary.ObjectOf(e) {
		case vocabulary.Attendance:
			report.Need("attendances:read", missed)
		case vocabulary.Message:
			report.Need("conversations:read", missed)
			report.Need("messages:read", missed)
		case vocabulary.Card:
			report.Need("read", missed)
		}
	}
}

// checkJournal finds what rules read of event.data that no recorded event has.
func checkJournal(cmd *cobra.Command, set *rules.Set, file string) (rules.Problems, error) {
	j, err := storage.Open(cmd.Context(), file, true)
	if err != nil {
		return nil, err
	}
	shapes := make(learn.Shapes)
	err = storage.EachEvent(cmd.Context(), j, journal.EventFilter{}, maxEvents, func(e *journal.Event) { shapes.Add(e.Event) })
	if closeErr := j.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return learn.Check(set, shapes), err
}
