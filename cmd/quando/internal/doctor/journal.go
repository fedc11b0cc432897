package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/learn"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/service"
)

// journal checks whether the journal can be read and written, and opens it; nil if it cannot.
func (d *doctor) journal(ctx context.Context, c *config.Config) storage.Journal {
	where := c.JournalPath()
	if !storage.IsDatabase(where) {
		if _, err := os.Stat(where); errors.Is(err, os.ErrNotExist) {
			d.add("journal", "", warning, "start the engine: quando run", "there is none yet at %s", where)
			return nil
		}
		if err := sqlite.Probe(ctx, where, lockPatience); err != nil {
			d.add("journal", "", failing, lockMend(where, err), "%s cannot be written: %v", where, err)
			return nil
		}
	}
	ctx, cancel := patiently(ctx)
	defer cancel()
	if storage.IsDatabase(where) && !d.unlocked(ctx, where) {
		return nil
	}
	j, err := storage.Open(ctx, where, true)
	if err != nil {
		d.add("journal", "", failing, "do what it says; a damaged file is replaced by a backup (quando journal restore)", "%v", err)
		return nil
	}
	extent, err := j.Extent(ctx)
	if err != nil {
		d.add("journal", "", failing, "look with quando journal verify", "it cannot be read: %v", err)
		return j
	}
	switch files, everybody := storage.ExposedFiles(where); {
	case everybody:
		d.add("journal", "", failing, storage.ExposedFix(files), "everybody on this machine may read what customers wrote: %s", strings.Join(files, ", "))
	case len(files) > 0:
		d.add("journal", "", warning, storage.ExposedFix(files)+", unless that group is meant to", "its group may read what customers wrote: %s", strings.Join(files, ", "))
	default:
		d.add("journal", "", well, "", "it can be read and written; %s", cli.Size(extent.Bytes))
	}
	return j
}

// stopped checks whether something is stopped, which a person has to let go on.
func (d *doctor) stopped(ctx context.Context, j storage.Journal) {
	if j == nil {
		return
	}
	ctx, cancel := patiently(ctx)
	defer cancel()
	holds, err := j.Holds(ctx)
	if err != nil {
		d.add("stopped", "", warning, "look with quando journal verify", "what is stopped cannot be read: %v", err)
		return
	}
	if len(holds) == 0 {
		d.add("stopped", "", well, "", "nothing is stopped")
	}
	for _, h := range holds {
		stamp := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
		words := view.HoldSubject(h) + " is stopped " + d.stoppedBy(ctx, j, h) + ", since " + stamp(h.Since)
		if h.Reason != "" {
			words += ": " + h.Reason
		}
		d.add("stopped", h.Workspace, warning, view.HoldRemedy(h, time.Now(), stamp), "%s", words)
	}
}

// stoppedBy says what placed a hold, and of a person who did so on the console, who.
func (d *doctor) stoppedBy(ctx context.Context, j storage.Journal, h journal.Hold) string {
	words := view.HoldKindWords(h.Kind)
	if h.Kind != journal.HoldPerson {
		return words
	}
	entries, err := j.Audits(ctx, 0, 1000)
	if err != nil {
		return words
	}
	for _, e := range entries {
		if e.What == "pause" && e.At.Sub(h.Since).Abs() < 5*time.Second {
			return "by " + e.Who
		}
	}
	return words
}

// unlocked checks whether a journal in a database can be written.
func (d *doctor) unlocked(ctx context.Context, where string) bool {
	who, err := postgres.Probe(ctx, where, lockPatience)
	switch {
	case errors.Is(err, postgres.ErrBusy):
		d.add("journal", "", failing, "end the transaction that keeps it locked, such as one of a database tool or a maintenance job: "+cmp.Or(who, "pg_locks and pg_stat_activity show whose it is"), "the tables cannot be written: %v", err)
	case err != nil:
		d.add("journal", "", failing, "see to it that the database runs and is reached at the address in journal, that it lets this user in, and that the user owns the schema quando", "it cannot be written: %v", err)
	}
	return err == nil
}

// lockPatience is how long a journal may stay locked.
const lockPatience = 2 * time.Second

// lockMend says how to mend a journal that cannot be written.
func lockMend(where string, err error) string {
	if !errors.Is(err, sqlite.ErrBusy) {
		return "see to it that this user may write the file and its folder, and that their disk has room; quando journal verify says whether the file is whole, and a damaged one is replaced by a backup (quando journal restore)"
	}
	mend := "find out who has it open (fuser -v " + where + "), such as a database browser with an open transaction or a backup that copies the file, and end that"
	if who := lockedBy(where); who != "" {
		mend = "end the program that keeps it locked: " + who
	}
	return mend
}

// lockedBy names the processes that hold a write lock on a journal's file, if the system shows
// them.
func lockedBy(where string) string {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return ""
	}
	var list []string
	for _, end := range []string{"", "-shm"} {
		inode := storage.Inode(where + end)
		for line := range strings.Lines(string(locks)) {
			f := strings.Fields(line)
			if len(f) < 6 || f[1] == "->" || f[3] != "WRITE" || inode == "" || !strings.HasSuffix(f[5], ":"+inode) {
				continue
			}
			name, _ := os.ReadFile("/proc/" + f[4] + "/comm") // without a name, the number has to do
			if who := strings.TrimSpace(fmt.Sprintf("process %s %s", f[4], strings.TrimSpace(string(name)))); f[4] != fmt.Sprint(os.Getpid()) && !slices.Contains(list, who) {
				list = append(list, who)
			}
		}
	}
	return strings.Join(list, ", ")
}

const (
	diskLeast = 16 << 20  // bytes below which a disk counts as full
	diskSoon  = 500 << 20 // below which the doctor warns
	diskTrial = 1 << 20   // that are written to see whether it can be done
)

// disk checks whether the journal has room to grow.
func (d *doctor) disk(c *config.Config) {
	where := c.JournalPath()
	if storage.IsDatabase(where) {
		d.add("disk", "", well, "", "the journal is in a database, whose disk is looked after there")
		return
	}
	folder := filepath.Dir(where)
	const mend = "make room on that disk, or shorten keep and say quando journal prune; until then deliveries are answered with 503, and the service delivers them again"
	free, err := storage.FreeSpace(folder)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		d.add("disk", "", failing, "make the folder, or let journal name another", "the folder of the journal, %s, cannot be looked at: %v", folder, err)
		return
	}
	known := err == nil
	if err := trialWrite(folder); err != nil {
		mend := mend
		if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
			mend = "let the user that runs quando write there: see who owns the folder, and whether its disk is mounted for writing"
		}
		d.add("disk", "", failing, mend, "nothing can be written beside the journal in %s: %v", folder, err)
		return
	}
	switch {
	case known && free < diskLeast:
		d.add("disk", "", failing, mend, "the disk of %s is full: %s are left", folder, cli.Size(free))
	case known && free < diskSoon:
		d.add("disk", "", warning, mend, "the disk of %s is nearly full: %s are left", folder, cli.Size(free))
	case known:
		d.add("disk", "", well, "", "%s are free", cli.Size(free))
	default:
		d.add("disk", "", well, "", "it can be written")
	}
}

// trialWrite writes a file, and takes it away again.
func trialWrite(folder string) (err error) {
	f, err := os.CreateTemp(folder, ".quando-doctor-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(make([]byte, diskTrial))
	return errors.Join(err, f.Sync(), f.Close())
}

// engine checks whether an engine runs, and whether it can record.
func (d *doctor) engine(ctx context.Context, c *config.Config, j storage.Journal) {
	if j == nil {
		return
	}
	ctx, cancel := patiently(ctx)
	defer cancel()
	name, err := engineOf(ctx, c.JournalPath())
	if err != nil {
		d.add("engine", "", warning, "", "whether an engine runs cannot be found out: %v", err)
		return
	}
	if name == "" {
		d.add("engine", "", warning, "start it: quando run", "no engine is running on this journal")
		return
	}
	var r storage.Running
	if !storage.ReadNote(ctx, j, storage.RunningCursor, &r) || storage.IsDatabase(c.JournalPath()) {
		d.add("engine", "", well, "", "%s is running", name)
		return
	}
	status, text, err := askEngine(ctx, r, "/readyz", "")
	switch {
	case err != nil && !strings.HasSuffix(r.Process, strings.TrimPrefix(name, "process")):
		d.add("engine", "", warning, "try again in a moment", "%s has the journal, and does not serve yet", name)
	case err != nil:
		who := lockedBy(c.JournalPath() + ".lock")
		d.add("engine", "", failing, "end whoever has the file's lock, and start the engine: quando run", "the journal is locked (%s), so that no engine can begin, and none answers at %s", cmp.Or(who, name), r.Console)
	case status == http.StatusServiceUnavailable:
		d.add("engine", "", failing, "look at its log: what it cannot write is told there; see to the disk and the journal", "%s is running, and cannot record: %s", name, strings.TrimSpace(text))
	default:
		d.add("engine", "", well, "", "%s is running since %s, and able to record", name, r.Since.Format("2006-01-02 15:04 MST"))
	}
}

// engineOf names the engine that uses a journal; empty is none.
func engineOf(ctx context.Context, where string) (string, error) {
	k, err := storage.OpenKeeper(ctx, where, true)
	if err != nil {
		return "", err
	}
	name, err := k.Engine(ctx)
	return name, errors.Join(err, k.Close())
}

// askEngine requests a page of an engine on this machine from its console's address. The
// certificate is for another name than that address.
func askEngine(ctx context.Context, engine storage.Running, page, token string) (status int, text string, err error) {
	host, port, err := net.SplitHostPort(engine.Console)
	if err != nil {
		return 0, "", err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http://"
	if engine.Encrypted != "" {
		scheme = "https://"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+page, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: engine.Encrypted}}}
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return res.StatusCode, string(body), errors.Join(err, res.Body.Close())
}

// files checks the rules and the profile.
func (v *workspaceDoctor) files(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	v.loaded(ctx)
	if v.journal != nil {
		v.profile(ctx)
	}
}

// loaded checks whether the rules are valid, and whether a running engine has loaded them.
func (v *workspaceDoctor) loaded(ctx context.Context) {
	b := v.book()
	r, err := b.Read()
	if err != nil || r.Missing {
		v.found("rules", failing, "make the folder, or let rules in the configuration name another", "there are no rules at %s", v.RulesPath)
		return
	}
	set, problems := b.Compile(r)
	problems = append(problems, r.Problems...).Sort()
	if problems.HasErrors() {
		errs := slices.DeleteFunc(slices.Clone(problems), func(p source.Problem) bool { return p.Severity != source.Error })
		first := errs[0]
		v.found("rules", failing, "quando check "+v.RulesPath+" shows all that is wrong with them; mend that, and a running engine takes them up by itself",
			"%s in the rules, so that not all are loaded; the first is %s:%d:%d: %s", cli.Count(len(errs), "error"), first.File, first.Line, first.Column, first.Message)
		return
	}
	var l storage.Loaded
	name := ""
	if v.journal != nil {
		name, _ = engineOf(ctx, v.config.JournalPath()) // the check of the engine reports that it is unknown
	}
	switch {
	case name != "" && storage.ReadNote(ctx, v.journal, storage.LoadedCursor(v.Name), &l) && l.Content != fmt.Sprintf("%x", r.Content[:8]):
		v.found("rules", failing, "see whether it watches this folder (rules in the configuration that it was started with); kill -HUP lets it read them anew, and its log tells what it finds",
			"the engine that runs (%s) uses other rules than stand in %s: it has loaded %d, and there are %d", name, v.RulesPath, l.Rules, len(set.Rules))
	case len(set.Rules) == 0:
		v.found("rules", failing, "write some: quando init shows how; or let rules in the configuration name where they are", "there are no rules in %s, so that nothing is done", v.RulesPath)
	default:
		v.found("rules", well, "", "%s in %s", cli.Count(len(set.Rules), "rule"), v.RulesPath)
	}
}

// profileEvents is how many recorded events the profile is compared with.
const profileEvents = 3000

// profile compares the profile with recorded events.
func (v *workspaceDoctor) profile(ctx context.Context) {
	p := v.client.Profile()
	reading := learn.NewReading(p)
	seen := newSeen(p)
	err := storage.EachEvent(ctx, v.journal, journal.EventFilter{Workspace: v.Name}, profileEvents, func(e *journal.Event) {
		reading.Add(e.Event)
		seen.add(e)
	})
	if err != nil {
		v.found("profile", warning, "", "recorded events cannot be read: %v", err)
		return
	}
	const mend = "quando learn shows what events look like, and what to write into the profile"
	trouble := false
	for _, f := range reading.Findings() {
		if f.Events > 0 || f.Of == 0 || f.Field == string(service.KindContact)+"_id" { // a contact may well be missing
			continue
		}
		trouble = true
		v.found("profile", failing, mend, "the profile never finds the %s of %s (event.%s), in %s that are recorded; it looks at %s",
			strings.TrimSuffix(f.Field, "_id"), f.Type, f.Field, cli.Count(f.Of, "event"), strings.Join(config.ProfilePaths(p, "event", f.Field), ", "))
	}
	if never := seen.never(); len(never) > 0 {
		trouble = true
		v.found("profile", warning, "take them out of the profile, or mend them: "+mend, "these paths of the profile were never seen in recorded events: %s", strings.Join(never, ", "))
	}
	switch {
	case trouble:
	case seen.events == 0:
		v.found("profile", well, "", "no event is recorded yet that it could be compared with")
	default:
		v.found("profile", well, "", "it fits %s that are recorded", cli.Count(seen.events, "event"))
	}
}
