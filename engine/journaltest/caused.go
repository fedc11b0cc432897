package journaltest

import (
	"encoding/json"
	"time"

	"github.com/quandohq/quando/engine"
)

var causedTests = []test{
	{"what own calls caused is found by its objects", caused},
}

func caused(c *check) {
	l := c.fresh("a")
	message := engine.Caused{Workspace: ws, Lane: "a", Event: "message.sent", Object: "m1", Run: 3, Rule: "r", Ancestry: []string{"q", "r"}}
	updated := engine.Caused{Workspace: ws, Lane: "a", Event: "conversation.updated", Object: "a", Set: json.RawMessage(`{"label_ids":["x"],"n":1}`), From: noon, To: at(30 * time.Second)}
	moved := engine.Caused{Workspace: ws, Lane: "a", Event: "kanban.card.moved", Object: "m1", Stage: "s2"}
	foreign := engine.Caused{Workspace: "other", Event: "message.sent", Object: "m1"}
	change := engine.Change{At: noon, Caused: []engine.Caused{message, updated, moved, foreign}}
	c.ok(c.Save(c.Context(), l, &change))

	message.ID, updated.ID, moved.ID = change.Caused[0].ID, change.Caused[1].ID, change.Caused[2].ID
	if message.ID == 0 || message.ID == updated.ID {
		c.Errorf("ids %d and %d", message.ID, updated.ID)
	}
	check := func(typ string, objects []string, want ...engine.Caused) {
		c.Helper()
		got, err := c.Caused(c.Context(), ws, typ, objects)
		c.ok(err)
		c.equal("caused", got, want)
	}
	check("", []string{"m1"}, message, moved)
	check("message.sent", []string{"m1", "a", "none"}, message)
	check("", []string{"a", "m1"}, message, updated, moved)
	check("", nil)
	check("message.read", []string{"m1"})

	c.save(l, engine.Change{Used: []int64{updated.ID}, Gone: []int64{moved.ID}, Release: true})
	updated.Used = true
	check("conversation.updated", []string{"a"}, updated)
	check("", []string{"m1"}, message)
}
