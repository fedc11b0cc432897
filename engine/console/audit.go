package console

import (
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

// auditPage lists changes by people.
type auditPage struct {
	Entries []auditView
	Older   string
}

// An auditView is one change.
type auditView struct {
	journal.AuditEntry
	At   time.Time
	What string
}

// audit lists changes made through the console, newest first.
func (c *Console) audit(q *request) error {
	before, err := numberOf(q.r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	found, err := c.options.Journal.Audits(q.ctx(), before, listSize+1)
	if err != nil {
		return err
	}
	p := auditPage{}
	if len(found) > listSize {
		found = found[:listSize]
		p.Older = pageLink("/audit", url.Values{}, found[len(found)-1].ID)
	}
	for _, e := range found {
		p.Entries = append(p.Entries, auditView{e, c.at("", e.At), q.words().Or("audit.", e.What)})
	}
	return q.show("audit", "audit", q.words().T("nav.audit"), p)
}

// change records a change in the audit log, and then makes it: no change goes unrecorded. It
// records a failure too.
func (q *request) change(what, subject, detail string, do func() error) error {
	e := journal.AuditEntry{At: q.now, Who: q.user.Name, From: q.from(), What: what, Subject: subject, Detail: words.Cut(detail, 500)}
	j := q.console.options.Journal
	if err := j.Audit(q.ctx(), e); err != nil {
		return err
	}
	err := do()
	if err != nil {
		e.What, e.Detail = "failed", what+": "+err.Error()
		if auditErr := j.Audit(q.ctx(), e); auditErr != nil {
			q.console.log.Error("what went wrong could not be audited", "error", auditErr)
		}
		return err
	}
	q.console.change()
	return nil
}

// A changeView is what a person changed, as a sentence.
type changeView struct {
	Key, Words, Link string
	At               time.Time
}

const (
	changesMost  = 8
	changesBack  = 7 * 24 * time.Hour
	changesPage  = 60 // audit entries that are read at a time
	changesPages = 10 // assistants leave many that change nothing
)

// changesLately says what people changed in the last days, the newest first. What did not work was
// no change, nor is what somebody only read.
func (c *Console) changesLately(q *request) (list []changeView, err error) {
	type act struct {
		at                 int64
		who, subject, what string
	}
	seen := map[act]bool{} // requests for several runs are one act
	before := int64(0)
	for range changesPages {
		found, err := c.options.Journal.Audits(q.ctx(), before, changesPage)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			before = e.ID
			if q.now.Sub(e.At) > changesBack || len(list) == changesMost {
				return list, nil
			}
			if e.What == "failed" {
				what, _, _ := strings.Cut(e.Detail, ": ")
				seen[act{at: e.At.UnixMicro(), who: e.Who, subject: e.Subject, what: what}] = true
				continue
			}
			if !q.words().Knows("changed."+e.What) || seen[act{at: e.At.UnixMicro(), who: e.Who, subject: e.Subject, what: e.What}] {
				continue
			}
			if strings.HasPrefix(e.Subject, "run ") {
				together := act{at: e.At.UnixMicro(), who: e.Who, what: e.What}
				if seen[together] {
					continue
				}
				seen[together] = true
			}
			list = append(list, c.changeView(q, e))
		}
		if len(found) < changesPage {
			break
		}
	}
	return list, nil
}

// changeView says what an entry of the audit log says, in a sentence.
func (c *Console) changeView(q *request, e journal.AuditEntry) changeView {
	w, who := q.words(), engine.Harmless(e.Who)
	if who == "local" {
		who = w.T("changed.somebody")
	}
	subject, link := c.changedThing(q, e)
	v := changeView{Key: itoa(e.ID), Words: w.T("changed."+e.What, who, subject), Link: link, At: c.at("", e.At)}
	if e.What == "pause" && e.Detail != "" {
		v.Words += ": " + engine.Harmless(e.Detail)
	}
	return v
}

var runSubject = regexp.MustCompile(`^run (\d+) \(([^/]+)/(.+)\)$`)

// changedThing says what an entry of the audit log is about, and where that is.
func (c *Console) changedThing(q *request, e journal.AuditEntry) (name, link string) {
	w := q.words()
	if m := runSubject.FindStringSubmatch(e.Subject); m != nil {
		return w.T("hold.rule", c.ruleView(m[2], m[3]).Name), "/runs/" + m[1]
	}
	workspace, rest, whole := strings.Cut(e.Subject, "/")
	space := c.workspaces[workspace]
	switch {
	case e.Subject == "*":
		return w.T("hold.everything"), "/audit"
	case space == nil || !whole:
		return w.T("hold.workspace", engine.Harmless(workspace)), "/audit"
	case strings.HasPrefix(rest, "conversation:"):
		names, err := q.lanesOf(map[string][]string{workspace: {rest}})
		if err != nil {
			return w.T("lane.conversation"), "/audit"
		}
		return names.of(workspace, rest).Label, conversationLink(workspace, rest)
	case !strings.HasPrefix(e.What, "save."):
		view := c.ruleView(workspace, rest)
		return w.T("hold.rule", view.Name), view.Link
	}
	return c.savedRule(q, space, rest, e.At)
}

// savedRule names the rule of a file that was changed at a time: by the history, else the only one.
func (c *Console) savedRule(q *request, space *Workspace, file string, at time.Time) (name, link string) {
	w := q.words()
	var views []ruleView
	for _, r := range space.book().Set.Rules {
		if filepath.Base(r.File) != path.Base(file) {
			continue
		}
		changed := c.changed.of(space, r)
		if slices.ContainsFunc(changed.All, func(t time.Time) bool { return t.Sub(at).Abs() < changedTogether }) {
			view := c.ruleView(space.Name, r.ID)
			return w.T("hold.rule", view.Name), view.Link
		}
		views = append(views, c.ruleView(space.Name, r.ID))
	}
	if len(views) == 1 {
		return w.T("hold.rule", views[0].Name), views[0].Link
	}
	return w.T("changed.some_rule"), "/audit"
}

// changedTogether is how far apart the audit log and the history may date the same change.
const changedTogether = 5 * time.Second
