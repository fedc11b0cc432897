package servercmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/engine/alerts"
	"github.com/quandohq/quando/service"
)

// NewAlerts returns the command alerts with the command below it.
func NewAlerts() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "alerts",
		Short:   "Try the alerts that tell people outside of the console",
		Example: "  quando alerts test",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAlertsTest())
	return cmd
}

func newAlertsTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test",
		Short: "Send one test alert to each phone and webhook of alerts, and say what became of it",
		Long: `Test sends one message to everybody whom alerts names in the configuration, and one to its webhook, as an alert would be sent, and says of each whether it was taken.
It works beside an engine as well as without one. It exits with 1 when one did not get through.`,
		Example: "  quando alerts test",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, _ := cmd.Flags().GetString("config")
			c, err := config.Load(file, false)
			if err != nil {
				return err
			}
			if c.Alerts.None() {
				return errors.New("the configuration tells nobody: name persons in alerts.people, or set alerts.webhook")
			}
			list, err := c.Active()
			if err != nil {
				return err
			}
			own := func(context.Context, string, service.Message) (bool, error) { return false, nil }
			var units []*process.Unit
			for _, w := range list {
				u, err := process.NewUnit(c, w, nil, own, slog.New(slog.DiscardHandler))
				if err != nil {
					return err
				}
				units = append(units, u)
			}
			o, err := process.AlertOptions(c, units, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			failed := 0
			for _, r := range alerts.New(o).Test(cmd.Context()) {
				said := "sent"
				if r.Error != "" {
					said = "did not get through: " + r.Error
					failed++
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cli.Harmless(r.Way), cli.Harmless(said))
			}
			if failed > 0 {
				return cli.ErrNo
			}
			return nil
		},
	}
}
