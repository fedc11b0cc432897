package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

// testsView are the tests of a rule, as they came out.
type testsView struct {
	Tests  []testView
	Passed int
	Faults bool // they were run with faults
	Wrong  string
	Events string // the page of events that a test can be made of
	Undo   string // a test that was just removed, as its file had it
}

// A testView is a test of a rule, as it came out.
type testView struct {
	Name  string
	Key   string // the name as the file has it
	OK    bool
	Unrun bool   // the time was over
	Why   string // it failed
}

// testsAnswer is what the page gets of the tests.
type testsAnswer struct {
	HTML   string `json:"html"`
	Passed int    `json:"passed"`
	Total  int    `json:"total"`
	Text   string `json:"text,omitempty"` // of the file, where the tests stand in it
}

// writeTests runs the tests of a rule on its text as it is written.
func (c *Console) writeTests(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	view := &testsView{}
	err = c.trial(q, func(ctx context.Context) (err error) {
		view, err = c.runTests(ctx, q, f, q.r.PostFormValue("faults") != "")
		return err
	})
	if told, ok := errors.AsType[*pageError](err); ok && told.status == http.StatusConflict {
		view, err = &testsView{Wrong: q.words().T(told.key, told.args...)}, nil
	}
	if err != nil {
		return err
	}
	return c.answerTests(q, f, view, "")
}

func (c *Console) answerTests(q *request, f *draftFile, view *testsView, text string) error {
	view.Events = "/events?workspace=" + escapeQuery(f.space.Name)
	html, err := q.renderPart("write", "tests", view)
	if err != nil {
		return err
	}
	return q.json(testsAnswer{HTML: html, Passed: view.Passed, Total: len(view.Tests), Text: text})
}

// runTests runs the tests of a rule. Those that the time does not suffice for are left.
func (c *Console) runTests(ctx context.Context, q *request, f *draftFile, faults bool) (*testsView, error) {
	set, err := whole(ctx, f)
	if err != nil {
		return nil, err
	}
	rule := set.Rule(f.rule)
	if rule == nil {
		_, err := f.tried(ctx, q.words().RulesLanguage())
		return nil, cmp.Or(err, errNotFound)
	}
	v := &testsView{Faults: faults}
	results, err := proof.RunTests(ctx, c.testOptions(f.space, set, faults), rule)
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || q.ctx().Err() != nil) {
		return nil, err
	}
	for _, r := range results {
		one := testView{Name: engine.Harmless(r.Test.Name), Key: r.Test.Name, OK: r.OK, Unrun: r.Unrun}
		switch {
		case r.OK:
			v.Passed++
		case !r.Unrun:
			one.Why = proof.Why(q.words(), &r.Result)
		}
		v.Tests = append(v.Tests, one)
	}
	return v, nil
}

// testOptions are those with which a test is run.
func (c *Console) testOptions(w *Workspace, set *rules.Set, faults bool) ruletest.Options {
	safety := rules.TestSafety{PerConversation: w.Safety.PerConversation, Messages: w.Safety.Messages}
	return ruletest.Options{Set: set, Media: w.Editing.Media, Location: w.Location, Safety: safety, NoFaults: !faults}
}

// whole compiles the texts of drafts with all other files, their rules and tests included.
func whole(ctx context.Context, files ...*draftFile) (*rules.Set, error) {
	set, _, err := draft.Whole(ctx, sharedFiles(files)...)
	return set, err
}

// redTests returns the tests that hold a rule back from going live: those that fail, or cannot be
// run in time. A text that cannot be compiled has none: it is refused for that.
func (c *Console) redTests(q *request, f *draftFile) (red []testView, err error) {
	err = c.trial(q, func(ctx context.Context) error {
		set, err := whole(ctx, f)
		if err != nil || set.Rule(f.rule) == nil {
			return err
		}
		view, err := c.runTests(ctx, q, f, false)
		if err == nil {
			red = slices.DeleteFunc(view.Tests, func(t testView) bool { return t.OK })
		}
		return err
	})
	return red, err
}

// writeRecord records a conversation as a test that expects what the rule does in it.
func (c *Console) writeRecord(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	story, err := proof.ReadStory(q.r.PostFormValue("story"), f.space.Location)
	if err != nil || !ruleID.MatchString(f.rule) {
		return problem(http.StatusBadRequest, "error.form")
	}
	e := f.space.Editing
	if e.Store.ReadOnly() {
		return errReadOnly
	}
	item := ""
	err = c.trial(q, func(ctx context.Context) error {
		set, err := f.tried(ctx, q.words().RulesLanguage())
		if err != nil {
			return err
		}
		trial, err := c.runStory(ctx, f, set, story)
		if err == nil {
			name := cmp.Or(strings.TrimSpace(words.Cut(q.r.PostFormValue("name"), 200)), q.words().T("tests.name", story.Start().Format("02/01 15:04")))
			item = testText(name, f.rule, story.Test(set), trial)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.changeTests(q, f, "", new(string), func(text string) (string, error) { return addTest(text, item), nil })
}

// writeUntest removes a test of a rule, or brings back the one that was just removed.
func (c *Console) writeUntest(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	if f.space.Editing.Store.ReadOnly() {
		return errReadOnly
	}
	name, removed := q.r.PostFormValue("name"), ""
	if item := q.r.PostFormValue("again"); item != "" {
		return c.changeTests(q, f, "", &removed, func(text string) (string, error) { return addTest(text, item), nil })
	}
	set, err := whole(q.ctx(), f)
	if err != nil {
		return err
	}
	rule := set.Rule(f.rule)
	if rule == nil {
		return problem(http.StatusConflict, "error.norule")
	}
	at := slices.IndexFunc(proof.TestsOf(set, rule), func(t *rules.Test) bool { return t.Name == name })
	if at < 0 {
		return errNotFound
	}
	file, err := f.space.Editing.Store.Name(proof.TestsOf(set, rule)[at].File)
	if err != nil {
		return errNotFound
	}
	return c.changeTests(q, f, file, &removed, func(text string) (left string, err error) {
		left, removed, err = proof.RemoveTest(text, name)
		return left, err
	})
}

// changeTests changes a file of tests of a rule through the store, by default the one beside the
// rule's, and answers how the tests come out. Where the tests stand in the file of the rule, the
// page gets its text, and saves it with the rule.
func (c *Console) changeTests(q *request, f *draftFile, file string, removed *string, change func(text string) (string, error)) error {
	standing := f.space.book().Set.Rule(f.rule)
	if standing == nil && !f.space.Editing.Store.Single() {
		return problem(http.StatusConflict, "tests.save_first")
	}
	if file == "" && standing != nil {
		var err error
		if file, _, err = testFile(f.space, standing); err != nil {
			return err
		}
	}
	text := ""
	if f.space.Editing.Store.Single() || file == f.file {
		changed, err := change(f.text)
		if err != nil {
			return problem(http.StatusConflict, "error.form_text")
		}
		f.text, text = changed, changed
	} else {
		tests := &draftFile{space: f.space, file: file, rule: f.rule}
		if standing, err := f.space.Editing.Store.Read(file); err == nil {
			tests.text, tests.was = plainEnds(standing.Text), standing.Sum
		}
		changed, err := change(tests.text)
		if err != nil {
			return problem(http.StatusConflict, "error.form_text")
		}
		if err := c.replaceText(q, tests, tests.ownEnds(changed), store.Change{Who: q.user.Name, What: "test"}); err != nil {
			return err
		}
	}
	view := &testsView{}
	err := c.trial(q, func(ctx context.Context) (err error) {
		view, err = c.runTests(ctx, q, f, false)
		return err
	})
	if err != nil {
		return err
	}
	view.Undo = *removed
	return c.answerTests(q, f, view, text)
}
