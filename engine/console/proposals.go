package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/store"
)

// proposalsPage lists what assistants have proposed and nobody has decided on.
type proposalsPage struct {
	Proposals []proposalView
}

// A proposalView is a proposal that waits.
type proposalView struct {
	Workspace, File, Rule, Name string
	Many                        bool // there are several workspaces
	Who, Why                    string
	Said                        string // whose proposal it is
	Standing                    string // the page of the rule as it stands; empty if there is none
	At                          time.Time
	Stage                       rules.Stage // at which it is saved; empty if it only waits
	Stale                       bool        // the file has changed since
	Link                        string
	Seen                        string // tells this proposal from a later one

	text, was string
}

// proposalPage is a proposal with what it would do.
type proposalPage struct {
	proposalView
	View  *studio.View // the rule in words; nil if it cannot be read
	Diff  *ruleDiff    // from the file as it stands; nil for a new one, or one that is saved
	Tests *testsView
	Past  *tryView
	Red   []testView // tests that hold it back
}

// waiting returns the proposals for a workspace that nobody has decided on, the newest first. One
// that was saved and changed by a person since is settled.
func (c *Console) waiting(q *request, w *Workspace) (list []proposalView) {
	if w.Editing == nil {
		return nil
	}
	files := w.Editing.Store
	names, err := files.Proposals()
	if err != nil {
		c.log.Error("the proposals cannot be listed", "workspace", w.Name, "error", err)
		return nil
	}
	for _, name := range names {
		p, err := files.Proposed(name)
		if err != nil || p == nil || !ruleID.MatchString(p.Rule) {
			continue // it is damaged, or gone meanwhile
		}
		standing, _ := files.Read(name) // a file that does not exist has no sum
		v := proposalView{
			Workspace: w.Name, File: name, Rule: p.Rule, Name: p.Rule, Many: len(c.workspaces) > 1, Who: engine.Harmless(p.Who), Why: engine.Harmless(p.Why), At: c.at(w.Name, p.At),
			Stale: standing.Sum != p.Was, Link: "/proposal?workspace=" + escapeQuery(w.Name) + "&file=" + escapeQuery(name), Seen: p.At.Format(time.RFC3339Nano), text: p.Text, was: p.Was,
		}
		if p.Saved && v.Stale {
			continue
		}
		v.Said = q.words().T("proposals.said", strings.TrimPrefix(v.Who, "assistant "))
		if of, ok := strings.CutPrefix(v.Who, "assistant of "); ok {
			v.Said = q.words().T("proposals.said.of", of)
		}
		if set := w.book().Set; set.Rule(p.Rule) != nil || brokenOf(set, p.Rule) != nil {
			v.Standing = c.ruleView(w.Name, p.Rule).Link
		}
		if p.Saved {
			v.Stage = rules.Stage(p.Stage)
		}
		if fields, err := form.Read(w.catalog(), []byte(p.Text), p.Rule); err == nil && fields.Name != "" {
			v.Name = engine.Harmless(fields.Name)
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b proposalView) int { return b.At.Compare(a.At) })
	return list
}

// proposalNeeds are the proposals that the user can decide on.
func (c *Console) proposalNeeds(q *request) (list []need) {
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		if !q.editable(w.Name) {
			continue
		}
		for _, v := range c.waiting(q, w) {
			n := need{Key: "proposal " + w.Name + "/" + v.File, Title: q.words().T("need.proposal", v.Name), Detail: v.Said, Link: v.Link, Go: &linkView{Label: q.words().T("proposals.look"), Link: v.Link}}
			if v.Why != "" {
				n.Detail += ": " + v.Why
			}
			list = append(list, n)
		}
	}
	return list
}

// proposals lists the proposals that wait.
func (c *Console) proposals(q *request) error {
	var p proposalsPage
	for i := range c.options.Workspaces {
		p.Proposals = append(p.Proposals, c.waiting(q, &c.options.Workspaces[i])...)
	}
	return q.show("proposals", "rules", q.words().T("proposals.title"), p)
}

// openProposal returns the proposal that a request is about, with the file as it would be.
func (c *Console) openProposal(q *request) (*proposalView, *draftFile, error) {
	w, err := c.editable(q.r.FormValue("workspace"))
	if err != nil {
		return nil, nil, err
	}
	all := c.waiting(q, w)
	at := slices.IndexFunc(all, func(v proposalView) bool { return v.File == q.r.FormValue("file") })
	if at < 0 {
		return nil, nil, errNotFound
	}
	v := &all[at]
	return v, &draftFile{space: w, file: v.File, rule: v.Rule, text: plainEnds(v.text), was: v.was}, nil
}

// proposal shows a proposal: the rule in words, its tests, and what it would have done.
func (c *Console) proposal(q *request) error {
	v, f, err := c.openProposal(q)
	if err != nil {
		return err
	}
	return c.showProposal(q, http.StatusOK, v, f, proposalPage{})
}

func (c *Console) showProposal(q *request, status int, v *proposalView, f *draftFile, p proposalPage) error {
	p.proposalView = *v
	if fields, err := form.Read(f.space.catalog(), []byte(f.text), f.rule); err == nil {
		view := studioMaker(q.words(), f).View(fields, nil)
		p.View = &view
	}
	if standing, err := f.space.Editing.Store.Read(f.file); err == nil && v.Stage == "" {
		diff := diffOf(q.words(), f.space, plainEnds(standing.Text), f.text)
		p.Diff = &diff
	}
	err := c.trial(q, func(ctx context.Context) (err error) {
		p.Tests, err = c.runTests(ctx, q, f, false)
		return err
	})
	if p.Tests == nil {
		p.Tests = &testsView{}
	}
	if p.Tests.Wrong, err = whyNot(q, err); err != nil {
		return err
	}
	err = c.trial(q, func(ctx context.Context) error {
		set, err := f.tried(ctx, q.words().RulesLanguage())
		if err == nil {
			p.Past, err = c.past(ctx, q, f, set)
		}
		return err
	})
	if p.Past == nil {
		p.Past = &tryView{}
	}
	if p.Past.Wrong, err = whyNot(q, err); err != nil {
		return err
	}
	return q.showAs(status, "proposal", "rules", v.Name, p)
}

// whyNot returns in words why a trial could not be made, or the error if that is no reason for a
// page.
func whyNot(q *request, err error) (string, error) {
	if told, ok := errors.AsType[*pageError](err); ok && told.status == http.StatusConflict {
		return q.words().T(told.key, told.args...), nil
	}
	return "", err
}

// acceptProposal makes the rule of a proposal live, exactly as the person saw it. What holds back
// any other rule holds it back too.
func (c *Console) acceptProposal(q *request) error {
	v, f, err := c.openProposal(q)
	if err != nil {
		return err
	}
	if v.Stale || v.Seen != q.r.PostFormValue("seen") {
		return problem(http.StatusConflict, "error.changed")
	}
	if err := f.refuseUnfinished(); err != nil {
		return err
	}
	if f.text, err = f.withStage(rules.Live); err != nil {
		return unwritable(err)
	}
	red, err := c.redTests(q, f)
	if err != nil {
		return err
	}
	if len(red) > 0 {
		return c.showProposal(q, http.StatusUnprocessableEntity, v, f, proposalPage{Red: red})
	}
	if err := c.replaceText(q, f, f.ownEnds(f.text), store.Change{Who: q.user.Name, What: string(rules.Live), Why: q.words().T("proposals.by", v.Who, v.Why)}); err != nil {
		return err
	}
	if err := f.space.Editing.Store.Withdraw(f.file); err != nil {
		c.log.Error("a proposal that was accepted could not be taken off the list", "file", f.file, "error", err) // the file has changed, which settles it
	}
	return q.redirect(c.ruleView(f.space.Name, f.rule).Link + "?said=saved." + string(rules.Live))
}

// declineProposal takes a proposal off the list. What is in use stays, and so does a draft, which
// does nothing.
func (c *Console) declineProposal(q *request) error {
	v, f, err := c.openProposal(q)
	if err != nil {
		return err
	}
	if v.Seen != q.r.PostFormValue("seen") {
		return problem(http.StatusConflict, "error.changed")
	}
	err = q.change("decline", f.space.Name+"/"+f.file, reasonSent(q), func() error { return f.space.Editing.Store.Withdraw(f.file) })
	if errors.Is(err, store.ErrReadOnly) {
		return errReadOnly
	}
	if err != nil {
		return err
	}
	return q.redirect("/proposals?said=declined")
}
