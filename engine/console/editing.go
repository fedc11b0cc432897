package console

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/store"
)

// Editing is what writing the rules of a workspace needs. Store, Files and Rules are required;
// every other zero value does without.
type Editing struct {
	Store *store.Store

	// Files reads the rule files, and Rules are the options to compile them with, both as in the
	// loader.
	Files func() ([]*rules.File, error)
	Rules rules.Options

	// Reload loads the files now, and returns when they are in use. Nil leaves that to the file
	// watcher.
	Reload func() error

	// Choices returns the service's objects to choose from. May be nil.
	Choices func() []Choice

	// Desk reads recorded events without calls, and Schemas are the verbs: for trying rules on
	// recorded events. Nil disables that.
	Desk    func(ctx context.Context) (backtest.Desk, error)
	Schemas []rules.Schema

	Media fs.FS // files that rules send; nil is none

	Templates []Template
}

// A Choice is a named object of the service.
type Choice = editor.Choice

// A Template is a rule file to begin with. One with blanks says itself what it is called.
type Template struct {
	Name, Summary, Text string
}

// A draftFile is a rule file being edited.
type draftFile struct {
	space *Workspace
	file  string // in the store; empty if not chosen yet
	rule  string // the one that the form shows
	own   string // the one that the page is of, as it was called when that was opened; empty is none
	text  string
	was   string // the sum of the text at the start; empty for a new file

	parsed *form.File // see forms
}

// forms returns the text for reading and writing forms. It is parsed once.
func (f *draftFile) forms() *form.File {
	if f.parsed == nil || string(f.parsed.Text()) != f.text {
		f.parsed = form.Parse([]byte(f.text))
	}
	return f.parsed
}

// errReadOnly refuses changes to read-only rules.
var errReadOnly = problem(http.StatusConflict, "error.readonly")

// editable returns a workspace whose rules the console shows for editing.
func (c *Console) editable(name string) (*Workspace, error) {
	if name == "" {
		name = c.options.Workspaces[0].Name
	}
	w := c.workspaces[name]
	if w == nil || w.Editing == nil {
		return nil, errNotFound
	}
	return w, nil
}

// writable returns one whose rules can be saved too: its folder is not read-only.
func (c *Console) writable(name string) (*Workspace, error) {
	w, err := c.editable(name)
	if err == nil && w.Editing.Store.ReadOnly() {
		return nil, errReadOnly
	}
	return w, err
}

// editable reports whether the user may change the rules of a workspace here.
func (q *request) editable(workspace string) bool {
	w := q.console.workspaces[workspace]
	return w != nil && w.Editing != nil && !w.Editing.Store.ReadOnly() && q.user.Role >= Editor
}

// editLink is the address of a file's editor, or "" if it cannot be edited.
func (q *request) editLink(workspace, path string) string {
	if !q.editable(workspace) {
		return ""
	}
	name, err := q.console.workspaces[workspace].Editing.Store.Name(path)
	if err != nil {
		return ""
	}
	return writeLink(workspace, "file", name)
}

// showEditing says on the page of a rule what can be done to it.
func (c *Console) showEditing(q *request, p *rulePage, w *Workspace, id string) {
	if w.Editing == nil {
		return
	}
	path := ""
	if p.Rule != nil {
		path = p.Rule.File
	} else if b := brokenOf(w.book().Set, id); b != nil {
		path = b.File
	}
	name, err := w.Editing.Store.Name(path)
	if err != nil {
		return
	}
	p.History = historyLink(w.Name, name)
	if q.editable(w.Name) {
		p.Export = "/write/export?workspace=" + escapeQuery(w.Name) + "&rule=" + escapeQuery(id)
		if file, err := w.Editing.Store.Read(name); err == nil {
			p.Was = file.Sum
		}
	}
}

// draftSent reads the edited file from a request.
func (c *Console) draftSent(q *request) (*draftFile, error) {
	w, err := c.editable(q.r.PostFormValue("workspace"))
	if err != nil {
		return nil, err
	}
	f := &draftFile{space: w, file: q.r.PostFormValue("file"), rule: q.r.PostFormValue("rule"), own: q.r.PostFormValue("own"), was: q.r.PostFormValue("was")}
	f.text = plainEnds(q.r.PostFormValue("text"))
	if len(f.text) > source.MaxBytes {
		return nil, problem(http.StatusRequestEntityTooLarge, "error.large")
	}
	if f.file != "" {
		if _, err := w.Editing.Store.Name(w.Editing.Store.Path(f.file)); err != nil {
			return nil, problem(http.StatusBadRequest, "error.form")
		}
	}
	return f, nil
}

// plainEnds converts line ends to LF.
func plainEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// ownEnds converts the line ends of a text to those of the file it replaces: a browser always sends
// CRLF.
func (f *draftFile) ownEnds(text string) string {
	standing, err := f.space.Editing.Store.Read(f.file)
	if err == nil && 2*strings.Count(standing.Text, "\r\n") > strings.Count(standing.Text, "\n") {
		return strings.ReplaceAll(plainEnds(text), "\n", "\r\n")
	}
	return text
}

// shared returns the file for what checks it.
func (f *draftFile) shared() *draft.File {
	return &draft.File{Place: f.space.place(), Name: f.file, Text: f.text}
}

// place is where the rules of a workspace are written.
func (w *Workspace) place() draft.Place {
	return draft.Place{Store: w.Editing.Store, Files: w.Editing.Files, Rules: w.Editing.Rules, Used: func() *rules.Set { return w.book().Set }}
}

// path is the path of the file, or of the future file, as in the loader.
func (f *draftFile) path() string { return f.shared().Path() }

// check returns the problems of the text, by itself and with the other files.
func (f *draftFile) check(ctx context.Context) (*rules.Set, rules.Problems, error) {
	return f.shared().Check(ctx)
}

// sharedFiles returns files for what checks them together.
func sharedFiles(files []*draftFile) (list []*draft.File) {
	for _, f := range files {
		list = append(list, f.shared())
	}
	return list
}

// ids lists the rules of the text, also those that are wrong, in its order.
func (f *draftFile) ids(set *rules.Set) []string {
	type place struct {
		id   string
		line int
	}
	var list []place
	for _, r := range set.Rules {
		if r.File == f.path() {
			list = append(list, place{r.ID, r.Line})
		}
	}
	for _, b := range set.Broken {
		if b.ID != "" && b.File == f.path() {
			list = append(list, place{b.ID, b.Line})
		}
	}
	slices.SortStableFunc(list, func(a, b place) int { return a.line - b.line })
	var ids []string
	for _, p := range list {
		if !slices.Contains(ids, p.id) {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// choose selects an existing rule for the form.
func (f *draftFile) choose(ids []string) {
	if len(ids) > 0 && !slices.Contains(ids, f.rule) {
		f.rule = ids[0]
	}
}

// withStage returns the text with its rule at a stage.
func (f *draftFile) withStage(stage rules.Stage) (string, error) {
	return f.shared().WithStage(f.rule, stage)
}

// open reads the file of a rule, as it stands.
func (w *Workspace) open(rule string) (*draftFile, error) {
	path := ""
	set := w.book().Set
	if r := set.Rule(rule); r != nil {
		path = r.File
	} else if b := brokenOf(set, rule); b != nil {
		path = b.File
	}
	name, err := w.Editing.Store.Name(path)
	if path == "" || err != nil {
		return nil, errNotFound
	}
	f, err := w.openFile(name)
	if err != nil {
		return nil, err
	}
	f.rule, f.own = rule, rule
	return f, nil
}

// openFile reads a file, as it stands.
func (w *Workspace) openFile(name string) (*draftFile, error) {
	file, err := w.Editing.Store.Read(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrName) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	return &draftFile{space: w, file: name, text: file.Text, was: file.Sum}, nil
}

// freeName returns a name for the file of a new rule.
func (w *Workspace) freeName(id string) string {
	place := w.place()
	return place.FreeName(id)
}

// freeID returns an id that no rule has.
func (w *Workspace) freeID(id string) string {
	set := w.book().Set
	for i := 1; ; i++ {
		free := id
		if i > 1 {
			free = id + "-" + strconv.Itoa(i)
		}
		if set.Rule(free) == nil && brokenOf(set, free) == nil {
			return free
		}
	}
}
