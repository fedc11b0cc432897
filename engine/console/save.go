package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/store"
)

// writeSave saves a file with its rule at a stage. A broken text never replaces a valid one: a
// draft with problems is saved beside the rules, and anything else is refused.
func (c *Console) writeSave(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	stage := rules.Stage(q.r.PostFormValue("stage"))
	if !slices.Contains([]rules.Stage{rules.Draft, rules.Shadow, rules.Live}, stage) || !ruleID.MatchString(f.rule) {
		return problem(http.StatusBadRequest, "error.form")
	}
	if f.file == "" {
		if f.space.Editing.Store.Single() {
			return problem(http.StatusConflict, "error.single")
		}
		f.file = f.space.freeName(f.rule)
	}
	reason := words.Cut(q.r.PostFormValue("reason"), 200)
	staged := *f
	text, unreadable := f.withStage(stage)
	var wrong rules.Problems
	if unreadable == nil {
		staged.text = staged.ownEnds(text)
		if stage == rules.Live {
			red, err := c.redTests(q, &staged)
			if err != nil {
				return err
			}
			if len(red) > 0 {
				return c.showWrite(q, http.StatusUnprocessableEntity, f, writePage{Red: red, Reason: reason}, false)
			}
		}
		wrong, err = c.saveRight(q, store.Change{Who: q.user.Name, What: string(stage), Why: reason}, &staged)
	}
	switch isWrong := unreadable != nil || len(wrong) > 0; {
	case errors.Is(err, store.ErrChanged):
		return c.conflict(q, f, reason)
	case err != nil:
		return err
	case isWrong && stage == rules.Draft:
		return c.keepDraft(q, f)
	case isWrong:
		return c.refuse(q, f, wrong, unreadable, reason)
	}
	return q.redirect(c.ruleView(f.space.Name, f.rule).Link + "?said=saved." + string(stage))
}

// refuse says why a text is not saved, and leaves it on the page.
func (c *Console) refuse(q *request, f *draftFile, wrong rules.Problems, unreadable error, reason string) error {
	if unreadable != nil {
		var err error
		err = c.checking(q, func(ctx context.Context) error {
			_, wrong, err = f.check(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	refused := viewProblems(q.words(), wrong)
	if fields, err := form.Read(f.space.catalog(), []byte(f.text), f.rule); err == nil {
		studioMaker(q.words(), f).Explain(fields, refused)
	}
	if len(refused) == 0 {
		refused = []problemView{{Line: 1, Column: 1, Severity: "error", Message: engine.Harmless(unreadable.Error())}}
	}
	return c.showWrite(q, http.StatusUnprocessableEntity, f, writePage{Refused: refused, Reason: reason}, false)
}

// saveRight saves files, or returns the problems that this would cause. Of two concurrent saves,
// the second is checked against the first.
func (c *Console) saveRight(q *request, by store.Change, files ...*draftFile) (wrong rules.Problems, err error) {
	err = c.checking(q, func(ctx context.Context) error {
		c.saving.Lock()
		defer c.saving.Unlock()
		if wrong, err = draft.NewProblems(ctx, sharedFiles(files)...); err != nil || len(wrong) > 0 {
			return err
		}
		for _, f := range files {
			if err := c.save(q, f, by); err != nil { // ends only with the request
				return err
			}
		}
		return nil
	})
	return wrong, err
}

// save writes a file that was checked, and puts it to use.
func (c *Console) save(q *request, f *draftFile, by store.Change) error {
	e := f.space.Editing
	what, number, _ := strings.Cut(by.What, " ")
	err := q.change("save."+what, f.space.Name+"/"+f.file, strings.TrimSpace(number+" "+by.Why), func() error {
		_, err := e.Store.Save(f.file, f.text, f.was, by)
		if err == nil {
			err = e.Store.Drop(f.file)
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrReadOnly):
		return errReadOnly
	case errors.Is(err, store.ErrLarge):
		return problem(http.StatusRequestEntityTooLarge, "error.large")
	case errors.Is(err, store.ErrName):
		return problem(http.StatusBadRequest, "error.filename")
	case err != nil:
		return err
	}
	if e.Reload != nil {
		if err := e.Reload(); err != nil {
			c.log.Error("rules that were saved could not be loaded at once", "workspace", f.space.Name, "error", err) // the file watcher retries
		}
	}
	c.change()
	return nil
}

// keepDraft saves a draft with problems beside the rules.
func (c *Console) keepDraft(q *request, f *draftFile) error {
	err := q.change("unfinished", f.space.Name+"/"+f.file, "", func() error {
		return f.space.Editing.Store.Keep(f.file, f.text, f.was, q.user.Name)
	})
	if errors.Is(err, store.ErrReadOnly) {
		return errReadOnly
	}
	if err != nil {
		return err
	}
	to := writeLink(f.space.Name, "file", f.file) + "&"
	if set := f.space.book().Set; f.own != "" && (set.Rule(f.own) != nil || brokenOf(set, f.own) != nil) {
		to = c.ruleView(f.space.Name, f.own).Link + "?"
	}
	return q.redirect(to + "unfinished=1&said=unfinished")
}

// conflict shows another user's changes beside the text to save. Saving again overwrites them
// knowingly.
func (c *Console) conflict(q *request, f *draftFile, reason string) error {
	view := &conflictView{}
	now, err := f.space.Editing.Store.Read(f.file)
	if err == nil {
		view.Who, view.At, _ = c.savedBy(f, now.Sum)
	}
	view.ruleDiff, f.was = diffOf(q.words(), f.space, plainEnds(now.Text), f.text), now.Sum
	return c.showWrite(q, http.StatusConflict, f, writePage{Conflict: view, Reason: reason}, false)
}

// writeDiscard throws away what is unfinished of a file.
func (c *Console) writeDiscard(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	err = q.change("discard", f.space.Name+"/"+f.file, "", func() error { return f.space.Editing.Store.Drop(f.file) })
	if errors.Is(err, store.ErrReadOnly) {
		return errReadOnly
	}
	if err != nil {
		return err
	}
	return q.redirect("/rules?said=discarded")
}

// restore goes back to an earlier version of a file.
func (c *Console) restore(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(q.r.PostFormValue("version"))
	if err != nil || f.file == "" {
		return problem(http.StatusBadRequest, "error.form")
	}
	version, err := f.space.Editing.Store.Version(f.file, n)
	if err != nil {
		return errNotFound
	}
	reason := words.Cut(q.r.PostFormValue("reason"), 200)
	return c.settle(q, f, version.Text, store.Change{Who: q.user.Name, What: "restore " + strconv.Itoa(n), Why: reason}, "restored")
}

// settle saves another version of a file outside of the editor, and returns to the page that asked
// for it.
func (c *Console) settle(q *request, f *draftFile, text string, by store.Change, said string) error {
	if err := c.replaceText(q, f, text, by); err != nil {
		return err
	}
	return q.back(said)
}
