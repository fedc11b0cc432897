package rulescmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// NewFmt returns the command fmt, which writes rule files in their canonical form.
func NewFmt() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "fmt [path…]",
		Short: "Bring rule files into one canonical form, with their comments",
		Long: `Fmt rewrites rule files in place and prints the names of those that it changed. What a file means never changes, and
comments stay where they belong. A path of - reads standard input and writes standard output.

It exits with 0, or with 1 when a file could not be read as YAML, or with --check when a file is not in its canonical form.`,
		Example: "  quando fmt\n  quando fmt --check rules\n  quando fmt - < away.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return formatStream(cmd, check)
			}
			if slices.Contains(args, "-") {
				return errors.New("- stands alone: standard input goes to standard output")
			}
			files, err := config.RuleFiles(cmd, args)
			if err != nil {
				return err
			}
			var answer error
			for _, name := range files {
				text, err := cli.ReadBounded(name)
				if err != nil {
					return err
				}
				formatted, problems := rules.Format(name, text)
				switch {
				case len(problems) > 0:
					cli.WriteProblems(cmd.ErrOrStderr(), cli.Language(cmd), problems)
					answer = cli.ErrNo
				case bytes.Equal(text, formatted):
				case check:
					fmt.Fprintln(cmd.OutOrStdout(), name)
					answer = cli.ErrNo
				default:
					if err := rewrite(name, formatted); err != nil {
						return err
					}
					fmt.Fprintln(cmd.OutOrStdout(), name)
				}
			}
			return answer
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; print the files that are not in canonical form and exit with 1")
	return cmd
}

func formatStream(cmd *cobra.Command, check bool) error {
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), source.MaxBytes+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	formatted, problems := rules.Format("-", text)
	if len(problems) > 0 {
		cli.WriteProblems(cmd.ErrOrStderr(), cli.Language(cmd), problems)
		return cli.ErrNo
	}
	if check {
		if !bytes.Equal(text, formatted) {
			return cli.ErrNo
		}
		return nil
	}
	_, err = cmd.OutOrStdout().Write(formatted)
	return err
}

// rewrite replaces a file's text at once: who reads it sees the old text or the new one, never half
// of it.
func rewrite(name string, text []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return cli.FileError(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return cli.FileError(err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".quando-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
