package servercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/console"
)

// keysForAssistants are the settings that answers to assistants depend on. None of them is a key of
// the service.
var keysForAssistants = []string{
	"rules", "timezone", "journal", "service.profile", "people", "safety.messages_per_conversation", "safety.messages", "http_request.allow", "console.read_only", "mcp.customers",
}

// NewMCP returns the command mcp, which lets an assistant work on rules over standard input.
func NewMCP() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an assistant read, prove and propose rules, over the Model Context Protocol",
		Long: `Mcp speaks the Model Context Protocol on standard input and output, for an assistant that starts it. The assistant can read the language, the
names of the desk and the rules, check, test and try them, see what they would have done, find out why a rule did or did not fire, and propose rules as drafts
or in shadow. It cannot make a rule live, change a live one, start, pause or resume anything, forget anybody, or send anything: a person
makes a proposal live in the console.

It works on the project of the current folder, or of --config, and on its journal, beside an engine that may run. It needs no key of the service, and calls
nobody. Answers have nothing of customers unless the configuration says mcp.customers: true. Every call is in the audit.

Assistants on other machines use /mcp of the console's address instead, with a token of mcp.tokens: see docs/assistants.md.`,
		Example: "  quando mcp\n  quando mcp --config /etc/quando/quando.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serveAssistant(cmd) },
	}
	cli.JournalFlag(cmd)
	return cmd
}

// serveAssistant answers the assistant that has started the process.
func serveAssistant(cmd *cobra.Command) error {
	c, _, err := config.LoadPart(cmd, keysForAssistants...)
	if err != nil {
		return err
	}
	where, _ := cmd.Flags().GetString("journal")
	if where == "" {
		where = c.JournalPath()
	}
	j, err := openOrCreate(cmd.Context(), where)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	server, err := process.NewAssistants(c, j, log)
	if err == nil {
		who := console.Assistant{Name: "of " + userName(), From: "stdio", Role: console.Editor, Shadow: true}
		err = server.Run(cmd.Context(), who, io.NopCloser(cmd.InOrStdin()), leaveOpen{cmd.OutOrStdout()})
	}
	if closeErr := j.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return err
}

// openOrCreate opens a journal beside an engine. Where no engine has run yet there is none: it is
// created, because every call is audited in it.
func openOrCreate(ctx context.Context, where string) (storage.Journal, error) {
	if _, err := os.Stat(where); !storage.IsDatabase(where) && errors.Is(err, fs.ErrNotExist) {
		created, err := storage.Open(ctx, where, false)
		if err != nil {
			return nil, err
		}
		if err := created.Close(); err != nil {
			return nil, fmt.Errorf("create the journal: %w", err)
		}
	}
	return storage.Open(ctx, where, true)
}

// userName names the person whose assistant it is.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "this machine"
}

// leaveOpen does not close standard output.
type leaveOpen struct{ io.Writer }

func (leaveOpen) Close() error { return nil }
