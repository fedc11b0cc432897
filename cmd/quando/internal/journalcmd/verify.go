package journalcmd

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newVerify() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Look for what is wrong with the journal or a backup of it",
		Long: `Verify reads all of a journal and reports what is wrong with it: a damaged file, rows that cannot be read, and whatever does not fit together, such as a run that
nobody would wake. It changes nothing, and works while an engine runs. FILE may be a backup, of this version or an older one; its checksum is compared with the one in backups.json.

It exits with 1 when something is wrong, also when the file is so damaged that it cannot be opened, and with 2 when there is none or it cannot be read.`,
		Example: "  quando journal verify\n  quando journal verify backups/quando-20261113T205000Z.db",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckOutput(output); err != nil {
				return err
			}
			if len(args) > 0 {
				return verifyJournal(cmd, args[0], output, true)
			}
			where, _, err := journalOf(cmd)
			if err != nil {
				return err
			}
			return verifyJournal(cmd, where, output, false)
		},
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

func verifyJournal(cmd *cobra.Command, where, output string, copied bool) error {
	report, err := readWhole(cmd, where)
	if err != nil {
		return err
	}
	listed, err := compareListed(where, report)
	if err != nil {
		return err
	}
	if output == "json" {
		if err := cli.WriteJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		w := cmd.OutOrStdout()
		fmt.Fprintf(w, "schema %d: %d events, %d runs, %d steps, %d rows in all\n", report.Schema, report.Rows["events"], report.Rows["runs"], report.Rows["steps"], total(report.Rows))
		for _, finding := range report.Findings {
			fmt.Fprintf(w, "wrong: %s\n", cli.Harmless(finding))
		}
		if len(report.Findings) == 0 {
			fmt.Fprintln(w, "Nothing is wrong with it.")
		}
	}
	if len(report.Findings) > 0 {
		return cli.ErrNo
	}
	if copied && !listed && !storage.IsDatabase(where) {
		fmt.Fprintf(cmd.ErrOrStderr(), "No %s beside it has its checksum, so that a byte which was changed inside of a text would not be found: keep that list with copies of backups.\n", manifestName)
	}
	return nil
}

// readWhole reads all of a journal. A file that cannot be opened because it is no journal, or a
// damaged one, is a finding.
func readWhole(cmd *cobra.Command, where string) (report *stored.Report, err error) {
	err = keeping(cmd, where, true, func(k stored.Keeper) error {
		if report, err = k.Check(cmd.Context(), tellOn(cmd)); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		return nil
	})
	if errors.Is(err, stored.ErrUnsound) {
		report, err = &stored.Report{Rows: map[string]int64{}, Findings: []string{err.Error()}}, nil
	}
	return report, err
}

// compareListed compares a backup with its manifest's entry, and reports whether there is one.
func compareListed(where string, report *stored.Report) (listed bool, err error) {
	if storage.IsDatabase(where) {
		return false, nil
	}
	m, err := readManifest(manifestBeside(where))
	if err != nil {
		return false, err
	}
	b := m.find(where)
	if b == nil || b.SHA256 == "" { // or moved aside, and not verified
		return false, nil
	}
	n, sum, err := checksum(where)
	if err != nil {
		return false, err
	}
	if n != b.Bytes || sum != b.SHA256 {
		report.Findings = append(report.Findings, fmt.Sprintf("%s is another file than the one that was backed up: its checksum is not the one in %s; use another backup", filepath.Base(where), m.path))
	}
	return true, nil
}

func total(rows map[string]int64) (n int64) {
	for _, of := range rows {
		n += of
	}
	return n
}
