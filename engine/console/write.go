package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/rules"
)

// writePage is the page on which a rule is written.
type writePage struct {
	Workspace, File, Rule, Text, Was string
	Check                            *checked
	Unfinished                       *unfinishedView
	Refused                          []problemView // why it was not saved
	Red                              []testView    // tests that hold it back
	Conflict                         *conflictView
	Reason                           string
	Phrases                          string // of the editor, as JSON
	Lists                            studioLists
	StageOptions                     []rules.Stage
	History                          string
	Saved                            string    // when the rule was saved last, on the page that follows that
	About                            *rulePage // what else is known about a rule that there is; nil for a new one
}

// An unfinishedView is a saved draft.
type unfinishedView struct {
	Who  string
	At   time.Time
	Link string
}

// A conflictView says that the file is another than it was.
type conflictView struct {
	Who string // empty if it was changed by other means
	At  time.Time
	ruleDiff
}

// write shows the page on which a rule is written: one that there is, one from a template, or a
// choice of those.
func (c *Console) write(q *request) error {
	query := q.r.URL.Query()
	w, err := c.writable(query.Get("workspace"))
	if err != nil {
		return err
	}
	var f *draftFile
	switch {
	case query.Get("rule") != "":
		return q.redirect(c.ruleView(w.Name, query.Get("rule")).Link)
	case query.Get("file") != "":
		f, err = w.openDraft(query.Get("file"))
	case query.Has("template"):
		if asked, err := c.askBlanks(q, w, query.Get("template")); asked || err != nil {
			return err
		}
		f, err = c.begin(q.ctx(), w, query.Get("template"))
	default:
		return c.beginWith(q, w)
	}
	if err != nil {
		return err
	}
	return c.showWrite(q, http.StatusOK, f, writePage{}, query.Has("unfinished"))
}

// openDraft reads a file, or the draft of one that does not exist yet.
func (w *Workspace) openDraft(name string) (*draftFile, error) {
	f, err := w.openFile(name)
	if err == nil {
		return f, nil
	}
	kept, keptErr := w.Editing.Store.Kept(name)
	if keptErr != nil || kept == nil {
		return nil, err
	}
	return &draftFile{space: w, file: name}, nil
}

// studioLists are what the pickers of the page choose from, and their words.
type studioLists struct {
	Names  map[string][]string `json:"names"`
	Stages []Choice            `json:"stages"`
	Events []studio.Option     `json:"events"`
	Each   []studio.Option     `json:"each"`
	Verbs  []studio.Option     `json:"verbs"`
	Days   []studio.Option     `json:"days"`

	Blocks []studio.BlockOption `json:"blocks"`
	Words  map[string]string    `json:"words"`
}

// pickerWords are the texts that the script of the page shows.
var pickerWords = []string{
	"picker.search", "picker.use", "picker.done", "picker.cancel", "picker.clear", "picker.none", "picker.amount", "picker.unit", "picker.hours", "picker.of", "picker.always", "picker.value",
	"picker.s", "picker.m", "picker.h", "picker.d", "picker.times", "picker.add", "picker.by_hand", "studio.change", "studio.changes", "studio.saved", "studio.unsaved", "studio.undo",
	"studio.save.draft", "studio.save.shadow", "studio.save.live", "studio.stays.draft", "studio.stays.shadow", "studio.stays.live", "studio.condition", "studio.step", "studio.insert",
	"block.leads.nothing", "block.leads.sector", "block.leads.person", "block.leads.label", "block.leads.message", "block.leads.close",
	"studio.group.all", "studio.group.any", "studio.group.none", "studio.event", "studio.ending", "studio.off_now", "studio.on_now", "studio.removed", "studio.more", "studio.up", "studio.down", "studio.into", "studio.out", "studio.copy", "studio.remove", "studio.bound", "studio.only_if", "field.name",
	"text.write", "text.insert", "text.by_hand", "text.inserted", "text.removed", "text.chosen", "text.ways", "text.instead", "text.preview", "text.preview_none", "picker.more", "picker.upload", "picker.absent", "picker.absent_help", "picker.other", "studio.by_hand", "write.failed", "write.completions",
}

func (c *Console) studioLists(q *request, f *draftFile) studioLists {
	w := q.words()
	names := f.space.Names(f.space.book().Set)
	maker := studioMaker(w, f)
	out := studioLists{Names: map[string][]string{}, Stages: []Choice{}, Verbs: maker.Verbs(), Events: maker.Events(), Days: maker.Days(), Blocks: maker.Blocks(), Words: map[string]string{}}
	for _, kind := range []string{"label", "sector", "person", "teammate", "channel", "board", "stage", "calendar", "media"} {
		out.Names[kind] = append([]string{}, names.Of(kind)...)
	}
	for _, choice := range names.Choices {
		if choice.Kind == "stage" {
			out.Stages = append(out.Stages, choice)
		}
	}
	for _, e := range names.Catalogue.Each {
		out.Each = append(out.Each, studio.Option{Value: e.Name, Label: w.Or("value.each.", e.Name)})
	}
	for _, key := range pickerWords {
		out.Words[key] = w.T(key)
	}
	return out
}

// unfinished returns the saved draft of a file, or nil.
func (c *Console) unfinished(w *Workspace, name string) (*unfinishedView, error) {
	kept, err := w.Editing.Store.Kept(name)
	if kept == nil || err != nil {
		return nil, err
	}
	return &unfinishedView{engine.Harmless(kept.Who), c.at(w.Name, kept.At), writeLink(w.Name, "file", name) + "&unfinished=1"}, nil
}

func writeLink(workspace, what, name string) string {
	return "/write?workspace=" + escapeQuery(workspace) + "&" + what + "=" + escapeQuery(name)
}

// showWrite shows the page for a file.
func (c *Console) showWrite(q *request, status int, f *draftFile, p writePage, unfinished bool) error {
	if err := c.showAbout(q, f, &p); err != nil {
		return err
	}
	if q.r.Method == http.MethodPost && f.file != "" {
		q.here = writeLink(f.space.Name, "file", f.file)
		if p.About != nil {
			q.here = p.About.Link
		}
	}
	if f.file != "" {
		kept, err := f.space.Editing.Store.Kept(f.file)
		if err != nil {
			return err
		}
		if kept != nil && (unfinished || f.text == "") {
			f.text = kept.Text
		} else if kept != nil && kept.Text != f.text {
			if p.Unfinished, err = c.unfinished(f.space, f.file); err != nil {
				return err
			}
		}
		p.History = historyLink(f.space.Name, f.file)
	}
	err := c.checking(q, func(ctx context.Context) (err error) {
		p.Check, err = c.check(ctx, q, f)
		return err
	})
	if err != nil {
		return err
	}
	p.Workspace, p.File, p.Rule, p.Text, p.Was = f.space.Name, f.file, f.rule, f.text, f.was
	phrases, err := json.Marshal(map[string]string{"Completions": q.words().T("write.completions")})
	if err != nil {
		return err
	}
	p.Phrases = string(phrases)
	p.Lists, p.StageOptions = c.studioLists(q, f), []rules.Stage{rules.Draft, rules.Shadow, rules.Live}
	title := q.words().T("write.title")
	switch {
	case p.About != nil:
		title = p.About.Name
		if change := p.About.Change; change.Known() && strings.HasPrefix(q.r.URL.Query().Get("said"), "saved.") {
			p.Saved = q.words().T("studio.saved_at", q.words().Or("stage.", string(p.Check.Stage)), change.At.Format("15:04"))
		}
	case f.file != "":
		title = q.words().T("write.edit", engine.Harmless(f.rule))
	}
	return q.showStyled(status, "write", "rules", title, p)
}

// showAbout adds what is known about the rule of a page that a form led to.
func (c *Console) showAbout(q *request, f *draftFile, p *writePage) (err error) {
	if p.About != nil || f.own == "" {
		return nil
	}
	if p.About, err = c.rulePage(q, f.space.Name, f.own); errors.Is(err, errNotFound) {
		return nil // it was deleted meanwhile
	}
	return err
}

// showStyled shows a page whose script may add styles, with a random nonce.
func (q *request) showStyled(status int, name, nav, title string, body any) error {
	q.nonce = rand.Text()
	allowStyles(q.w.Header(), q.nonce)
	return q.showAs(status, name, nav, title, body)
}
