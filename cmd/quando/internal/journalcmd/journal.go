// Package journalcmd has the commands that maintain a journal: copies, backups, forgetting.
package journalcmd

import (
	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

// New returns the command journal with the commands below it.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Look after the journal itself",
		Example: `  quando journal backup
  quando journal verify`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, one := range []*cobra.Command{newBackup(), newRestore(), newVerify(), newPrune(), newExport(), newForget()} {
		cli.JournalFlag(one)
		cmd.AddCommand(one)
	}
	cmd.AddCommand(newCopy())
	return cmd
}
