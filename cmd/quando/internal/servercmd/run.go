// Package servercmd has the commands that run the engine and set up what it needs.
package servercmd

import (
	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
)

// NewRun returns the command run, which runs the engine until it is stopped.
func NewRun() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the engine: receive events, decide, act",
		Long: `Run receives the service's webhooks, ticks schedules and carries out what the rules call for, until it is stopped. Everything is
recorded in the journal before it is acted on, so a stop at any point loses nothing and does nothing twice.

The rules are watched and reloaded within a second of a change, and on SIGHUP. A rule that is wrong is reported and left out, or goes on as it was
before the change; the others are not affected. SIGINT or SIGTERM stop it: what is under way is finished first. A second one ends it at once.`,
		Example: "  quando run\n  quando run --config /etc/quando/quando.yaml --strict",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, _ := cmd.Flags().GetString("config")
			c, err := config.Load(file, false)
			if err != nil {
				return err
			}
			return process.Run(cmd, c, strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "do not start with a rule that is wrong")
	return cmd
}
