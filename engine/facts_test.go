package engine_test

import (
	"testing"

	"github.com/quandohq/quando/engine"
)

// A name that cannot be read holds up only the rules that ask for what it belongs to: here that of the conversation's channel.
func TestNamesThatNobodyAsksFor(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: greets, when: message.received, do: [{ send_message: "hello {{ contact.name }}" }] }
  - { id: names, when: message.received, do: [{ send_message: "from {{ conversation.channel_name }}" }] }
`)
	d.fault("GET /channels", "status_before", 503, 0)
	d.customer(ana, "hello")
	d.expect(send + "hello Ana Lima")
	d.wantStates("greets", engine.Done)
	d.wantStates("names", engine.Running)
}

// What an event carries is not fetched, whichever rule asks for it.
func TestCarriedFactsAreNotFetched(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: asks, when: message.received, if: contact.name startsWith "A", do: [{ send_message: "{{ contact.name }} {{ conversation.kind }}" }] }
  - { id: finds, when: message.received, if: conversation.kind == "direct", do: [{ send_message: "{{ contact.phone }}" }] }
`)
	d.fault("GET /contacts/{id}", "status_before", 503, 0)
	d.fault("GET /conversations/{id}", "status_before", 503, 0)
	d.customer(ana, "hello")
	d.expect(send+"Ana Lima direct", send+ana)
}
