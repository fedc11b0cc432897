package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// JournalFlag adds --journal to a command and those below it.
func JournalFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().String("journal", "", "the journal's `file` or address, instead of the configuration's")
}

// OutputFlag adds --output to a command.
func OutputFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "output", "text", "text or json")
}

// CheckOutput returns an error unless the value of --output is text or json.
func CheckOutput(output string) error {
	if output != "text" && output != "json" {
		return fmt.Errorf("--output is text or json, not %q", output)
	}
	return nil
}
