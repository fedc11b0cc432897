package console

import (
	"net/url"
	"time"

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
