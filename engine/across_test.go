package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// TestOwnMessagesAcrossEngines has one engine answer customers, and another one hear of what was
// sent, often before the first has recorded the receipt. None of it counts as a person's.
func TestOwnMessagesAcrossEngines(t *testing.T) {
	address := postgrestest.Shared(t).Database(t)
	desk, access := desktest.Start(t)
	set := desktest.Compile(t, `
rules:
  - { id: greets, when: message.received, do: [{ send_message: hello }] }
  - { id: echo, when: message.sent, do: [{ send_message: echo }] }
`)
	client := must(service.New(service.Options{
		BaseURL: access.BaseURL, APIKey: service.Secret(access.APIKey), Allow: actions.MayCall, Transport: &http.Transport{MaxIdleConnsPerHost: 50},
	}))
	var engines [2]*engine.Engine
	for i := range engines {
		j := must(postgres.Open(t.Context(), address, postgres.Options{}))
		w := desktest.Workspace(builtin.Options{Client: client}, func() *engine.Engine { return engines[i] })
		engines[i] = must(engine.New(engine.Options{Journal: j}, w))
		if err := engines[i].SetRules("default", set); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- engines[i].Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			_ = j.Close()
		})
	}
	desktest.Register(t, client, []string{"message.received", "message.sent"}, time.Now, func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		if events[0].Type == "message.sent" {
			return engines[1].Accept(ctx, events...)
		}
		return engines[0].Accept(ctx, events...)
	})
	const customers = 150
	for i := range customers {
		must(desk.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", 10_000_000+i), Name: "Ana", Text: "hi"}))
		time.Sleep(5 * time.Millisecond) // they do not write all at once: then every lane waits
	}
	look := must(postgres.Open(t.Context(), address, postgres.Options{Beside: true}))
	defer look.Close()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		own := 0
		for _, e := range must(look.ListEvents(t.Context(), journal.EventFilter{Rule: "echo", Limit: 1000})) {
			for _, v := range e.Verdicts {
				if v.Rule == "echo" && v.Outcome == journal.Fired {
					t.Fatalf("a message of the engine started a run: %+v", v)
				}
				if v.Rule == "echo" && v.Outcome == journal.Own {
					own++
				}
			}
		}
		if own == customers {
			return
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%d of %d messages were recognised", own, customers)
		}
	}
}
