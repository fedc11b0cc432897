package journalcmd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newCopy() *cobra.Command {
	return &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy a journal to another place: from SQLite to PostgreSQL, or back",
		Long: `Copy copies everything that is in a journal into an empty one. Each is a file, or the address of a PostgreSQL database. No engine may use either of
them meanwhile. An engine that is then given the copy goes on exactly where the other stopped: runs that wait wake up, and what came before is not done again.

A copy that is stopped halfway goes on when the same command is given again. The source stays as it is; let an engine use only one of the two.`,
		Example: `  quando journal copy quando.db postgres://quando@db.internal/quando
  quando journal copy postgres://quando@db.internal/quando quando.db`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return copyJournal(cmd, args[0], args[1]) },
	}
}

// sameJournal reports whether two names are one journal's.
func sameJournal(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return a == b || err == nil && otherErr == nil && os.SameFile(one, other)
}

func copyJournal(cmd *cobra.Command, source, target string) (err error) {
	if sameJournal(source, target) {
		return fmt.Errorf("%s is where it is already: name an empty journal to copy it to, or back it up with quando journal backup", source)
	}
	from, err := storage.OpenStore(cmd.Context(), source, true)
	if err != nil {
		return fmt.Errorf("copy from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := storage.OpenStore(cmd.Context(), target, false)
	if err != nil {
		return fmt.Errorf("copy to: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var told time.Time
	sizes, err := stored.Copy(cmd.Context(), from, to, func(t *stored.Table, done, of int64) {
		if now := time.Now(); of > 0 && (done == of || now.Sub(told) >= time.Second) {
			told = now
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d of %d\n", t.Name, done, of)
		}
	})
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, n := range sizes {
		rows += n
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Copied, and counted on both sides: %d events, %d runs, %d steps, %d rows in all. Let an engine use only one of the two journals from here on.\n",
		sizes["events"], sizes["runs"], sizes["steps"], rows)
	return nil
}
