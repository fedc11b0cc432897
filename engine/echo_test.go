package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// TestServiceThatRepeatsItself shows that a service that reports a change more than once does not
// make a rule react to its own calls for ever, and that a person's change in between counts as the
// person's.
func TestServiceThatRepeatsItself(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: conversation.updated, limit: { times: 9, per: 1h }, do: [{ send_message: "You are with {{ conversation.sector_name }}" }] }
`)
	accept := d.sink
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		for _, e := range events {
			if e.Type == "conversation.updated" {
				e.ID += " again" // the service does not say that it is the same event
				if _, err := accept(ctx, e); err != nil {
					return nil, err
				}
			}
		}
		return accept(ctx, events...)
	}
	d.customer(ana, "hello")
	d.pass(time.Minute)
	d.effects()
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", Sector: "Sales"}))
	d.pass(2 * time.Second)
	d.expect(send+"You are with Sales", send+"You are with Sales") // long after a call, nothing shows that two events are the same
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", Sector: "Support"}))
	d.pass(time.Hour)
	d.expect(send + "You are with Support")
}
