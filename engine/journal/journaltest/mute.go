package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// muteTests are about conversations to which nothing is sent.
var muteTests = []test{
	{"a message to a muted conversation does not begin", muteMessages},
	{"a change mutes and unmutes", muteChanges},
	{"a message that begins while its conversation is muted was first or is refused", muteAtOnce},
	{"mutes that are over are pruned", mutePrune},
}

func muteOf(lane string, until time.Time) journal.Mute {
	return journal.Mute{Workspace: ws, Lane: lane, Rule: "r", Run: 7, Since: at(-time.Minute), Until: until}
}

// messageChange returns a change with which a message begins.
func messageChange(r *journal.Run, n int) *journal.Change {
	change := callChange(r, n)
	change.Message = true
	return change
}

func muteMessages(c *check) {
	l := c.claimNew("a")
	s := start(rules.Parallel, run("a", "r", "", "key"))
	c.begin(l, s)
	other := muteOf("a", time.Time{})
	other.Workspace = "other"
	for i, m := range []struct {
		mute  journal.Mute
		mutes bool
	}{
		{muteOf("a", time.Time{}), true},
		{muteOf("a", at(time.Microsecond)), true},
		{muteOf("a", noon), false}, // it is over
		{muteOf("b", time.Time{}), false},
		{other, false},
	} {
		c.ok(c.Mute(c.Context(), journal.MuteChange{Mute: m.mute}))
		found, err := c.Muted(c.Context(), m.mute.Workspace, m.mute.Lane, noon)
		c.ok(err)
		if covers := m.mute.Covers(noon); covers {
			c.equal("the mute", *found, m.mute)
		} else if found != nil {
			c.Fatalf("a mute that is over: %+v", found)
		}
		err = c.Save(c.Context(), l, messageChange(s.Run, i))
		muted, refused := errors.AsType[*journal.MutedError](err)
		if refused != m.mutes || err != nil && !refused {
			c.Fatalf("with %+v: %v", m.mute, err)
		}
		if refused {
			c.equal("what mutes it", muted.Mute, m.mute)
		}
		c.equal(fmt.Sprintf("steps with %+v", m.mute), len(c.find(s.Run.ID).Steps) == i, m.mutes)
		// A call that sends no message begins all the same.
		c.ok(c.Save(c.Context(), l, callChange(s.Run, i)))
		c.ok(c.Mute(c.Context(), journal.MuteChange{Mute: m.mute, Off: true}))
		c.ok(c.Save(c.Context(), l, messageChange(s.Run, i)))
	}
	mutes, err := c.Mutes(c.Context(), noon)
	c.ok(err)
	c.equal("mutes at the end", len(mutes), 0)
	c.finishLane(l)
}

// muteChanges mutes with the changes of a lane. The last of several counts.
func muteChanges(c *check) {
	l := c.claimNew("a")
	a, b := muteOf("a", at(time.Hour)), muteOf("b", time.Time{})
	a.Since, a.Until = a.Since.Add(3*time.Nanosecond), a.Until.Add(3*time.Nanosecond) // microseconds are stored
	c.save(l, journal.Change{Mutes: []journal.MuteChange{{Mute: a}, {Mute: b, Off: true}, {Mute: b}}})
	mutes, err := c.Mutes(c.Context(), noon)
	c.ok(err)
	c.equal("mutes", mutes, []journal.Mute{muteOf("a", at(time.Hour)), b})
	c.save(l, journal.Change{Mutes: []journal.MuteChange{{Mute: a, Off: true}, {Mute: b, Off: true}, {Mute: muteOf("a", time.Time{}), Off: true}}})
	mutes, err = c.Mutes(c.Context(), noon)
	c.ok(err)
	c.equal("mutes afterwards", len(mutes), 0)
	c.finishLane(l)
}

// muteAtOnce mutes while messages begin in many lanes: of each, either the message was recorded
// when Mute returned, or it is refused.
func muteAtOnce(c *check) {
	const n = 20
	lanes, runs := make([]*journal.Lane, n), make([]*journal.Start, n)
	for i := range n {
		name := fmt.Sprint("lane", i)
		lanes[i], runs[i] = c.claimNew(name), start(rules.Parallel, run(name, "r", "", name))
		c.begin(lanes[i], runs[i])
	}
	var all sync.WaitGroup
	refused, recordedBefore := make([]bool, n), make([]bool, n)
	for i := range n {
		all.Go(func() {
			err := c.Save(c.Context(), lanes[i], messageChange(runs[i].Run, 0))
			_, refused[i] = errors.AsType[*journal.MutedError](err)
			if err != nil && !refused[i] {
				c.Errorf("message %d: %v", i, err)
			}
		})
		all.Go(func() {
			if err := c.Mute(c.Context(), journal.MuteChange{Mute: muteOf(lanes[i].Name, time.Time{})}); err != nil {
				c.Errorf("mute %d: %v", i, err)
			}
			recordedBefore[i] = len(c.find(runs[i].Run.ID).Steps) > 0
		})
	}
	all.Wait()
	for i := range n {
		if recordedBefore[i] == refused[i] {
			c.Errorf("message %d: refused %v, and recorded before the mute %v", i, refused[i], recordedBefore[i])
		}
		c.finishLane(lanes[i])
	}
}

func mutePrune(c *check) {
	c.ok(c.Mute(c.Context(), journal.MuteChange{Mute: muteOf("over", at(-keep-time.Hour))}, journal.MuteChange{Mute: muteOf("now", at(time.Hour))}, journal.MuteChange{Mute: muteOf("always", time.Time{})}))
	c.pruneAll(noon)
	mutes, err := c.Mutes(c.Context(), at(-2*keep))
	c.ok(err)
	c.equal("mutes that are left", mutes, []journal.Mute{muteOf("always", time.Time{}), muteOf("now", at(time.Hour))})
}
