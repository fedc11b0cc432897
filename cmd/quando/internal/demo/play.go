package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules"
)

// NewPlay returns the command play, which runs one's own rules in a sandbox of their own.
func NewPlay() *cobra.Command {
	p := &player{desk: newDesk()}
	var out bool
	var at, workspace string
	cmd := &cobra.Command{
		Use:   "play [dir|file]",
		Short: "Try your own rules on nobody: be the customer, move the clock, see what they do",
		Long: `Play runs rules against an imitation of the messaging service, on this machine alone: those of a project with its quando.yaml, of a folder,
or of one file. Without a name they are those of the project in this folder or, if there is none, the examples. In the console's simulator you are the
customer and the team, and move the clock: an answer that is due in 15 minutes is seen at once. What rules do is printed as one line for each run.

Nothing has to be set up. Labels, sectors, people, boards and stages that the rules name are there. The real service is never called, whatever the
configuration says, and http_request is answered here. Rules are in use as soon as they are saved, also from the console; a rule with a mistake is told
and goes on as it was. Nothing is kept unless --keep names a folder.`,
		Example: "  quando play\n  quando play rules/away.yaml --at 20:00\n  quando play desk --keep desk/play",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.listen != "" && !console.IsLoopback(p.listen) {
				return fmt.Errorf("--listen %s: whoever reaches the console can change the rules, so play listens on this machine only: use 127.0.0.1:8081", p.listen)
			}
			if err := p.find(cmd, args, workspace, out); err != nil {
				return err
			}
			set, err := p.compile()
			if err != nil {
				return err
			}
			if err := p.prepare(set, at); err != nil {
				return err
			}
			p.begin, p.opening, p.closing = p.beginPlay, p.openPlay, p.closePlay
			return p.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&at, "at", "", "begin at this `time`, such as 20:00 or \"2026-11-13 17:40\"; otherwise now or, where the calendar is closed, when it opens next")
	flags.StringVar(&p.keep, "keep", "", "keep what happened in this `folder`, and go on from there the next time")
	flags.BoolVar(&out, "http", false, "let http_request call the systems that the configuration allows")
	flags.StringVar(&p.listen, "listen", "", "the `address` of the console; otherwise 127.0.0.1:8081 or, if that is taken, any free one")
	flags.StringVar(&workspace, "workspace", "", "the `name` of the workspace whose rules are played, where the configuration has several")
	flags.DurationVar(&p.last, "for", 0, "stop after this `time`; 0 is when you stop it")
	return cmd
}

// keptState is the file with the state of the service, beside the journal.
const keptState = "sandbox.json"

// A player is a desk with rules of one's own, and what is said of it at the beginning.
type player struct {
	*desk
	from    string // where the rules are, as one calls it
	why     string // why it begins at this time
	missing []string
}

// find finds the rules and how they are run.
func (p *player) find(cmd *cobra.Command, args []string, workspace string, out bool) error {
	file, _ := cmd.Flags().GetString("config")
	named := cmd.Flags().Changed("config")
	if len(args) == 1 && !named {
		info, err := os.Stat(args[0])
		if err != nil {
			return cli.FileError(err)
		}
		file = args[0]
		if info.IsDir() {
			file = filepath.Join(args[0], "quando.yaml")
		}
	}
	_, err := os.Stat(file)
	project := err == nil && (named || len(args) == 0 || filepath.Base(file) == "quando.yaml")
	switch {
	case named && err != nil:
		return cli.FileError(err)
	case project:
		if err := p.project(file, workspace, out); err != nil {
			return err
		}
	}
	if !out {
		p.outside = &fakeTransport{called: p.notCalled}
	}
	if len(args) == 1 && (!project || named) {
		p.from, p.space.RulesPath = args[0], args[0]
	}
	if p.from == "" {
		return nil // the examples
	}
	p.space.RulesPath, err = filepath.Abs(p.space.RulesPath)
	return err
}

// project reads how the rules of a project are run. It reads nothing of its service, its journal
// and its console.
func (p *player) project(file, workspace string, out bool) error {
	c, missing, err := config.LoadForPlay(file, out)
	if err != nil {
		return err
	}
	p.missing = missing
	name := workspace
	if name == "" {
		name = config.DefaultWorkspaceName
	}
	if c.Named(name) == nil {
		return fmt.Errorf("%s has no workspace %s; it has %s", file, name, strings.Join(slices.Sorted(maps.Keys(c.Workspaces)), ", "))
	}
	c.Service.BaseURL = "sandbox" // so that the top level is among them
	list, err := c.Active()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(w config.NamedWorkspace) bool { return w.Name == name })
	p.space = list[i]
	p.space.Service = config.DefaultWorkspace().Service
	p.from = p.space.RulesPath
	if p.space.HTTPRequest.Allow == nil {
		p.space.HTTPRequest.Allow = []string{} // none, as in earnest
	}
	if _, err := os.Stat(p.from); err != nil {
		return cli.FileError(err)
	}
	if workspace == "" && len(c.Workspaces) > 0 {
		if files, err := config.FilesBelow(p.from, p.space.Except...); err == nil && len(files) == 0 {
			return fmt.Errorf("%s has several workspaces: choose one with --workspace, of %s", file, strings.Join(slices.Sorted(maps.Keys(c.Workspaces)), ", "))
		}
	}
	return nil
}

// compile reads the rules for what they name. Their mistakes are told later.
func (p *player) compile() (*rules.Set, error) {
	if p.from == "" {
		folder, err := os.MkdirTemp("", "quando-play-")
		if err != nil {
			return nil, cli.FileError(err)
		}
		defer os.RemoveAll(folder)
		if err := writeExamples(folder); err != nil {
			return nil, err
		}
		return compileFiles(folder, nil)
	}
	return compileFiles(p.space.RulesPath, p.space.Except)
}

func compileFiles(path string, except []string) (*rules.Set, error) {
	names := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, cli.FileError(err)
	} else if info.IsDir() {
		if names, err = config.FilesBelow(path, except...); err != nil {
			return nil, err
		}
	}
	var files []*rules.File
	for _, name := range names {
		if text, err := cli.ReadBounded(name); err == nil { // what cannot be read is told later
			files = append(files, rules.Parse(name, text))
		}
	}
	set, _ := rules.Compile(files, rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside})
	return set, nil
}

// prepare makes up the desk that the rules are for, or takes the one that was kept.
func (p *player) prepare(set *rules.Set, at string) error {
	p.speed = 1.0 / 60 // as usual
	if p.space.People == nil {
		p.space.People = phonesOf(set)
	}
	p.state = madeUp(set, p.space.People, p.space.Timezone.String())
	kept, err := p.kept()
	if err != nil {
		return err
	}
	switch {
	case at != "":
		p.start, err = parseStart(at, time.Now().In(p.space.Timezone))
		if err == nil && p.start.Before(kept) {
			err = fmt.Errorf("--at %s is before %s, when what --keep has ended: time does not go back", at, kept.In(p.space.Timezone).Format("2006-01-02 15:04"))
		}
	case !kept.IsZero():
		p.start, p.why = kept, ", where it ended the last time"
	default:
		p.start, p.why = startOf(set, time.Now().In(p.space.Timezone))
	}
	return err
}

// kept takes the state of the service that was kept, and returns its time; the zero time if nothing
// was.
func (p *player) kept() (time.Time, error) {
	if p.keep == "" {
		return time.Time{}, nil
	}
	if err := os.MkdirAll(p.keep, 0o700); err != nil {
		return time.Time{}, cli.FileError(err)
	}
	text, err := os.ReadFile(filepath.Join(p.keep, keptState))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(p.keep, "quando.db")); err == nil {
			return time.Time{}, fmt.Errorf("%s has a journal but no %s: play was not ended with Ctrl-C there. Take the folder away, or name another one", p.keep, keptState)
		}
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, cli.FileError(err)
	}
	var state struct{ Now time.Time }
	if err := json.Unmarshal(text, &state); err != nil || state.Now.IsZero() {
		return time.Time{}, fmt.Errorf("%s is not the state of a sandbox", filepath.Join(p.keep, keptState))
	}
	p.state = text
	return state.Now, nil
}

// parseStart reads a time of day, or of a date.
func parseStart(text string, now time.Time) (time.Time, error) {
	if t, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--at %q is not a time: write 20:00, or 2026-11-13 17:40", text)
}

// startOf returns now or, while the first calendar of the rules is closed, when it opens: waits
// that count opening hours would otherwise not be seen until then.
func startOf(set *rules.Set, now time.Time) (start time.Time, why string) {
	now = now.Truncate(time.Second)
	for _, name := range slices.Sorted(maps.Keys(set.Calendars)) {
		c := set.Calendars[name]
		if c == nil || c.Open(now) {
			continue
		}
		if opens, ok := c.NextOpen(now); ok {
			return opens, fmt.Sprintf(", when the calendar %s opens", name)
		}
	}
	return now, ""
}
