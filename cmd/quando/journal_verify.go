package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/stored"
)

func newJournalVerify() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Look for what is wrong with the journal or a backup of it",
		Long: `Verify reads all of a journal and reports what is wrong with it: a damaged file, rows that cannot be read, and whatever does not fit together, such as a run that
nobody would wake. It changes nothing, and works while an engine runs. FILE may be a backup, of this version or an older one; its checksum is compared with the one in backups.json.

It exits with 1 when something is wrong.`,
		Example: "  quando journal verify\n  quando journal verify backups/quando-20261113T205000Z.db",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if len(args) > 0 {
				return verifyJournal(cmd, args[0], output)
			}
			where, _, err := journalOf(cmd)
			if err != nil {
				return err
			}
			return verifyJournal(cmd, where, output)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func verifyJournal(cmd *cobra.Command, where, output string) error {
	return keeping(cmd, where, true, func(k stored.Keeper) error {
		report, err := k.Check(cmd.Context(), tellOn(cmd))
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if err := compareListed(where, report); err != nil {
			return err
		}
		if output == "json" {
			if err := writeJSON(cmd.OutOrStdout(), report); err != nil {
				return err
			}
		} else {
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "schema %d: %d events, %d runs, %d steps, %d rows in all\n", report.Schema, report.Rows["events"], report.Rows["runs"], report.Rows["steps"], total(report.Rows))
			for _, finding := range report.Findings {
				fmt.Fprintf(w, "wrong: %s\n", harmless(finding))
			}
			if len(report.Findings) == 0 {
				fmt.Fprintln(w, "Nothing is wrong with it.")
			}
		}
		if len(report.Findings) > 0 {
			return errNo
		}
		return nil
	})
}

// compareListed compares a backup with what its manifest says of it.
func compareListed(where string, report *stored.Report) error {
	if isAddress(where) {
		return nil
	}
	m, err := readManifest(manifestBeside(where))
	if err != nil {
		return err
	}
	b := m.find(where)
	if b == nil || b.SHA256 == "" { // or moved aside, and nobody has looked at it
		return nil
	}
	n, sum, err := checksum(where)
	if err != nil {
		return err
	}
	if n != b.Bytes || sum != b.SHA256 {
		report.Findings = append(report.Findings, fmt.Sprintf("%s is another file than the one that was backed up: its checksum is not the one in %s; use another backup", filepath.Base(where), m.path))
	}
	return nil
}

func total(rows map[string]int64) (n int64) {
	for _, of := range rows {
		n += of
	}
	return n
}
