package main

import (
	"context"
	"path"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

// editing is what the console needs to write the rules of a workspace.
func (p *process) editing(c *config, u *unit, b *book) *console.Editing {
	now := func() time.Time {
		if p.now != nil {
			return p.now()
		}
		return time.Now()
	}
	return &console.Editing{
		Store: store.New(store.Options{Path: u.rules, Except: u.except, ReadOnly: c.Console.ReadOnly, Now: now}),
		Files: func() ([]*rules.File, error) {
			r, err := b.read()
			if err != nil {
				return nil, err
			}
			return r.files, nil
		},
		Rules:   b.options,
		Reload:  func() error { _, err := b.load(false, false); return err },
		Choices: func() []console.Choice { return p.choices(u.name) },
		Desk: func(ctx context.Context) (backtest.Desk, error) {
			return newOfflineDesk(ctx, p.journal, u.name, u.client.Profile())
		},
		Schemas: builtin.Schemas(), Media: mediaFolder(mediaPath(u.rules)), Templates: exampleTemplates(),
	}
}

// choices lists what the service has, as the journal has kept it.
func (p *process) choices(workspace string) (list []console.Choice) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	snapshot, err := keptNames(ctx, p.journal, workspace)
	if err != nil {
		return nil // then there is nothing to choose from
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

// exampleTemplates are the examples as rules to begin with, each under the name of its main rule, which is called like the example.
func exampleTemplates() (list []console.Template) {
	for _, name := range examples.Names() {
		text := embedded(examples.FS(), path.Join(name, examples.RulesFile))
		set, _ := rules.Compile([]*rules.File{rules.Parse(name, text)}, rules.Options{Catalog: builtin.Catalog()})
		if r := set.Rule(name); r != nil {
			list = append(list, console.Template{Name: name, Summary: r.Name, Text: string(text)})
		}
	}
	return list
}
