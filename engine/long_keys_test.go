package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// TestLongKeys shows that a key of a rule, or the id of an event's conversation, may be a text of
// any length: it is recorded and decided, and two texts that only begin alike are different.
// PostgreSQL's indexes have no entries longer than a few thousand bytes.
func TestLongKeys(t *testing.T) {
	client := must(service.New(service.Options{BaseURL: "http://127.0.0.1:1", APIKey: "key"}))
	o := builtin.Options{Client: client, Directory: service.NewDirectory(client)}
	set := desktest.Compile(t, `
rules:
  - { id: it, when: message.received, by: message.text, mode: single, limit: { times: 1, per: 1h }, do: [{ wait: 1h }] }
`)
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]rune, 20_000) // that compression cannot shorten
	for i := range text {
		text[i] = rune('a' + random.IntN(26) + 0x400*random.IntN(3))
	}
	long := string(text)
	for name, open := range map[string]func(t *testing.T) anyJournal{
		"sqlite": func(t *testing.T) anyJournal {
			return must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{}))
		},
		"postgres": func(t *testing.T) anyJournal {
			return must(postgres.Open(t.Context(), postgrestest.Shared(t).Database(t), postgres.Options{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t)
			t.Cleanup(func() { _ = j.Close() })
			e := must(engine.New(engine.Options{Journal: j}, engine.Workspace{Name: "default", Actions: must(actions.NewRegistry(must(builtin.New(o))...)), Desk: must(builtin.NewDesk(o))}))
			if err := e.SetRules("default", set); err != nil {
				t.Fatal(err)
			}
			for i, text := range []string{long + "a", long + "b", long + "a", long} {
				conversation := fmt.Sprint("c", i)
				if text == long {
					conversation = long
				}
				data := map[string]any{
					"conversation": map[string]any{"id": conversation}, "message": map[string]any{"id": fmt.Sprint(i), "direction": "inbound", "text": text, "created_at": friday.Format(time.RFC3339)},
				}
				must(e.Accept(t.Context(), rules.Event{
					Workspace: "default", ID: fmt.Sprint(i), Type: "message.received", Lane: rules.LaneOf("conversation", conversation), CreatedAt: friday, ReceivedAt: friday, Data: data,
				}))
				must(e.Tick(t.Context(), friday))
			}
			var got []journal.Outcome
			for _, e := range must(j.ListEvents(t.Context(), journal.EventFilter{})) {
				for _, v := range e.Verdicts {
					got = append([]journal.Outcome{v.Outcome}, got...)
				}
			}
			if fmt.Sprint(got) != "[fired fired skipped error]" {
				t.Errorf("verdicts: %v", got)
			}
		})
	}
}
