package process

import (
	"context"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
	"github.com/quandohq/quando/rules/templates"
	"github.com/quandohq/quando/service"
)

// editing is what the console needs to write the rules of a workspace.
func (p *Process) editing(c *config.Config, u *Unit, b *Book) *console.Editing {
	e := newEditing(c, u.NamedWorkspace, b, p.journal, u.Client.Profile(), p.present)
	e.Reload = func() error { _, err := b.Load(false, false); return err }
	return e
}

// newEditing is what writing the rules of a workspace needs, with or without an engine.
func newEditing(c *config.Config, w config.NamedWorkspace, b *Book, j storage.Journal, profile *service.Profile, now func() time.Time) *console.Editing {
	return &console.Editing{
		Store: store.New(store.Options{Path: w.RulesPath, Except: w.Except, ReadOnly: c.Console.ReadOnly, Now: now}),
		Files: func() ([]*rules.File, error) {
			r, err := b.Read()
			if err != nil {
				return nil, err
			}
			return r.files, nil
		},
		Rules:   b.Options,
		Choices: func() []console.Choice { return choices(w, j) },
		Desk: func(ctx context.Context) (backtest.Desk, error) {
			return storage.NewOfflineDesk(ctx, j, w.Name, profile)
		},
		Schemas: builtin.Schemas(), Media: config.MediaFolder(config.MediaPath(w.RulesPath)), Templates: galleryTemplates(),
	}
}

// choices lists whom rules can write to, and what the service has, as the journal has kept it.
func choices(w config.NamedWorkspace, j storage.Journal) (list []console.Choice) {
	for _, name := range w.People.Names() {
		list = append(list, console.Choice{Kind: "teammate", Name: name})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	known, err := storage.Choices(ctx, j, w.Name)
	if err != nil {
		return list // then there is nothing else to choose from
	}
	return append(list, known...)
}

// galleryTemplates are the rules to begin with.
func galleryTemplates() (list []console.Template) {
	for _, name := range templates.Names() {
		text, _ := templates.Text(name)
		list = append(list, console.Template{Name: name, Text: string(text)})
	}
	return list
}
