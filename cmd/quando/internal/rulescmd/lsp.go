package rulescmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/lsp"
	"github.com/quandohq/quando/rules"
)

// NewLSP returns the command lsp, a language server for editors.
func NewLSP() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor: problems, completion and documentation while one types rules",
		Long: `Lsp speaks the Language Server Protocol on standard input and output. An editor starts it: docs/editors.md says how for VS Code, Neovim, Helix and Zed.

It tells problems as one types, completes keys, verbs, arguments, facts and the names of the desk, says what a word means and where a name is defined, renames ids
and constants, formats as fmt does, runs a test and tries a rule on recorded events. What is open in the editor counts in place of what is on the disk.

The names of the desk are those that an engine has kept in the journal. It changes no file by itself and asks nothing of the service.

Texts are in Portuguese where --lang, LC_ALL, LC_MESSAGES or LANG says so, else in English. It exits with 0 when the editor has asked for shutdown, else with 1.`,
		Example: "  quando lsp\n  quando lsp --lang pt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckLanguage(cmd); err != nil {
				return err
			}
			if f, ok := cmd.InOrStdin().(*os.File); ok && cli.IsTerminal(f) {
				fmt.Fprintln(cmd.ErrOrStderr(), "this speaks with an editor, not with a person; Ctrl-C ends it")
			}
			server := lsp.New(lsp.Options{Desk: &editorDesk{cmd}, Catalog: builtin.Catalog(), Language: cli.Language(cmd), Version: cli.Version()})
			err := server.Run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
			if errors.Is(err, lsp.ErrNoShutdown) {
				return cli.ErrNo
			}
			return err
		},
	}
	cmd.Flags().Bool("stdio", true, "what editors add")
	_ = cmd.Flags().MarkHidden("stdio") // it has been added
	cli.LanguageFlag(cmd)
	return cmd
}

// An editorDesk finds the workspaces of files that are open in an editor, as check does.
type editorDesk struct{ cmd *cobra.Command }

// CheckTemplate checks a template with the defaults of its blanks.
func (d *editorDesk) CheckTemplate(name string, text []byte) rules.Problems {
	_, problems := compileTemplate(name, text)
	return problems.Sort()
}
