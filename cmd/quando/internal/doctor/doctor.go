// Package doctor checks what an engine needs to work, and names the remedy.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
)

// New returns the command doctor.
func New() *cobra.Command {
	var output string
	var test bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that the engine needs: what is wrong, and how to mend it",
		Long: `Doctor looks at the key and its scopes, the clock, the webhook, its secret and its address, the profile, the journal, the disk and the rules, and says of each whether it is well. What is
not is followed by how to mend it. It changes nothing, takes some seconds, and works beside an engine as well as without one. Secrets are never shown.

It asks the service for a test event, where that gets through to the engine, to see what becomes of it; --test=false does not, and judges by the last delivery.

It exits with 1 when something is wrong. Warnings are no reason for that.`,
		Example: "  quando doctor\n  quando doctor --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckOutput(output); err != nil {
				return err
			}
			d := &doctor{test: test}
			if err := d.runChecks(cmd); err != nil {
				return err
			}
			return d.report(cmd, output)
		},
	}
	cli.OutputFlag(cmd, &output)
	cmd.Flags().BoolVar(&test, "test", true, "ask the service for a test event")
	return cmd
}

// A checkState is the result of a check.
type checkState string

// How something is.
const (
	well    checkState = "ok"
	warning checkState = "warn"
	failing checkState = "fail"
)

// A diagnosis is what was found of one thing.
type diagnosis struct {
	Check     string     `json:"check"`
	Workspace string     `json:"workspace,omitempty"` // empty is what all share
	Status    checkState `json:"status"`
	Message   string     `json:"message"`
	Mend      string     `json:"mend,omitempty"` // what to do about it
}

// A doctor collects what was found.
type doctor struct {
	test bool // a test event may be requested

	mu   sync.Mutex
	list map[string][]diagnosis // by check
}

// checks are the checks in the order of the report.
var checks = []string{"config", "key", "scopes", "clock", "webhook", "secret", "address", "profile", "journal", "disk", "rules", "stopped", "engine", "alerts"}

// patience is the timeout of one remote check.
const patience = 5 * time.Second

func (d *doctor) add(check, workspace string, status checkState, mend, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.list == nil {
		d.list = map[string][]diagnosis{}
	}
	d.list[check] = append(d.list[check], diagnosis{check, workspace, status, fmt.Sprintf(format, args...), mend})
}

// has reports whether something was found of a check.
func (d *doctor) has(check, workspace string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.list[check] {
		if one.Workspace == workspace {
			return true
		}
	}
	return false
}

// runChecks runs all checks. Independent ones run concurrently.
func (d *doctor) runChecks(cmd *cobra.Command) error {
	file, _ := cmd.Flags().GetString("config")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no configuration %s: say which one with --config, or begin with quando init", file)
	}
	c, err := config.Load(file, false)
	if err != nil {
		d.add("config", "", failing, "mend "+file+" as it says", "%v", err)
		return nil
	}
	list, err := c.Active()
	if err != nil {
		d.add("config", "", failing, "mend "+file+" as it says", "%v", err)
		return nil
	}
	d.add("config", "", well, "", "%s is right", file)
	ctx := cmd.Context()
	j := d.journal(ctx, c)
	if j != nil {
		defer func() { _ = j.Close() }() // it was only read
	}
	d.disk(c)
	d.alerts(c)
	var looks sync.WaitGroup
	looks.Go(func() { d.engine(ctx, c, j) })
	looks.Go(func() { d.stopped(ctx, j) })
	for _, w := range list {
		v := &workspaceDoctor{doctor: d, config: c, NamedWorkspace: w, journal: j}
		if err := v.open(); err != nil {
			d.add("config", w.Name, failing, "mend "+file+" as it says", "%v", err)
			continue
		}
		looks.Go(func() { v.service(ctx) })
		looks.Go(func() { v.files(ctx) })
	}
	looks.Wait()
	return nil
}

// report prints the results.
func (d *doctor) report(cmd *cobra.Command, output string) error {
	all := struct {
		Checks   []diagnosis `json:"checks"`
		Failed   int         `json:"failed"`
		Warnings int         `json:"warnings"`
	}{Checks: []diagnosis{}}
	workspaces := map[string]bool{}
	for _, check := range checks {
		for _, one := range d.list[check] {
			all.Checks = append(all.Checks, one)
			workspaces[one.Workspace] = true
			switch one.Status {
			case failing:
				all.Failed++
			case warning:
				all.Warnings++
			}
		}
	}
	if output == "json" {
		if err := cli.WriteJSON(cmd.OutOrStdout(), all); err != nil {
			return err
		}
	} else {
		for _, one := range all.Checks {
			d.line(cmd, one, len(workspaces) > 2)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s, %s\n", cli.Count(all.Failed, "fault"), cli.Count(all.Warnings, "warning"))
	}
	if all.Failed > 0 {
		return cli.ErrNo
	}
	return nil
}

func (d *doctor) line(cmd *cobra.Command, one diagnosis, named bool) {
	w := cmd.OutOrStdout()
	c := cli.Colours(w)
	paint := map[checkState]func(string) string{well: c.Green, warning: c.Yellow, failing: c.Red}[one.Status]
	name := one.Check
	if named && one.Workspace != "" {
		name += " of " + one.Workspace
	}
	fmt.Fprintf(w, "%s  %-8s  %s\n", paint(fmt.Sprintf("%-4s", one.Status)), name, cli.Harmless(oneLine(one.Message)))
	if one.Mend != "" {
		fmt.Fprintf(w, "      %s\n", cli.Harmless(oneLine("mend it: "+one.Mend)))
	}
}

// oneLine puts a text into one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// patiently sets the timeout of a remote check.
func patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, patience)
}
