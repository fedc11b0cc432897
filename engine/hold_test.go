package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
)

// lifting lifts a hold just before a run is recorded as held by it.
type lifting struct {
	engine.Journal
	lifted bool
}

func (j *lifting) Save(ctx context.Context, l *engine.Lane, c *engine.Change) error {
	for _, r := range c.Runs {
		if r.Run.State == engine.Held && !j.lifted {
			j.lifted = true
			if _, err := j.Lift(ctx, c.At, "default", "it", engine.HoldPerson); err != nil {
				return err
			}
		}
	}
	return j.Journal.Save(ctx, l, c)
}

// A rule that is resumed in the moment in which its run is held goes on.
func TestResumedWhileItIsHeld(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ wait: 5m }, { send_message: hello }] }
`, func(o *deskOptions) {
		o.journal = func(j engine.Journal) engine.Journal { return &lifting{Journal: j} }
	})
	d.customer(ana, "hello")
	if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "too loud"); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Hour)
	d.expect(send + "hello")
}
