package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/store"
)

// checked is what the console says of a text: its problems, and its rule on the rail.
type checked struct {
	Text     string        `json:"text"`
	Rule     string        `json:"rule"`
	Stage    rules.Stage   `json:"stage,omitempty"`
	Problems []problemView `json:"problems"`
	Errors   int           `json:"errors"`
	Rail     []string      `json:"rail"`    // as parts of the page: what is above the steps, each step, and what is below them; empty is a part that the page shows already
	Shown    string        `json:"shown"`   // a name for the rail, which the page gives with its next request
	Words    string        `json:"words"`   // the rule in words, as a part of the page
	Changed  int           `json:"changed"` // how many changes there are since the version in use
	Changes  []string      `json:"changes"` // the first of them
}

// A problemView is a problem of a text.
type problemView = studio.Problem

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

// writeEdit changes the rule as a person asks for, and answers as for the text that comes of it.
func (c *Console) writeEdit(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	var edits []studio.Edit
	if err := json.Unmarshal([]byte(q.r.PostFormValue("edits")), &edits); err != nil {
		return problem(http.StatusBadRequest, "error.form")
	}
	catalog := f.space.Editing.Rules.Catalog
	fields, err := f.forms().Read(catalog, f.rule)
	if err != nil {
		return problem(http.StatusConflict, "error.form_text")
	}
	for _, e := range edits {
		if fields, err = studio.Apply(fields, e); errors.Is(err, studio.ErrEdit) {
			return problem(http.StatusBadRequest, "error.form")
		}
		if err != nil {
			return err
		}
	}
	fields = studioMaker(q.words(), f).NameUsed(fields)
	written, err := f.forms().Write(catalog, f.rule, fields)
	if err != nil {
		return problem(http.StatusConflict, "error.form_write", engine.Harmless(err.Error()))
	}
	f.parsed, f.text, f.rule = written, string(written.Text()), fields.ID
	return c.answerCheck(q, f)
}

// writeChoices answers what can be said at a place of the rule: conditions and values, what can be
// asked of a value, how a text has one, or what a step could be given besides.
func (c *Console) writeChoices(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	var value, print *sentence.Term
	for name, term := range map[string]**sentence.Term{"value": &value, "print": &print} {
		if text := q.r.PostFormValue(name); text != "" && json.Unmarshal([]byte(text), term) != nil {
			return problem(http.StatusBadRequest, "error.form")
		}
	}
	if print != nil {
		return q.json(studio.Choices{Text: sentence.PrintText([]sentence.Part{{Chip: print}})})
	}
	fields, err := form.Read(f.space.Editing.Rules.Catalog, []byte(f.text), f.rule)
	if err != nil {
		return problem(http.StatusConflict, "error.form_text")
	}
	maker, path := studioMaker(q.words(), f), q.r.PostFormValue("path")
	if q.r.PostFormValue("more") != "" {
		return q.json(maker.More(fields, path))
	}
	return q.json(maker.Choices(fields, path, value))
}

// writeComplete answers what could be written at a place.
func (c *Console) writeComplete(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	if q.r.PostForm.Has("before") { // of an expression by itself
		return q.json(f.space.Names(f.space.book().Set).Completer().InExpression(q.r.PostFormValue("before")))
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
	return q.json(f.space.Names(set).Completer().At(f.text, line, column))
}

// check says everything about a text.
func (c *Console) check(ctx context.Context, q *request, f *draftFile) (*checked, error) {
	set, problems, err := f.check(ctx)
	if err != nil {
		return nil, err
	}
	ids := f.ids(set)
	f.choose(ids)
	out := &checked{Text: f.text, Rule: f.rule, Stage: rules.Draft, Problems: viewProblems(q.words(), problems)}
	for _, p := range out.Problems {
		if p.Severity == "error" {
			out.Errors++
		}
	}
	part, last := railPart{}, c.shownTo(q)
	maker := studioMaker(q.words(), f)
	if fields, err := f.forms().Read(f.space.Editing.Rules.Catalog, f.rule); err == nil && f.rule != "" {
		studio.Places([]byte(f.text), f.rule, out.Problems)
		maker.Explain(fields, out.Problems)
		view := maker.View(fields, out.Problems)
		for _, id := range ids {
			if f.own != "" {
				break // the page of a rule shows no other
			}
			view.Rules = append(view.Rules, studio.Option{Value: id, Label: id, Chosen: id == f.rule})
		}
		part.View, out.Stage = &view, rules.Stage(view.Stage)
		out.nameChanges(maker, f, last, view)
	}
	if err := out.showRail(q, last, part.View); err != nil {
		return nil, err
	}
	out.Words, err = q.renderPart("write", "inwords", part)
	return out, err
}

// lastShown is what a person was shown last. The next edit mostly changes one card of it, so that
// the others need not be made again. A person has one check at a time, which alone uses it.
type lastShown struct {
	name   string // of the rail
	lang   string
	cards  []studio.Card
	parts  []string     // the rail, of which all but the first and the last are the cards
	stored storedRule   // that the rule was compared with
	before *studio.View // how it looks
}

// A storedRule is a rule in the store, as one text of its file has it.
type storedRule struct {
	workspace, file, sum, id string
}

// shownTo returns what the person of a request was shown last.
func (c *Console) shownTo(q *request) *lastShown {
	c.shownMu.Lock()
	defer c.shownMu.Unlock()
	last := c.shown[q.person()]
	if last == nil || last.lang != q.lang {
		last = &lastShown{lang: q.lang}
		c.shown[q.person()] = last
	}
	return last
}

// rail renders a rule in parts: what is above its steps, each step, and what is below them.
func (last *lastShown) rail(q *request, view *studio.View) ([]string, error) {
	if view == nil {
		part, err := q.renderPart("write", "unreadable", nil)
		return []string{part}, err
	}
	parts := make([]string, len(view.Do.Cards)+2)
	var err error
	for i, card := range view.Do.Cards {
		if i < len(last.cards) && reflect.DeepEqual(card, last.cards[i]) {
			parts[i+1] = last.parts[i+1]
		} else if parts[i+1], err = q.renderPart("write", "card", card); err != nil {
			return nil, err
		}
	}
	if parts[0], err = q.renderPart("write", "above", view); err != nil {
		return nil, err
	}
	parts[len(parts)-1], err = q.renderPart("write", "below", view)
	return parts, err
}

// showRail shows a rule on its rail. The page may have asked with the rail that it was given last:
// then it is not given again what it has.
func (out *checked) showRail(q *request, last *lastShown, view *studio.View) error {
	parts, err := last.rail(q, view)
	if err != nil {
		return err
	}
	out.Rail = slices.Clone(parts)
	if name := q.r.PostFormValue("shown"); name != "" && name == last.name {
		for i := range min(len(parts), len(last.parts)) {
			if parts[i] == last.parts[i] {
				out.Rail[i] = ""
			}
		}
	}
	out.Shown = rand.Text()
	last.name, last.parts, last.cards = out.Shown, parts, nil
	if view != nil {
		last.cards = view.Do.Cards
	}
	return nil
}

// inStore returns how a rule of the file looks in the store; nil if it is not there.
func (last *lastShown) inStore(maker *studio.Maker, f *draftFile, file store.File) *studio.View {
	id := f.own
	if id == "" {
		id = f.rule
	}
	if stored := (storedRule{f.space.Name, f.file, file.Sum, id}); stored != last.stored {
		last.stored, last.before = stored, nil
		if fields, err := form.Read(maker.Catalog, []byte(file.Text), id); err == nil {
			maker := *maker
			maker.Vars = studio.Vars([]byte(file.Text))
			view := maker.View(fields, nil)
			last.before = &view
		}
	}
	return last.before
}

// changesNamed is how many changes the bar of the page names.
const changesNamed = 3

// nameChanges says what is different from the version that stands in the store.
func (out *checked) nameChanges(maker *studio.Maker, f *draftFile, last *lastShown, now studio.View) {
	if f.file == "" {
		return
	}
	standing, err := f.space.Editing.Store.Read(f.file)
	if err != nil || plainEnds(standing.Text) == f.text {
		return
	}
	before := last.inStore(maker, f, standing)
	if before == nil {
		return
	}
	list := maker.Changes(*before, now)
	for _, change := range list[:min(len(list), changesNamed)] {
		out.Changes = append(out.Changes, engine.Harmless(maker.ChangeWords(change)))
	}
	out.Changed = len(list)
	switch {
	case len(list) == 0:
		out.Changed, out.Changes = 1, []string{maker.T("change.rest")}
	case len(list) > changesNamed:
		out.Changes = append(out.Changes, maker.T("change.more", strconv.Itoa(len(list)-changesNamed)))
	}
}

// railPart is what the rail of the page shows.
type railPart struct {
	View *studio.View // nil if the text cannot be read as a rule
}

// studioMaker shows the rules of a file.
func studioMaker(w words.Language, f *draftFile) *studio.Maker {
	catalog := f.space.catalog()
	return &studio.Maker{Language: w, Catalog: catalog, Catalogue: form.NewCatalogue(catalog), Vars: studio.Vars([]byte(f.text))}
}

func viewProblems(w words.Language, problems rules.Problems) []problemView {
	list := []problemView{}
	for _, p := range problems {
		list = append(list, studio.NewProblem(w, p))
	}
	return list
}

// Names gathers what a rule can name; a set may have calendars that are not in use yet.
func (w *Workspace) Names(set *rules.Set) *editor.Names {
	e := w.Editing
	m := &editor.Names{Catalogue: form.NewCatalogue(e.Rules.Catalog)}
	if e.Choices != nil {
		m.Choices = e.Choices()
	}
	names := map[string]bool{}
	for _, calendars := range []*rules.Set{w.book().Set, set} {
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
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // parts of pages, which would be twice as long
	if err := e.Encode(v); err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "application/json")
	_, _ = q.w.Write(b.Bytes()) // the client may have disconnected
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

// person names who asks.
func (q *request) person() string { return q.user.Role.String() + " " + q.user.Name }

// Bounds of rule checks: a person waits for the answer, and the engine shares the processors.
const (
	checkTime    = 10 * time.Second
	checkWaiting = 4 // of one person, besides the running one
)

// checking runs one check at a time for each person.
type checking struct {
	most time.Duration // for waiting and checking

	mu   sync.Mutex
	each map[string]*checker // by person, while they have checks
}

// A checker queues the checks of one person.
type checker struct {
	turn  chan struct{}
	users int // checks that run or wait
}

// checking runs a check after the person's other checks. Its context ends with the request, or when
// the time is over.
func (c *Console) checking(q *request, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(q.ctx(), c.checked.most)
	defer cancel()
	leave, err := c.checked.enter(ctx, q.person())
	if err == nil {
		defer leave()
		err = do(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) && q.ctx().Err() == nil {
		return problem(http.StatusServiceUnavailable, "error.slow")
	}
	return err
}

// enter waits until the person's other checks are over. The caller calls leave at the end.
func (c *checking) enter(ctx context.Context, person string) (leave func(), err error) {
	c.mu.Lock()
	one := c.each[person]
	if one == nil {
		one = &checker{turn: make(chan struct{}, 1)}
		c.each[person] = one
	}
	if one.users > checkWaiting {
		c.mu.Unlock()
		return nil, problem(http.StatusTooManyRequests, "error.checks")
	}
	one.users++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(c.each, person)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}
