// Package rulescmd has the commands for those who write rules: check, test, backtest and others.
package rulescmd

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/learn"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
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
its file, line and column. Without a path it takes the rules of the configuration, each workspace by itself, else the folder rules, else this folder.

The configuration is checked too: its keys, and that rules call only the systems of http_request.allow.

Problems are told in Portuguese where --lang, LC_ALL, LC_MESSAGES or LANG says so (the first of them that is set), else in English; in the JSON, too.

It exits with 0 when there is no error (warnings are allowed), 1 when there is one, and 2 when the files, or the configuration that --config names, could not be read.`,
		Example: "  quando check\n  quando check rules/away.yaml\n  quando check --output json rules",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(cli.CheckOutput(output), cli.CheckLanguage(cmd)); err != nil {
				return err
			}
			c, wrong, err := config.Check(cmd)
			if err != nil {
				return err
			}
			sets, err := setsToCheck(cmd, args)
			if err != nil {
				return err
			}
			people, err := config.PeopleNames(cmd)
			if err != nil {
				return err
			}
			report := cli.NewReport()
			report.Problems = append(report.Problems, wrong.Sort()...)
			for _, one := range sets {
				set, problems := rules.Compile(one.files, rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside, People: people[one.workspace]})
				problems = append(problems, checkAddresses(c, one.workspace, set)...)
				if online {
					more, err := checkOnline(cmd, cmp.Or(one.workspace, config.DefaultWorkspaceName), set)
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
				report.Add(len(one.files), set, problems.Sort())
				engineScopes(report, c, one.workspace, set)
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

// A setToCheck is the files that make one rule set.
type setToCheck struct {
	workspace string // empty if they were named by paths, which may be of any workspace
	files     []*rules.File
}

// setsToCheck reads what the paths name as one set. Without any, each workspace of the
// configuration has its own: neither ids nor calendars are shared.
func setsToCheck(cmd *cobra.Command, paths []string) (sets []setToCheck, err error) {
	c, _, err := config.LoadPart(cmd, "rules")
	if len(paths) > 0 || err != nil || len(c.Workspaces) == 0 {
		files, err := config.ReadRules(cmd, paths)
		return []setToCheck{{workspaceOf(paths), files}}, err
	}
	v := &view.View{Config: c}
	for _, name := range append([]string{config.DefaultWorkspaceName}, slices.Sorted(maps.Keys(c.Workspaces))...) {
		// Where the top level has only what is common, it has no rules either.
		if _, err := os.Stat(c.Path(c.Rules)); name == config.DefaultWorkspaceName && err != nil && c.Rules == config.Default().Rules {
			continue
		}
		files, err := v.WorkspaceFiles(cmd, name)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 || name != config.DefaultWorkspaceName {
			sets = append(sets, setToCheck{name, files})
		}
	}
	return sets, nil
}

// workspaceOf returns the workspace of a set; empty where paths name it, which may be of any.
func workspaceOf(paths []string) string {
	if len(paths) > 0 {
		return ""
	}
	return config.DefaultWorkspaceName
}

// checkAddresses finds calls of systems that are not on the list of the configuration at hand.
func checkAddresses(c *config.Config, workspace string, set *rules.Set) (problems rules.Problems) {
	if c == nil || c.Named(workspace) == nil {
		return nil
	}
	names := c.Named(workspace).HTTPRequest.Allow
	if workspace == "" {
		for _, name := range slices.Sorted(maps.Keys(c.Workspaces)) {
			names = append(names, c.Workspaces[name].HTTPRequest.Allow...)
		}
	}
	var hosts []builtin.HTTPHost
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if strings.Contains(name, "${") {
			return nil // which host it is, only the machine knows that runs the rules
		}
		hosts = append(hosts, builtin.HTTPHost{Host: name})
	}
	list, err := builtin.NewAllowList(hosts)
	for _, use := range set.Addresses() {
		if err != nil {
			return append(problems, use.Problem(phrases.Sprintf("%v", err), phrases.Sprintf("mend http_request.allow in the configuration")))
		}
		if why := list.Check(use.Name); why != nil {
			_, host, _ := strings.Cut(use.Name, "://")
			problems = append(problems, use.Problem(phrases.Sprintf("%v", why), cmp.Or(source.DidYouMean(host, names), phrases.Sprintf("write %s", "http_request: { allow: ["+host+"] }"))))
		}
	}
	return problems
}

// engineScopes adds the scopes that the engine needs for its own calls: to find what no webhook
// told, to look after the webhook, and to know which chats are the company's own.
func engineScopes(report *cli.Report, c *config.Config, workspace string, set *rules.Set) {
	w := config.DefaultWorkspace()
	if c != nil && c.Named(workspace) != nil {
		w = *c.Named(workspace)
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
	err = storage.EachEvent(cmd.Context(), j, journal.EventFilter{}, mostEvents, func(e *journal.Event) { shapes.Add(e.Event) })
	if closeErr := j.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return learn.Check(set, shapes), err
}
