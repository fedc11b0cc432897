package engine_test

import (
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/service/sandbox"
)

func (d *desk) written(phone, text string) sandbox.Written {
	d.t.Helper()
	w := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: "Ana Lima", Text: text}))
	if err := d.Settle(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return w
}

func TestReplacedRunWhoseTimeHasCome(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, mode: restart, do: [{ wait: 5m }, { send_message: "after {{ message.text }}" }] }
`)
	d.customer(ana, "one")
	d.move(friday.Add(time.Minute))
	d.written(ana, "two")
	d.move(friday.Add(20 * time.Minute))
	d.rest()
	d.expect(send + "after two")
	d.wantStates("it", engine.Cancelled, engine.Done)
}
