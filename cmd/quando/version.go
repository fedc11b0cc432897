package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print which quando this is, and what it was built with",
		Example: "  quando version\n  quando version --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			v := versionJSON{Version: version(), Commit: commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), v)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "quando %s", v.Version)
			if v.Commit != "" {
				fmt.Fprintf(cmd.OutOrStdout(), " (%s)", v.Commit)
			}
			fmt.Fprintf(cmd.OutOrStdout(), ", %s, %s\n", v.Go, v.Platform)
			return nil
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

// versionJSON says which quando this is.
type versionJSON struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // with "modified" where it was not built from the commit alone
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// release is the version that a release's build sets; empty is that of the module.
var release string

// version returns the version as the build recorded it.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// commit returns the commit that it was built from; empty where nobody recorded it.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	var id, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			id = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if id == "" {
		return ""
	}
	return id + modified
}
