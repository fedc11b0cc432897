package journalcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
)

func newForget() *cobra.Command {
	var f ForgetOptions
	cmd := &cobra.Command{
		Use:   "forget --contact ID | --phone NUMBER",
		Short: "Erase everything that the journal holds of one person, and prove it",
		Long: `Forget erases a person's data: what their events carried, what rules made of them, what was sent to them, and whatever else the journal is found to hold of them, such as their
name in a message to a supervisor. Runs about them that are not finished are cancelled. The ids of events and runs stay, and so do counts: what has come is still known, so that nothing is done again.

Then it looks through every row of every table, and through every byte of the journal's file and its write-ahead log, for the person's phones, names and what they wrote, and says whether anything was found.
It exits with 1 when something was. It works while an engine runs, whose deliveries may have to wait while the file is written anew.

Backups that still hold the person are listed, and marked in their backups.json; --backups erases the person there too. The audit says who has forgotten whom, by the contact's id. The service itself keeps what it has.`,
		Example: "  quando journal forget --contact 2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d\n  quando journal forget --phone \"+55 11 98888-7777\" --backups",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckOutput(f.output); err != nil {
				return err
			}
			if f.Person.Contact == "" && f.Person.Phone == "" {
				return errors.New("say whom to forget: --contact ID, as the service has it, or --phone NUMBER")
			}
			return f.run(cmd)
		},
	}
	cmd.Flags().StringVar(&f.Person.Contact, "contact", "", "the `id` that the service has for the contact")
	cmd.Flags().StringVar(&f.Person.Phone, "phone", "", "the person's phone `number`")
	cmd.Flags().StringVar(&f.Person.Workspace, "workspace", "", "only in this workspace, by its `name`")
	cmd.Flags().BoolVar(&f.backups, "backups", false, "erase the person in the backups too")
	f.wait.Duration = 15 * time.Second
	cmd.Flags().Var(&f.wait, "wait", "how long an engine may take to cancel what is under way")
	cli.OutputFlag(cmd, &f.output)
	return cmd
}

// ForgetOptions say whom to forget, and where.
type ForgetOptions struct {
	Person  forget.Person
	backups bool
	wait    cli.WaitFlag
	output  string
}

// ForgetReport is what forget has to say.
type ForgetReport struct {
	Contacts  []string      `json:"contacts"`
	Lanes     []string      `json:"lanes"`
	Events    int           `json:"events"`
	Runs      int           `json:"runs"`
	Cancelled int           `json:"cancelled"`
	Changed   int           `json:"changed"`
	Proof     *forget.Proof `json:"proof"`
	Backups   []string      `json:"backups"` // that still hold the person
	Cleaned   []string      `json:"cleaned"` // backups in which the person was erased

	// Failed says why the person could not be erased from a backup.
	Failed []string `json:"failed"`

	// Unfinished are files of backups that were stopped halfway, which may hold the person.
	Unfinished []string `json:"unfinished"`

	Rules []string `json:"rules"` // files of rules, or of their tests, that hold something of the person

	before time.Time // when a person was forgotten whom the journal no longer knows
}

func (f *ForgetOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	where, c, err := journalOf(cmd, "rules", profileKey)
	if err != nil {
		return err
	}
	if f.Person.Words, err = words(c); err != nil {
		return err
	}
	j, err := storage.Open(ctx, where, true)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // what was written is on disk
	out := &ForgetReport{Cleaned: []string{}, Failed: []string{}}
	var trail *forget.Trail
	err = keeping(cmd, where, false, func(k stored.Keeper) (err error) {
		trail, err = f.Erase(cmd, k, j, out)
		return err
	})
	unknown := errors.Is(err, forget.ErrUnknown)
	if err != nil && !unknown {
		return err
	}
	if err := f.others(ctx, out, j, trail, where, c); err != nil {
		return err
	}
	if unknown {
		if out.before, err = f.before(ctx, j); err != nil {
			return err
		}
	}
	return f.report(cmd, out, unknown)
}

// before returns when the person was last forgotten, from the audit log; the zero time if never, or
// unknown: it has no phones.
func (f *ForgetOptions) before(ctx context.Context, j storage.Journal) (at time.Time, err error) {
	list, err := forgottenSince(ctx, j, time.Time{})
	for _, one := range list {
		if f.Person.Contact != "" && slices.Contains(one.Contacts, f.Person.Contact) && one.At.After(at) {
			at = one.At
		}
	}
	return at, err
}

// forgettingCursor is set while a forget is in progress. A later process that finds it knows that
// one was interrupted.
const forgettingCursor = "forgetting"

// Erase forgets the person in the journal. It returns ErrUnknown, with what was found, if there was
// nothing.
func (f *ForgetOptions) Erase(cmd *cobra.Command, k stored.Keeper, j storage.Journal, out *ForgetReport) (*forget.Trail, error) {
	ctx := cmd.Context()
	r, err := forget.Forget(ctx, k, f.Person, forget.Options{
		Wait: f.wait.Duration, Now: cli.Now, Tell: tellOn(cmd),
		Ask: func(ctx context.Context, run int64) error {
			err := j.Ask(ctx, cli.Now(), run, journal.Ask{What: journal.AskCancel, Reason: forget.Reason, At: cli.Now()})
			if errors.Is(err, journal.ErrNoRun) {
				return nil
			}
			return err
		},
		// From here on an interrupted forget can be repeated: the audit log and the manifests know the
		// person, and that the file is to be rewritten.
		Found: func(ctx context.Context, t *forget.Trail) error {
			if err := j.SetCursor(ctx, forgettingCursor, cli.Now().UTC().Format(time.RFC3339)); err != nil {
				return err
			}
			if err := audit(ctx, j, t); err != nil {
				return err
			}
			return f.markBackups(ctx, j, t)
		},
	})
	unknown := errors.Is(err, forget.ErrUnknown)
	if err != nil && !unknown {
		return nil, err
	}
	if unknown {
		fmt.Fprintln(cmd.ErrOrStderr(), "The journal has nothing that is about this person.")
		begun, cursorErr := j.Cursor(ctx, forgettingCursor)
		if begun == "" || cursorErr != nil {
			return r.Trail, errors.Join(err, cursorErr)
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "Somebody was being forgotten when that was stopped: it is brought to its end.")
	} else {
		out.Contacts, out.Lanes, out.Cancelled, out.Changed = r.Contacts(), append([]string{}, r.Lanes()...), r.Cancelled, r.Changed
		out.Events, out.Runs, _ = r.Size()
	}
	tellOn(cmd)("giving the space back")
	if err := k.Compact(ctx); err != nil {
		return nil, fmt.Errorf("the person is forgotten, but what was there may still be in the file's free space: %w; say it once more when nobody else uses the journal", err)
	}
	if err := j.SetCursor(ctx, forgettingCursor, ""); err != nil {
		return nil, err
	}
	tellOn(cmd)("looking for what is left")
	if out.Proof, err = r.Prove(ctx); err == nil && unknown {
		err = forget.ErrUnknown
	}
	return r.Trail, err
}

// markBackups marks the backups that hold the person, before the journal no longer knows them.
func (f *ForgetOptions) markBackups(ctx context.Context, j journal.Journal, t *forget.Trail) error {
	lists, err := manifests(ctx, j)
	if err != nil {
		return err
	}
	return mark(lists, holding(ctx, lists, f.known(t)), forgottenNow(t))
}

// known is the person with what the journal has shown of them.
func (f *ForgetOptions) known(t *forget.Trail) forget.Person {
	p := f.Person
	p.Known = t
	return p
}

func forgottenNow(t *forget.Trail) forgotten {
	return forgotten{At: cli.Now().UTC().Truncate(time.Second), Contacts: t.Contacts(), Lanes: t.Lanes()}
}

// others checks what is beside the journal: its backups, and the files of rules.
func (f *ForgetOptions) others(ctx context.Context, out *ForgetReport, j journal.Journal, trail *forget.Trail, where string, c *config.Config) error {
	lists, err := manifests(ctx, j)
	if err != nil {
		return err
	}
	held := holding(ctx, lists, f.known(trail))
	parts := leftovers(lists, where)
	out.Backups = append([]string{}, held...)
	out.Unfinished = append([]string{}, parts...)
	if f.backups {
		for _, path := range parts {
			if err := removeJournal(path); err != nil {
				return err
			}
		}
		out.Backups, out.Unfinished = []string{}, []string{}
		for _, path := range held {
			if err := f.clean(ctx, path, trail); err != nil { // no reason to leave the person in the others
				out.Backups, out.Failed = append(out.Backups, path), append(out.Failed, fmt.Sprintf("%s: %v", path, err))
			} else {
				out.Cleaned = append(out.Cleaned, path)
			}
		}
	} else if err := mark(lists, held, forgottenNow(trail)); err != nil {
		return err
	}
	out.Rules, err = rulesHolding(c, trail)
	return err
}

// clean erases the person in a backup, which is another file after that: one that an earlier
// version wrote is brought up to date.
func (f *ForgetOptions) clean(ctx context.Context, path string, trail *forget.Trail) (err error) {
	defer func() { _ = os.Remove(path + ".lock") }() // no engine ever uses a backup
	j, err := storage.Open(ctx, path, false)
	if err != nil {
		return err
	}
	if err := j.Close(); err != nil {
		return err
	}
	k, err := sqlite.OpenKeeper(ctx, path, false)
	if err != nil {
		return err
	}
	who := forgottenNow(trail)
	r, err := forget.Forget(ctx, k, f.known(trail), forget.Options{Now: cli.Now})
	if err == nil {
		who.Contacts, who.Lanes = r.Contacts(), r.Lanes()
		err = k.Compact(ctx)
	}
	if err == nil {
		err = k.Rest(ctx)
	}
	if err = errors.Join(err, k.Close()); err != nil {
		return err
	}
	m, err := readManifest(manifestBeside(path))
	if err != nil {
		return err
	}
	b := m.find(path)
	if b == nil {
		return nil
	}
	b.Forgotten = slices.DeleteFunc(b.Forgotten, who.same)
	after, _, err := lookAtBackup(ctx, path, b.MadeAt)
	if err != nil {
		return err
	}
	b.Bytes, b.SHA256, b.Schema = after.Bytes, after.SHA256, after.Schema
	return m.write()
}

// auditForget is the action's name in the audit log.
const auditForget = "forget"

// audit records the forget, by ids alone.
func audit(ctx context.Context, j storage.Journal, t *forget.Trail) error {
	return j.Audit(ctx, journal.AuditEntry{At: cli.Now(), Who: whoami(), From: "quando journal forget", What: auditForget, Subject: forgottenNow(t).subject()})
}

// whoami returns the user who runs the command.
func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "somebody"
}

// rulesHolding finds files of rules, such as tests made of events, that contain something of the
// person. People have to edit them.
func rulesHolding(c *config.Config, t *forget.Trail) ([]string, error) {
	found := []string{}
	folders := []string{c.Path(c.Rules)}
	for _, w := range c.Workspaces {
		folders = append(folders, c.Path(w.Rules))
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // missing rules hold nothing
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			if slices.ContainsFunc(t.Terms(), func(w []byte) bool { return bytes.Contains(text, w) }) && !slices.Contains(found, path) {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// report prints the result.
func (f *ForgetOptions) report(cmd *cobra.Command, out *ForgetReport, unknown bool) error {
	if f.output == "json" {
		if err := cli.WriteJSON(cmd.OutOrStdout(), out); err != nil {
			return err
		}
	} else {
		out.text(cmd, unknown)
	}
	unknown = unknown && out.before.IsZero() && len(out.Cleaned) == 0 // an unknown person may be misspelt
	if unknown || len(out.Failed) > 0 || out.Proof != nil && len(out.Proof.Left) > 0 {
		return cli.ErrNo
	}
	return nil
}

func (o *ForgetReport) text(cmd *cobra.Command, unknown bool) {
	w := cmd.OutOrStdout()
	if !unknown {
		fmt.Fprintf(w, "Forgotten: %s, %s, %s cancelled; %d rows changed. Contact: %s.\n", cli.Count(o.Events, "event"), cli.Count(o.Runs, "run"), cli.Count(o.Cancelled, "unfinished run"), o.Changed, strings.Join(o.Contacts, ", "))
	}
	if !o.before.IsZero() {
		fmt.Fprintf(w, "Forgotten before, at %s.\n", o.before.UTC().Format("2006-01-02 15:04 MST"))
	}
	if p := o.Proof; p != nil {
		where := fmt.Sprintf("%d rows", p.Rows)
		if p.Bytes > 0 {
			where += fmt.Sprintf(" and %s of the journal's files", cli.Size(p.Bytes))
		}
		fmt.Fprintf(w, "Looked through %s for %s, %s and %s that the person wrote: ", where, cli.Count(p.Phones, "phone"), cli.Count(p.Names, "name"), cli.Count(p.Texts, "text"))
		if len(p.Left) == 0 {
			fmt.Fprintln(w, "found nowhere.")
		} else {
			fmt.Fprintln(w, "found, and left:")
			for _, l := range p.Left {
				fmt.Fprintf(w, "  %s%s\n", cli.Harmless(l.String()), leftWhy(l))
			}
		}
		if p.Shared > 0 {
			fmt.Fprintf(w, "%s is also somebody else's, such as another customer's or one of the team's, and stays where it is theirs.\n", cli.Count(p.Shared, "name"))
		}
	}
	for _, path := range o.Cleaned {
		fmt.Fprintf(w, "Erased in the backup %s too.\n", path)
	}
	for _, why := range o.Failed {
		fmt.Fprintf(w, "The person could not be erased in the backup %s.\n", cli.Harmless(why))
	}
	for _, path := range o.Backups {
		fmt.Fprintf(w, "The backup %s still holds the person, and is marked so: throw it away, or say quando journal forget once more with --backups.\n", path)
	}
	for _, path := range o.Unfinished {
		fmt.Fprintf(w, "The file %s is left of a backup or a restore that was stopped halfway, and may hold the person: throw it away, or say quando journal forget once more with --backups.\n", path)
	}
	for _, path := range o.Rules {
		fmt.Fprintf(w, "The file %s holds something of the person: change it.\n", path)
	}
}

// leftWhy says why something is left, and what to do about it.
func leftWhy(l forget.Left) string {
	switch l.Table {
	case "rule_versions":
		return ": a rule was written with it; take it out of the rule, and what runs began with is forgotten with them"
	case "cursors", "counts", "rule_counts", "reasons", "fired":
		return ": it is no customer's data; look at what it is"
	}
	if l.File != "" {
		return ": stop the engine and say quando journal prune"
	}
	return ": say quando journal forget once more"
}
