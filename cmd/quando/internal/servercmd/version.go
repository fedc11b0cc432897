package servercmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

// NewVersion returns the command version, which prints which build this is.
func NewVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print which quando this is, and what it was built with",
		Example: "  quando version\n  quando version --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckOutput(output); err != nil {
				return err
			}
			v := versionJSON{Version: cli.Version(), Commit: cli.Commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if output == "json" {
				return cli.WriteJSON(cmd.OutOrStdout(), v)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "quando %s", v.Version)
			if v.Commit != "" {
				fmt.Fprintf(cmd.OutOrStdout(), " (%s)", v.Commit)
			}
			fmt.Fprintf(cmd.OutOrStdout(), ", %s, %s\n", v.Go, v.Platform)
			return nil
		},
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

// versionJSON says which quando this is.
type versionJSON struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // with "modified" where it was not built from the commit alone
	Go       string `json:"go"`
	Platform string `json:"platform"`
}
