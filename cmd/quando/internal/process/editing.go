package process

import (
	"context"
	"path"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
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
		Schemas: builtin.Schemas(), Media: config.MediaFolder(config.MediaPath(u.RulesPath)), Templates: exampleTemplates(),
	}
}

// choices lists whom rules can write to, and what the service has, as the journal has kept it.
func (p *Process) choices(u *Unit) (list []console.Choice) {
	for _, name := range u.People.Names() {
		list = append(list, console.Choice{Kind: "teammate", Name: name})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	snapshot, err := storage.Names(ctx, p.journal, u.Name)
	if err != nil {
		return list // then there is nothing else to choose from
	}
	boards := map[string]string{}
	for _, l := range snapshot.Lists {
		for _, e := range l.Entries {
			boards[e.ID] = e.Name
		}
	}
	for _, l := range snapshot.Lists {
		for _, e := range l.Entries {
			list = append(list, console.Choice{Kind: string(l.Kind), Name: e.Name, Board: boards[l.Board]})
		}
	}
	return list
}

// exampleTemplates are the examples as rules to begin with, each under the name of its main rule,
// which is called like the example.
func exampleTemplates() (list []console.Template) {
	for _, name := range examples.Names() {
		text := cli.Embedded(examples.FS(), path.Join(name, examples.RulesFile))
		set, _ := rules.Compile([]*rules.File{rules.Parse(name, text)}, rules.Options{Catalog: builtin.Catalog()})
		if r := set.Rule(name); r != nil {
			list = append(list, console.Template{Name: name, Summary: r.Name, Text: string(text)})
		}
	}
	return list
}
