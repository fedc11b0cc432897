// Package cli has what all commands share: exit codes, flags, and output as text, tables and JSON.
package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes: what scripts rely on.
const (
	ExitNo    = 1 // the answer is no: problems found, a test failed, a difference
	ExitError = 2 // the command could not be carried out
)

// ErrNo ends a command whose answer is no. What there is to say has been printed.
var ErrNo = errors.New("no")

// No ends a command whose answer is no, and says why.
func No(cmd *cobra.Command, format string, args ...any) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "quando: %s\n", Harmless(fmt.Sprintf(format, args...)))
	return ErrNo
}
