package process

import (
	"log/slog"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/console/assistant"
	"github.com/quandohq/quando/rules"
)

// addAssistants lets the console answer assistants, if the configuration has a token for one.
func (p *Process) addAssistants(c *config.Config, o *console.Options) error {
	if len(c.MCP.Tokens) == 0 {
		return nil
	}
	server, err := assistant.New(assistant.Options{Journal: p.journal, Workspaces: o.Workspaces, Customers: c.MCP.Customers, Version: cli.Version(), Now: p.present, Logger: p.log})
	if err != nil {
		return err
	}
	o.Assistants = server.Serve
	return nil
}

// NewAssistants answers assistants without an engine, beside one that may run. The journal is
// opened, and the rules are read from their files for each call. The configuration needs only what
// rules are made of: nothing can call the service.
func NewAssistants(c *config.Config, j storage.Journal, log *slog.Logger) (*assistant.Server, error) {
	list, err := offline(c)
	if err != nil {
		return nil, err
	}
	o := assistant.Options{Journal: j, Customers: c.MCP.Customers, Version: cli.Version(), Now: cli.Now, Logger: log}
	for _, w := range list {
		profile, err := c.Profile(w.Workspace)
		if err != nil {
			return nil, err
		}
		b := &Book{Workspace: w.Name, Path: w.RulesPath, Except: w.Except, Options: rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside, People: w.People.Names()}, Log: log}
		o.Workspaces = append(o.Workspaces, console.Workspace{
			Name: w.Name, Location: w.Timezone, Safety: engine.Safety{PerConversation: w.Safety.MessagesPerConversation, Messages: w.Safety.Messages}, Profile: &profile,
			Rules: b.readNow, Editing: newEditing(c, w, b, j, &profile, func() time.Time { return cli.Now() }),
		})
	}
	return assistant.New(o)
}

// offline lists the workspaces that have rules; where there is only one, it need not have any yet.
func offline(c *config.Config) ([]config.NamedWorkspace, error) {
	named := *c
	named.Service.BaseURL = "none" // all workspaces are listed, because none is called
	list, err := named.Active()
	if err != nil || len(list) == 1 {
		return list, err
	}
	if files, err := config.FilesBelow(list[0].RulesPath, list[0].Except...); err != nil || len(files) == 0 {
		return list[1:], nil //nolint:nilerr // there is no such folder: the top level has no rules
	}
	return list, nil
}

// readNow compiles the rules as their files have them now.
func (b *Book) readNow() console.Book {
	r, err := b.Read()
	if err != nil {
		b.Log.Error("the rules cannot be read", "workspace", b.Workspace, "error", err)
		return console.Book{}
	}
	set, problems := rules.Compile(r.files, b.Options)
	return console.Book{Set: set, Problems: append(problems, r.Problems...)}
}
