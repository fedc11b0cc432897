// Package attention finds what needs a person: what is stopped, fails, waits for a decision or
// cannot work. The console shows it, and alerts tell it outside.
package attention

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Journal is the part of the journal that is read.
type Journal interface {
	ListRuns(ctx context.Context, f journal.RunFilter) ([]*journal.Run, error)
	Holds(ctx context.Context) ([]journal.Hold, error)
	Audits(ctx context.Context, before int64, limit int) ([]journal.AuditEntry, error)
}

// A Workspace is one company, with the rules that it uses; Rules never returns nil.
type Workspace struct {
	Name  string
	Rules func() *rules.Set
}

// A Finder finds what needs a person.
type Finder struct {
	Journal    Journal
	Workspaces []Workspace

	// Calls returns how the service has answered the engine's calls. May be nil.
	Calls func() []Calls

	// Checks returns the latest results of checks. It does not wait for a check. May be nil.
	Checks func(ctx context.Context, now time.Time) []Check
}

// A Kind is a kind of what needs a person.
type Kind string

// The kinds of items.
const (
	Stopped   Kind = "stopped"   // a rule, a workspace or everything
	Outage    Kind = "outage"    // calls are not answered
	Uncertain Kind = "uncertain" // a run waits for a person's decision
	Failed    Kind = "failed"    // runs failed in the same way
	Broken    Kind = "broken"    // a rule is not in use as it is written
	Unwell    Kind = "check"     // a check found something wrong
)

// An Item is one thing that needs a person. Of the pointers, and of Runs, it has those of its kind.
type Item struct {
	Kind      Kind
	Key       string // the same as long as it lasts, without anything that a customer wrote
	Workspace string // empty is all of them
	Rule      string // the id of the rule that it is about; may be empty
	Name      string // of that rule
	Lane      string // of the customer that it is about; may be empty
	Since     time.Time
	By        string // who stopped it, if that is known

	Hold   *journal.Hold
	Outage *CallOutage
	Runs   []*journal.Run // the newest first
	Broken *rules.Broken
	Check  *Check

	many bool // there are several workspaces
}

const (
	// MaxFailed is how many failed runs are grouped.
	MaxFailed = 200

	maxUncertain = 10 // runs that are listed
	maxAudits    = 50 // audit entries that are searched for who stopped something
)

// Items lists what needs a person, most urgent first.
func (f *Finder) Items(ctx context.Context, now time.Time) (list []Item, err error) {
	parts := []func(context.Context, time.Time) ([]Item, error){f.stopped, f.outages, f.uncertain, f.failed}
	for _, part := range parts {
		found, err := part(ctx, now)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	list = append(list, f.broken()...)
	list = append(list, f.unwell(ctx, now)...)
	for i := range list {
		list[i].many = len(f.Workspaces) > 1
		list[i].Name = f.ruleName(list[i].Workspace, list[i].Rule)
	}
	return list, nil
}

// ruleName returns the name of a rule, or else its id.
func (f *Finder) ruleName(workspace, id string) string {
	for _, w := range f.Workspaces {
		if w.Name != workspace || id == "" {
			continue
		}
		if r := w.Rules().Rule(id); r != nil && r.Name != "" {
			return r.Name
		}
	}
	return id
}

// stopped lists the holds. A pause that the service asked for ends by itself.
func (f *Finder) stopped(ctx context.Context, _ time.Time) (list []Item, err error) {
	holds, err := f.Journal.Holds(ctx)
	if err != nil {
		return nil, err
	}
	var audits []journal.AuditEntry
	if slices.ContainsFunc(holds, func(h journal.Hold) bool { return h.Kind == journal.HoldPerson }) {
		if audits, err = f.Journal.Audits(ctx, 0, maxAudits); err != nil {
			return nil, err
		}
	}
	for i := range holds {
		h := &holds[i]
		if h.Kind == journal.HoldRate {
			continue
		}
		item := Item{Kind: Stopped, Workspace: h.Workspace, Rule: h.Rule, Lane: h.Lane, Since: h.Since, Hold: h}
		item.Key = fmt.Sprintf("stopped %s %s/%s/%s", h.Kind, h.Workspace, h.Rule, h.Lane)
		if h.Kind != journal.HoldKey { // a refused key is tried again and again, each time with a new hold
			item.Key += fmt.Sprintf(" %d", h.Since.UnixMicro())
		}
		// The console audits a pause with the time that the hold begins.
		if a := slices.IndexFunc(audits, func(e journal.AuditEntry) bool {
			return e.What == "pause" && e.At.UnixMicro() == h.Since.UnixMicro()
		}); a >= 0 && h.Kind == journal.HoldPerson {
			item.By = audits[a].Who
		}
		list = append(list, item)
	}
	return list, nil
}

// uncertain lists the runs that only a person can let go on.
func (f *Finder) uncertain(ctx context.Context, _ time.Time) (list []Item, err error) {
	runs, err := f.Journal.ListRuns(ctx, journal.RunFilter{State: journal.Uncertain, Limit: maxUncertain})
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if r.Asked == nil { // else a request is pending already
			list = append(list, Item{Kind: Uncertain, Key: fmt.Sprintf("uncertain %d", r.ID), Workspace: r.Workspace, Rule: r.Rule, Lane: r.Home, Since: r.StartedAt, Runs: []*journal.Run{r}})
		}
	}
	return list, nil
}

// differs is what differs between errors that are the same to people: ids and long numbers.
var differs = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\+?\d{5,}`)

// failed lists the runs that failed and that no person has dealt with, by rule and error.
func (f *Finder) failed(ctx context.Context, _ time.Time) (list []Item, err error) {
	runs, err := f.Journal.ListRuns(ctx, journal.RunFilter{State: journal.FailedRun, Limit: MaxFailed})
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	for _, r := range runs {
		if r.Asked != nil {
			continue // a request is pending already
		}
		sum := sha256.Sum256([]byte(differs.ReplaceAllString(failure(r), "")))
		key := fmt.Sprintf("failed %s/%s %x", r.Workspace, r.Rule, sum[:8])
		i, known := index[key]
		if !known {
			i, index[key] = len(list), len(list)
			list = append(list, Item{Kind: Failed, Key: key, Workspace: r.Workspace, Rule: r.Rule, Lane: r.Home})
		}
		list[i].Runs, list[i].Since = append(list[i].Runs, r), cmp.Or(r.FinishedAt, r.StartedAt)
	}
	return list, nil
}

// failure returns the error of a run's newest step that has one, or else the run's reason.
func failure(r *journal.Run) string {
	for _, s := range slices.Backward(r.Steps) {
		if s.State == journal.StepFailed && s.Error != "" {
			return s.Error
		}
	}
	return r.Reason
}

// broken lists the rules that are not in use as they are written.
func (f *Finder) broken() (list []Item) {
	for _, w := range f.Workspaces {
		set := w.Rules()
		for i := range set.Broken {
			b := &set.Broken[i]
			key := "broken " + w.Name + "/" + b.ID
			if b.ID == "" {
				key += " " + filepath.Base(b.File)
			}
			list = append(list, Item{Kind: Broken, Key: key, Workspace: w.Name, Rule: b.ID, Broken: b})
		}
	}
	return list
}
