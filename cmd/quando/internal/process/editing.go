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
)

// editing is what the console needs to write the rules of a workspace.
func (p *Process) editing(c *config.Config, u *Unit, b *Book) *console.Editing {
	now := func() time.Time {
		if p.now != nil {
			return p.now()
		}
		return time.Now()
	}
	return &console.Editing{
		Store: store.New(store.Options{Path: u.RulesPath, Except: u.Except, ReadOnly: c.Console.ReadOnly, Now: now}),
		Files: func() ([]*rules.File, error) {
			r, err := b.Read()
			if err != nil {
				return nil, err
			}
			return r.files, nil
		},
		Rules:   b.Options,
		Reload:  func() error { _, err := b.Load(false, false); return err },
		Choices: func() []console.Choice { return p.choices(u) },
		Desk: func(ctx context.Context) (backtest.Desk, error) {
			return storage.NewOfflineDesk(ctx, p.journal, u.Name, u.Client.Profile())
		},
		Schemas: builtin.Schemas(), Media: config.MediaFolder(config.MediaPath(u.RulesPath)), Templates: galleryTemplates(),
	}
}

// choices lists whom rules can write to, and what the service has, as the journal has kept it.
func (p *Process) choices(u *Unit) (list []console.Choice) {
	for _, name := range u.People.Names() {
		list = append(list, console.Choice{Kind: "teammate", Name: name})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	known, err := storage.Choices(ctx, p.journal, u.Name)
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
