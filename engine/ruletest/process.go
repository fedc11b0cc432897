package ruletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/schedule"
)

// workspace is the name of the one workspace that a test has.
const workspace = "test"

// A process is a running engine with its memory: a stop replaces it with a new one.
type process struct {
	*engineLife
	ctx       context.Context
	journal   *sqlite.Journal
	engine    *engine.Engine
	schedules *schedule.Source
	transport *http.Transport
}

// launch starts the engine on the journal's file.
func launch(ctx context.Context, t *storyRun) (_ *process, err error) {
	s := t.story
	file, err := sqlite.Open(ctx, t.file, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	out := &process{engineLife: &engineLife{points: &t.points}, journal: file, transport: &http.Transport{DisableCompression: true}}
	out.ctx, out.end = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, out.close())
		}
	}()
	var kept journal.Journal = crashingJournal{file, out.engineLife, t}
	if s.options.journal != nil {
		kept = s.options.journal(kept)
	}
	verbs, desk, err := out.verbs(t)
	if err != nil {
		return nil, err
	}
	registry, err := actions.NewRegistry(verbs...)
	if err != nil {
		return nil, err
	}
	out.engine, err = engine.New(engine.Options{Journal: kept}, engine.Workspace{Name: workspace, Actions: registry, Desk: desk, Location: s.options.Location, Safety: s.safety(desk)})
	if err != nil {
		return nil, err
	}
	if err := out.engine.SetRules(workspace, s.rules); err != nil {
		return nil, err
	}
	out.schedules, err = schedule.New(schedule.Options{Workspace: workspace, Location: s.options.Location, Cursors: kept})
	if err != nil {
		return nil, err
	}
	out.schedules.SetRules(s.rules)
	return out, nil
}

// safety returns the safety bounds of a story: its own, else those of the configuration.
func (s *story) safety(desk *builtin.Desk) engine.Safety {
	own, usual := s.test.Safety, s.options.Safety
	internal := own.Internal
	if internal == nil {
		internal = usual.Internal
	}
	return engine.Safety{
		PerConversation: cmp.Or(own.PerConversation, usual.PerConversation, engine.DefaultSafety.PerConversation),
		Messages:        cmp.Or(own.Messages, usual.Messages, engine.DefaultSafety.Messages),
		Internal:        desk.InternalChats(internal),
	}
}

// verbs returns the verbs that ship with the binary and the desk, as clients of the imitated
// service.
func (p *process) verbs(t *storyRun) ([]actions.Action, *builtin.Desk, error) {
	client, err := service.New(service.Options{
		BaseURL: t.network.base + "/v1", APIKey: service.Secret(t.service.APIKey()), MaxWait: -1, Now: t.service.Now, Transport: p.transport,
	})
	if err != nil {
		return nil, nil, err
	}
	o := builtin.Options{
		Client: client, Directory: service.NewDirectory(client), Media: t.options.Media, People: t.people, Location: t.options.Location, Outside: t.outside, HTTP: t.options.Systems,
		Own: func(ctx context.Context, m service.Message) (bool, error) {
			return p.engine.Owns(ctx, workspace, m.ID, m.ClientID)
		},
	}
	verbs, err := builtin.New(o)
	if err != nil {
		return nil, nil, err
	}
	for i, v := range verbs {
		verbs[i] = crashingAction{v, p.engineLife}
		if t.options.action != nil {
			verbs[i] = t.options.action(verbs[i])
		}
	}
	desk, err := builtin.NewDesk(o)
	return verbs, desk, err
}

// accept is the sink of all events: a stopped engine loses them, and the service retries.
func (p *process) accept(ctx context.Context, events ...rules.Event) ([]bool, error) {
	if p.over() {
		return nil, errDead
	}
	return p.engine.Accept(ctx, events...)
}

// repeats reports whether a run has a call to retry: one that is idle, and neither waits nor is
// held, has no other reason to be unfinished.
func (p *process) repeats(ctx context.Context) (bool, error) {
	runs, err := p.journal.CountRuns(ctx)
	return runs[journal.Running] > 0, err
}

// close releases what the system would release when a process ends.
func (p *process) close() error {
	p.end()
	p.transport.CloseIdleConnections()
	return p.journal.Close()
}

// newJournal puts an empty journal into a file.
func (s *story) newJournal() (string, error) {
	s.told++
	file := fmt.Sprintf("%s/telling-%d.db", s.folder, s.told)
	return file, os.WriteFile(file, s.empty, 0o600)
}
