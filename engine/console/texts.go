package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/store"
	"github.com/quandohq/quando/rules/vocabulary"
)

// previewEvents is how many of the last events that start a rule an example is looked for in.
const previewEvents = 20

// textAnswer is what the field of a text is told: its chips in words, what can be inserted, the
// ways to write a chip, or the text as a customer would get it.
type textAnswer struct {
	Chips      []studio.TextChip `json:"chips,omitempty"`
	Insertable []studio.TextChip `json:"insertable,omitempty"`
	Ways       []studio.Way      `json:"ways,omitempty"`
	Preview    *previewView      `json:"preview,omitempty"`
	None       bool              `json:"none,omitempty"` // there is no example
}

// A previewView is a text as somebody would get it.
type previewView struct {
	Said  string            `json:"said"` // whose it is
	Parts []studio.TextPart `json:"parts,omitempty"`
}

// writeText answers what is known of a text of the rule, which may not be in the rule yet.
func (c *Console) writeText(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	fields, err := form.Read(f.space.Editing.Rules.Catalog, []byte(f.text), f.rule)
	if err != nil {
		return problem(http.StatusConflict, "error.form_text")
	}
	maker, path, text := studioMaker(q.words(), f), q.r.PostFormValue("path"), plainEnds(q.r.PostFormValue("value"))
	fields = maker.WithNames(fields)
	switch q.r.PostFormValue("want") {
	case "ways":
		return q.json(textAnswer{Ways: maker.Ways(fields, path, text, q.now.In(f.space.Location))})
	case "preview":
		preview, err := c.preview(q, f, fields, path, text)
		if err != nil {
			return err
		}
		return q.json(textAnswer{Preview: preview, None: preview == nil})
	}
	names := f.space.Names(f.space.book().Set)
	return q.json(textAnswer{Chips: maker.TextChips(fields, path, text), Insertable: maker.Insertable(fields, path, names.Calendars, names.Of("sector"))})
}

// preview fills in a text for a customer whose event would have started the rule in the last days,
// else for one whose event is of its kind, else for one that is made up. Nil is no example: the
// text, or the rule around it, is not right yet.
func (c *Console) preview(q *request, f *draftFile, fields form.Form, path, text string) (shown *previewView, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	events := startingEvents(fields)
	err = c.trial(q, func(ctx context.Context) error {
		for _, always := range []bool{false, true} {
			example := *f
			written, err := form.Write(f.space.Editing.Rules.Catalog, []byte(f.text), f.rule, studioMaker(q.words(), f).Example(fields, path, text, always))
			if err != nil {
				return nil // the text cannot be put into a rule
			}
			example.text = string(written)
			set, err := example.tried(ctx, q.words().RulesLanguage())
			if err != nil {
				return err
			}
			if shown, err = c.previewOfPast(ctx, q, &example, set, events); shown != nil || err != nil {
				return err
			}
			if always {
				shown, err = c.previewMadeUp(ctx, q, &example, set, events)
				return err
			}
		}
		return nil
	})
	if told, ok := errors.AsType[*pageError](err); ok && told.status == http.StatusConflict {
		return nil, nil
	}
	return shown, err
}

// startingEvents returns the types of the events that an example of a rule starts with.
func startingEvents(fields form.Form) (list []string) {
	for _, name := range fields.When.Events {
		prefix, family := strings.CutSuffix(name, "*")
		if !family {
			list = append(list, name)
			continue
		}
		for _, typ := range vocabulary.EventTypes() {
			if strings.HasPrefix(typ, prefix) {
				list = append(list, typ)
			}
		}
	}
	if len(list) == 0 {
		list = []string{vocabulary.MessageReceived}
	}
	return list
}

// previewOfPast returns the last message that a rule would have sent on recorded events.
func (c *Console) previewOfPast(ctx context.Context, q *request, f *draftFile, set *rules.Set, events []string) (*previewView, error) {
	e := f.space.Editing
	if e.Desk == nil {
		return nil, nil
	}
	desk, err := e.Desk(ctx)
	if err != nil {
		return nil, err
	}
	since, _, err := proof.LastEvents(ctx, c.options.Journal, f.space.Name, q.now)
	if err != nil {
		return nil, err
	}
	var first time.Time // of the events that start the rule
	for _, typ := range events {
		list, err := c.options.Journal.ListEvents(ctx, journal.EventFilter{Workspace: f.space.Name, Type: typ, Since: since, Limit: previewEvents})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && (first.IsZero() || list[len(list)-1].ReceivedAt.Before(first)) {
			first = list[len(list)-1].ReceivedAt
		}
	}
	if first.IsZero() {
		return nil, nil
	}
	r, err := backtest.Run(ctx, backtest.Options{
		Journal: c.options.Journal, Desk: desk, Schemas: e.Schemas, Workspace: f.space.Name, Location: f.space.Location, Since: first, Until: q.now, Only: true,
	}, set)
	if err != nil {
		return nil, err
	}
	for _, effect := range slices.Backward(r.Effects) {
		if text, ok := effect.Arguments["text"].(string); ok && effect.Verb == vocabulary.SendMessage {
			said := q.words().T("text.preview_of", engine.Harmless(effect.Who), c.at(f.space.Name, effect.At).Format("02/01 15:04"))
			return &previewView{Said: said, Parts: studio.ExampleParts(strings.Join(words.HarmlessLines(text), "\n"))}, nil
		}
	}
	return nil, nil
}

// previewMadeUp returns the message that a customer would get who is made up.
func (c *Console) previewMadeUp(ctx context.Context, q *request, f *draftFile, set *rules.Set, events []string) (*previewView, error) {
	s := proof.About(events[0], q.now.In(f.space.Location), q.words().T("chat.hello"))
	s.Until = q.now.In(f.space.Location).Add(time.Hour)
	trial, err := c.runStory(ctx, f, set, s)
	if err != nil {
		return nil, err
	}
	for _, effect := range trial.Effects {
		if text, ok := effect.Args["text"].(string); ok && effect.Verb == vocabulary.SendMessage {
			return &previewView{Said: q.words().T("text.preview_made_up", s.Customer), Parts: studio.ExampleParts(strings.Join(words.HarmlessLines(text), "\n"))}, nil
		}
	}
	return nil, nil
}

// maxUpload bounds a file that rules send. Messaging services take no more of a picture or a film.
const maxUpload = 16 << 20

// writeUpload keeps a file that rules send in the folder that they send from.
func (c *Console) writeUpload(q *request) error {
	w, err := c.editable(q.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	sent, head, err := q.r.FormFile("file")
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return problem(http.StatusRequestEntityTooLarge, "upload.large")
	}
	if err != nil {
		return problem(http.StatusBadRequest, "error.form")
	}
	defer func() { _ = sent.Close() }() // it was only read
	content, err := io.ReadAll(sent)
	if err != nil {
		return err
	}
	err = q.change("upload", w.Name+"/"+head.Filename, "", func() error { return w.Editing.Store.SaveMedia(head.Filename, content) })
	switch {
	case errors.Is(err, store.ErrReadOnly):
		return errReadOnly
	case errors.Is(err, store.ErrName):
		return problem(http.StatusBadRequest, "error.filename")
	case errors.Is(err, store.ErrTaken):
		return problem(http.StatusConflict, "upload.taken")
	case err != nil:
		return err
	}
	return q.json(map[string]string{"name": head.Filename})
}
