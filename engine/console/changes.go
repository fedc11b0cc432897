package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
)

// scope reads what a form is about: a rule, a workspace, or everything.
func (c *Console) scope(q *request) (workspace, rule, subject string, err error) {
	workspace, rule = q.r.PostFormValue("workspace"), q.r.PostFormValue("rule")
	switch {
	case workspace != "" && c.workspaces[workspace] == nil, rule != "" && (workspace == "" || !ruleID.MatchString(rule)):
		return "", "", "", problem(http.StatusBadRequest, "error.form")
	case rule != "":
		return workspace, rule, workspace + "/" + rule, nil
	case workspace != "":
		return workspace, "", workspace, nil
	}
	return "", "", "*", nil
}

// pause stops a rule, a workspace, or everything.
func (c *Console) pause(q *request) error {
	workspace, rule, subject, err := c.scope(q)
	if err != nil {
		return err
	}
	reason := words.Cut(q.r.PostFormValue("reason"), 200)
	var underWay []journal.UnderWay
	err = q.change("pause", subject, reason, func() (err error) {
		underWay, err = c.options.Journal.Hold(q.ctx(), journal.Hold{Workspace: workspace, Rule: rule, Kind: journal.HoldPerson, Reason: reason, Since: q.now})
		return err
	})
	if err != nil {
		return err
	}
	c.reloadHolds(q)
	if len(underWay) == 0 {
		return q.back("paused")
	}
	return c.paused(q, underWay)
}

// pausedPage lists the calls that were in flight when a hold was placed.
type pausedPage struct {
	Calls []underWayView
	Back  string
}

// An underWayView is a call that was under way.
type underWayView struct {
	Rule       ruleView
	Step, Verb string
	Lane       laneView
	Run        int64
	Link       string
	Since      time.Time
}

// paused shows the calls that were under way. That something is stopped has happened: what cannot
// be shown is no reason to say otherwise.
func (c *Console) paused(q *request, calls []journal.UnderWay) error {
	byWorkspace := map[string][]string{}
	for _, u := range calls {
		byWorkspace[u.Workspace] = append(byWorkspace[u.Workspace], u.Lane)
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		c.log.Error("the names of calls under way cannot be read", "error", err)
		names = &lanes{words: q.words()}
	}
	p := pausedPage{Back: q.address()}
	for _, u := range calls {
		p.Calls = append(p.Calls, underWayView{
			Rule: c.ruleView(u.Workspace, u.Rule), Step: u.Step, Verb: q.words().Or("verb.", u.Verb), Lane: names.of(u.Workspace, u.Lane), Run: u.Run, Link: "/runs/" + itoa(u.Run),
			Since: c.at(u.Workspace, u.Since),
		})
	}
	return q.show("paused", "", q.words().T("paused.title"), p)
}

// resume lifts a hold. It also resumes a rule that was stopped at a safety bound: everywhere or,
// with a lane, there.
func (c *Console) resume(q *request) error {
	workspace, rule, subject, err := c.scope(q)
	if err != nil {
		return err
	}
	lane := q.r.PostFormValue("lane")
	err = q.change("resume", subject, lane, func() error {
		holds, err := c.options.Journal.Holds(q.ctx())
		if err != nil {
			return err
		}
		for _, h := range journal.Resumable(holds, workspace, rule, lane) {
			if _, err := c.options.Journal.Lift(q.ctx(), q.now, h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.reloadHolds(q)
	return q.back("resumed")
}

// muteTimes are how long a person can mute a conversation; the last is until somebody unmutes it.
var muteTimes = []time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 0}

// mute keeps rules from sending to a conversation for a time, or lets them send again.
func (c *Console) mute(q *request) error {
	m := journal.MuteChange{Mute: journal.Mute{Workspace: q.r.PostFormValue("workspace"), Lane: q.r.PostFormValue("lane"), Since: q.now}}
	length := q.r.PostFormValue("for")
	what, said := vocabulary.Mute, "muted"
	if m.Off = length == "off"; m.Off {
		what, said = vocabulary.Unmute, "unmuted"
	} else {
		at := slices.IndexFunc(muteTimes, func(d time.Duration) bool { return duration.Format(d) == length })
		if at < 0 {
			return problem(http.StatusBadRequest, "error.form")
		}
		if muteTimes[at] > 0 {
			m.Until = q.now.Add(muteTimes[at])
		}
	}
	if c.workspaces[m.Workspace] == nil || !strings.HasPrefix(m.Lane, actions.ConversationLane("")) {
		return problem(http.StatusBadRequest, "error.form")
	}
	err := q.change(what, m.Workspace+"/"+m.Lane, "", func() error { return c.options.Journal.Mute(q.ctx(), m) })
	if err != nil {
		return err
	}
	return q.back(said)
}

// reloadHolds makes the engine reload the holds before a page shows them.
func (c *Console) reloadHolds(q *request) {
	if c.options.ReloadHolds == nil {
		return
	}
	if err := c.options.ReloadHolds(q.ctx(), q.now); err != nil {
		c.log.Error("the engine could not be told at once what is stopped", "error", err) // it reloads at its next interval
	}
}

// ask records a request for a run.
func (c *Console) ask(q *request) error {
	what := journal.AskKind(q.r.PathValue("what"))
	if !slices.Contains(askKinds, what) {
		return errNotFound
	}
	r, err := c.findRun(q)
	if err != nil {
		return err
	}
	if !r.State.Allows(what) {
		return problem(http.StatusConflict, "error.state", q.words().Or("state.", string(r.State)))
	}
	if err := c.askRun(q, r, what); err != nil {
		return err
	}
	return q.back("asked")
}

var askKinds = []journal.AskKind{journal.AskCancel, journal.AskRetry, journal.AskDealt, journal.AskDone, journal.AskRepeat}

// askRun records what a person asks of a run.
func (c *Console) askRun(q *request, r *journal.Run, what journal.AskKind) error {
	reason := words.Cut(q.r.PostFormValue("reason"), 200)
	err := q.change(string(what), "run "+itoa(r.ID)+" ("+r.Workspace+"/"+r.Rule+")", reason, func() error {
		return c.options.Journal.Ask(q.ctx(), q.now, r.ID, journal.Ask{What: what, Reason: reason, At: q.now})
	})
	if errors.Is(err, journal.ErrNoRun) {
		return errNotFound
	}
	return err
}

// askedTogether are the requests that people make of several runs at once.
var askedTogether = []journal.AskKind{journal.AskRetry, journal.AskDealt, journal.AskCancel}

// askSeveral records the same request for several runs: exactly those that the person saw. A run
// whose state does not allow it any more, or that somebody has dealt with, is left as it is.
func (c *Console) askSeveral(q *request) error {
	what, ids := journal.AskKind(q.r.PathValue("what")), strings.Fields(q.r.PostFormValue("runs")+" "+strings.Join(q.r.PostForm["run"], " "))
	if !slices.Contains(askedTogether, what) {
		return errNotFound
	}
	if len(ids) == 0 || len(ids) > attention.MaxFailed {
		return problem(http.StatusBadRequest, "error.form")
	}
	asked := 0
	for _, id := range ids {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return problem(http.StatusBadRequest, "error.form")
		}
		r, err := c.options.Journal.FindRun(q.ctx(), n)
		if errors.Is(err, journal.ErrNoRun) || err == nil && (!r.State.Allows(what) || r.State == journal.Dealt || r.Asked != nil) {
			continue
		}
		if err == nil {
			err = c.askRun(q, r, what)
		}
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		asked++
	}
	if asked == 0 {
		return q.back("asked_none")
	}
	return q.back("asked")
}

// redirect redirects to another page.
func (q *request) redirect(to string) error {
	http.Redirect(q.w, q.r, to, http.StatusSeeOther)
	return nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// A muteView says whether nothing automatic is sent, and what a person can do about that.
type muteView struct {
	Lane   string
	Muted  bool
	Since  time.Time
	Until  time.Time // zero is until somebody unmutes it
	Rule   *ruleView // that muted it; nil if a person did
	Run    string
	Times  []optionView
	Unmute string // the value that unmutes
}

// muteView says whether a conversation is muted; nil if the lane is none.
func (c *Console) muteView(q *request, workspace, lane string) (*muteView, error) {
	if !strings.HasPrefix(lane, actions.ConversationLane("")) {
		return nil, nil
	}
	v := &muteView{Lane: lane, Unmute: "off"}
	for _, d := range muteTimes {
		length := duration.Format(d)
		v.Times = append(v.Times, optionView{Value: length, Label: q.words().T("mute.for." + length)})
	}
	m, err := c.options.Journal.Muted(q.ctx(), workspace, lane, q.now)
	if err != nil || m == nil {
		return v, err
	}
	v.Muted, v.Since, v.Until = true, c.at(workspace, m.Since), c.at(workspace, m.Until)
	if m.Rule != "" {
		rule := c.ruleView(workspace, m.Rule)
		v.Rule, v.Run = &rule, "/runs/"+itoa(m.Run)
	}
	return v, nil
}

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
