package servercmd

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/console"
)

// NewPassword returns the command password, which hashes a password for console.users.
func NewPassword() *cobra.Command {
	return &cobra.Command{
		Use:   "password",
		Short: "Turn a password into what console.users wants",
		Long: `Password reads a password from standard input, one line, and prints its hash (argon2id), which is written into the configuration under
console.users. The password itself is kept nowhere.`,
		Example: "  quando password\n  pass show quando/ana | quando password",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
			if line = strings.TrimRight(line, "\r\n"); line == "" {
				return errors.Join(errors.New("write the password on standard input, in one line"), err)
			}
			hash, err := console.HashPassword(line)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), hash)
			return nil
		},
	}
}
