package journalcmd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newPrune() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Forget what is older than keep, and give its space back",
		Long: `Prune forgets what is older than keep of the configuration, as an engine does by itself, and then gives the free space back to the disk. A file in
which there is free space does not grow before that is used up, so this is only needed after something unusual: a shorter keep, or a flood that is over.

The file is written anew for that, which needs as much free room as what is left in it takes, beside the journal and once more in the folder for temporary files.

While an engine uses a journal's file, that engine forgets, every minute, and prune only gives the space back; what is recorded meanwhile waits for it. In PostgreSQL free space is used again, and stays with the database.`,
		Example: "  quando journal prune",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			where, c, err := journalOf(cmd, "keep")
			if err != nil {
				return err
			}
			return pruneJournal(cmd, where, c.Keep)
		},
	}
	return cmd
}

func pruneJournal(cmd *cobra.Command, where string, keep time.Duration) error {
	var before, after int64
	err := keeping(cmd, where, false, func(k stored.Keeper) error {
		before = bytesOf(k.Files())
		engine, err := k.Engine(cmd.Context())
		if err != nil {
			return err
		}
		if engine != "" && !storage.IsDatabase(where) {
			fmt.Fprintf(cmd.OutOrStdout(), "An engine is using the journal (%s): it forgets by itself what is older than its keep.\n", engine)
		} else if err := forgetOld(cmd, where, keep); err != nil {
			return err
		}
		if err := k.Compact(cmd.Context()); err != nil {
			return err
		}
		after = bytesOf(k.Files())
		return nil
	})
	if err != nil {
		return err
	}
	if storage.IsDatabase(where) {
		fmt.Fprintln(cmd.OutOrStdout(), "Free space is used again by the database.")
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The journal takes %s; it took %s.\n", cli.Size(after), cli.Size(before))
	return nil
}

// forgetOld does what an engine does with what is older than it keeps.
func forgetOld(cmd *cobra.Command, where string, keep time.Duration) (err error) {
	j, err := storage.Open(cmd.Context(), where, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if keep <= 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "The configuration keeps everything.")
		return nil
	}
	told := time.Now()
	for more := true; more; {
		if more, err = j.Prune(cmd.Context(), cli.Now(), keep); err != nil {
			return err
		}
		if time.Since(told) >= time.Second {
			told = time.Now()
			left, err := j.Extent(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "… the oldest event that is left came on %s\n", left.Oldest.Format(time.DateOnly))
		}
	}
	left, err := j.Extent(cmd.Context())
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Forgotten: everything that is older than %s.", cli.Span(keep))
	if !left.Oldest.IsZero() {
		fmt.Fprintf(cmd.OutOrStdout(), " The oldest event that is left came at %s.", left.Oldest.UTC().Format("2006-01-02 15:04 MST"))
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return nil
}

func bytesOf(files []string) (n int64) {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			n += info.Size()
		}
	}
	return n
}
