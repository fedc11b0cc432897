package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// weekendCommand lets a script make the journal of a Friday evening and a Saturday morning: weekend
// FILE RULES.
func weekendCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: weekend file rules")
	}
	text, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(recordWeekend(context.Background(), ts.MkAbs(args[0]), string(text)))
}

// recordWeekend lets an engine live through a weekend at an imitated desk, on a simulated clock,
// and leaves its journal behind.
func recordWeekend(ctx context.Context, file, text string) (err error) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		return err
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		return problems
	}
	desk, err := sandbox.New(sandbox.Options{Frozen: time.Date(2026, 11, 13, 17, 50, 0, 0, zone), Seed: 7, AllowLoopback: true, KanbanEvents: true})
	if err != nil {
		return err
	}
	defer desk.Close()
	address, err := desk.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	j, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	client, err := service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey), Now: desk.Now, MaxWait: -1})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var e *engine.Engine
	o := builtin.Options{Client: client, Directory: service.NewDirectory(client), Location: zone}
	o.Own = func(ctx context.Context, m service.Message) (bool, error) {
		return e.Owns(ctx, "default", m.ID, m.ClientID)
	}
	verbs, err := builtin.New(o)
	if err != nil {
		return err
	}
	registry, err := actions.NewRegistry(verbs...)
	if err != nil {
		return err
	}
	tells, err := builtin.NewDesk(o)
	if err != nil {
		return err
	}
	if e, err = engine.New(engine.Options{Journal: j}, engine.Workspace{Name: "default", Actions: registry, Desk: tells, Location: zone}); err != nil {
		return err
	}
	if err := e.SetRules("default", set); err != nil {
		return err
	}
	var secret service.Secret
	receiver, err := webhook.New(webhook.Options{
		Workspace: "default", Secrets: func(time.Time) []service.Secret { return []service.Secret{secret} },
		Sink: func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			for i := range events {
				events[i].ReceivedAt = desk.Now()
			}
			return e.Accept(ctx, events...)
		},
	})
	if err != nil {
		return err
	}
	server := httptest.NewServer(receiver)
	defer server.Close()
	hook, err := client.RegisterWebhook(ctx, service.NewWebhook{Name: "engine", URL: server.URL, Events: vocabulary.EventTypes()})
	if err != nil {
		return err
	}
	secret = hook.Secret
	if err := liveWeekend(ctx, desk, e); err != nil {
		return err
	}
	if err := o.Directory.Load(ctx); err != nil {
		return err
	}
	names, err := json.Marshal(o.Directory.Snapshot())
	if err != nil {
		return err
	}
	return j.SetCursor(ctx, storage.DirectoryCursor("default"), string(names))
}

// liveWeekend lets customers write and Bruno answer.
func liveWeekend(ctx context.Context, desk *sandbox.Sandbox, e *engine.Engine) error {
	for _, act := range []struct {
		after     time.Duration
		name, say string
	}{
		{0, "Marina", "olá"}, {20 * time.Minute, "Marina", "alguém?"}, {5 * time.Second, "Marina", "?"}, {10 * time.Minute, "Paulo", "oi"},
		{5 * time.Minute, "Bruno", "um momento"}, {10 * time.Minute, "Paulo", "obrigado"}, {12 * time.Hour, "Marina", "bom dia"}, {2 * time.Hour, "", ""},
	} {
		if err := passTime(ctx, desk, e, act.after); err != nil {
			return err
		}
		phone := map[string]string{"Marina": "+5511988887777", "Paulo": "+5511977776666"}[act.name]
		var err error
		switch act.name {
		case "":
		case "Bruno":
			_, err = desk.TeamMessage(sandbox.TeamMessage{Conversation: "+5511977776666", Person: act.name, Text: act.say})
		default:
			_, err = desk.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: act.name, Text: act.say})
		}
		if err != nil {
			return err
		}
	}
	return passTime(ctx, desk, e, time.Second)
}

// passTime lets time go by, with everything that is due on the way at its own time.
func passTime(ctx context.Context, desk *sandbox.Sandbox, e *engine.Engine, length time.Duration) error {
	for end := desk.Now().Add(length); ; {
		for range 10 { // what comes of what is done comes at once
			if err := desk.Settle(ctx); err != nil {
				return err
			}
			if _, err := e.Tick(ctx, desk.Now()); err != nil {
				return err
			}
		}
		next, err := e.Tick(ctx, desk.Now())
		if err != nil || !desk.Now().Before(end) {
			return err
		}
		if next.IsZero() || next.After(end) {
			next = end
		}
		if _, err := desk.SetClock(ctx, next); err != nil {
			return err
		}
	}
}
