package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

// A service that tells of a change more than once does not make a rule answer its own calls for
// ever, and what a person changes meanwhile is the person's.
func TestServiceThatRepeatsItself(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: conversation.updated, limit: { times: 9, per: 1h }, do: [{ send_message: "You are with {{ conversation.sector_name }}" }] }
`)
	accept := d.sink
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		for _, e := range events {
			if e.Type == "conversation.updated" {
				e.ID += " again" // of which the service does not say that it is the same
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
	d.expect(send+"You are with Sales", send+"You are with Sales") // nothing tells of two events long after a call that they are one
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: ana, Person: "Bruno", Sector: "Support"}))
	d.pass(time.Hour)
	d.expect(send + "You are with Support")
}
