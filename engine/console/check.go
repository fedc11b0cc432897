package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/ruleeditor"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
)

// checked is what the console says of a text: its problems, its form, and the rule in words.
type checked struct {
	Text     string        `json:"text"`
	Rule     string        `json:"rule"`
	Problems []problemView `json:"problems"`
	Errors   int           `json:"errors"`
	Form     string        `json:"form"` // as a part of the page
}

// A problemView is a problem of a text.
type problemView struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// formPart is what the form's side of the page shows.
type formPart struct {
	Form     *ruleeditor.FormView // nil if the text cannot be read as a rule
	Lists    []suggestions
	Sentence *words.Sentence // nil if the rule is wrong
}

// suggestions are what fields can be filled with.
type suggestions struct {
	ID    string
	Names []string
}

// writeCheck answers with the problems of a text, and its form.
func (c *Console) writeCheck(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	return c.answerCheck(q, f)
}

// answerCheck answers with everything about a text.
func (c *Console) answerCheck(q *request, f *draftFile) error {
	var answer *checked
	err := c.checking(q, func(ctx context.Context) (err error) {
		answer, err = c.check(ctx, q, f)
		return err
	})
	if err != nil {
		return err
	}
	return q.json(answer)
}

// writeForm puts the fields of the form into the text, and answers as for the text that comes of
// it.
func (c *Console) writeForm(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	catalog := f.space.Editing.Rules.Catalog
	was, err := form.Read(catalog, []byte(f.text), f.rule)
	if err != nil {
		return problem(http.StatusConflict, "error.form_text")
	}
	changed, err := ruleeditor.ChangeForm(was, q.r.PostForm)
	if errors.Is(err, ruleeditor.ErrField) {
		return problem(http.StatusBadRequest, "error.form")
	}
	if err != nil {
		return err
	}
	text, err := form.Write(catalog, []byte(f.text), f.rule, changed)
	if err != nil {
		return problem(http.StatusConflict, "error.form_write", engine.Harmless(err.Error()))
	}
	f.text, f.rule = string(text), changed.ID
	return c.answerCheck(q, f)
}

// writeComplete answers what could be written at a place.
func (c *Console) writeComplete(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	line, err := strconv.Atoi(q.r.PostFormValue("line"))
	column, err2 := strconv.Atoi(q.r.PostFormValue("column"))
	if err != nil || err2 != nil {
		return problem(http.StatusBadRequest, "error.form")
	}
	var set *rules.Set
	err = c.checking(q, func(ctx context.Context) (err error) {
		set, _, err = f.check(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return q.json(c.formMaker(q.words(), f.space, set).Completer().At(f.text, line, column))
}

// check says everything about a text.
func (c *Console) check(ctx context.Context, q *request, f *draftFile) (*checked, error) {
	set, problems, err := f.check(ctx)
	if err != nil {
		return nil, err
	}
	ids := f.ids(set)
	f.choose(ids)
	out := &checked{Text: f.text, Rule: f.rule, Problems: viewProblems(q.words(), problems)}
	for _, p := range out.Problems {
		if p.Severity == "error" {
			out.Errors++
		}
	}
	part := formPart{}
	m := c.formMaker(q.words(), f.space, set)
	if fields, err := form.Read(f.space.Editing.Rules.Catalog, []byte(f.text), f.rule); err == nil && f.rule != "" {
		view := m.View(fields)
		for _, id := range ids {
			view.Rules = append(view.Rules, ruleeditor.Option{Value: id, Label: id, Chosen: id == f.rule})
		}
		part.Form = &view
		lists := m.Lists()
		for _, id := range slices.Sorted(maps.Keys(lists)) {
			part.Lists = append(part.Lists, suggestions{id, lists[id]})
		}
	}
	if r := set.Rule(f.rule); r != nil {
		s := q.words().Sentence(r)
		part.Sentence = &s
	}
	out.Form, err = q.renderPart("write", "form", part)
	return out, err
}

func viewProblems(w words.Language, problems rules.Problems) []problemView {
	list := []problemView{}
	for _, p := range problems.In(w.RulesLanguage()) {
		list = append(list, problemView{p.Line, p.Column, string(p.Severity), engine.Harmless(p.Message), engine.Harmless(p.Hint)})
	}
	return list
}

// formMaker gathers what fields can be chosen from.
func (c *Console) formMaker(w words.Language, space *Workspace, set *rules.Set) *ruleeditor.FormMaker {
	e := space.Editing
	m := &ruleeditor.FormMaker{Language: w, Catalogue: form.NewCatalogue(e.Rules.Catalog)}
	if e.Choices != nil {
		m.Choices = e.Choices()
	}
	names := map[string]bool{}
	for _, calendars := range []*rules.Set{space.book().Set, set} {
		for name := range calendars.Calendars {
			names[name] = true
		}
	}
	m.Calendars = slices.Sorted(maps.Keys(names))
	if e.Media != nil {
		if entries, err := fs.ReadDir(e.Media, "."); err == nil { // there need not be any
			for _, one := range entries {
				m.Media = append(m.Media, one.Name())
			}
		}
	}
	return m
}

// json answers with data for the page's own script.
func (q *request) json(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "application/json")
	_, _ = q.w.Write(text) // the client may have disconnected
	return nil
}

// renderPart returns a part of a page.
func (q *request) renderPart(page, name string, data any) (string, error) {
	var b bytes.Buffer
	if err := q.console.templates[q.lang].show(&b, page, name, data); err != nil {
		return "", fmt.Errorf("page %s: %w", page, err)
	}
	return b.String(), nil
}
