package simulation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/simulation"
)

// Resuming a rule that a bound has stopped resets the count of its messages; nothing else does.
func TestBoundIsCountedAnew(t *testing.T) {
	start := time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC)
	const rule = "r1"
	for _, c := range []struct {
		name         string
		before, more int // messages
		stop         simulation.Stop
		broken       int
	}{
		{"nobody has resumed it", 2, 1, simulation.Stop{}, 1},
		{"it was stopped by a person alone", 2, 1, simulation.Stop{Rule: rule, To: start.Add(time.Minute), CallsEnd: 2}, 1},
		{"it was stopped by the bound", 2, 2, simulation.Stop{Rule: rule, To: start.Add(time.Minute), CallsEnd: 2, Bounds: []string{""}}, 0},
		{"it fills the bound again", 2, 3, simulation.Stop{Rule: rule, To: start.Add(time.Minute), CallsEnd: 2, Bounds: []string{""}}, 1},
		{"the bound was not full", 1, 2, simulation.Stop{Rule: rule, To: start.Add(time.Minute), CallsEnd: 1, Bounds: []string{""}}, 1},
		{"another rule had filled it", 2, 1, simulation.Stop{Rule: "r2", To: start.Add(time.Minute), CallsEnd: 2, Bounds: []string{""}}, 1},
		{"it was the bound of a customer", 2, 1, simulation.Stop{Rule: rule, To: start.Add(time.Minute), CallsEnd: 2, Bounds: []string{"Ana"}}, 1},
	} {
		s := &simulation.Scenario{Start: start, Length: time.Hour}
		s.Safety.Messages = simulation.Bound{Times: 2, Per: 3 * time.Hour}
		o := &simulation.Outcome{}
		o.Stops = []simulation.Stop{c.stop}
		for i := range c.before + c.more {
			at, step := start.Add(time.Duration(i/c.before)*2*time.Minute), fmt.Sprintf("desk/%s/e%d/1", rule, i)
			o.Calls = append(o.Calls, simulation.Call{At: at, Step: step, Method: "POST", Path: "/v1/conversations/c/messages", Came: true})
			o.Effects = append(o.Effects, simulation.Effect{At: at, Customer: "Ana", Verb: "send_message", Detail: fmt.Sprint(i), Step: step})
		}
		o.Stops[0].Calls = o.Stops[0].CallsEnd
		if broken := simulation.Ledger(s, o); len(broken) != c.broken {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}

// An engine counts by its own clock, which may jump: a bound is judged by as much less.
func TestBoundWhileTheClockJumps(t *testing.T) {
	start := time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC)
	for jump, broken := range map[time.Duration]int{0: 1, time.Hour: 1, 3 * time.Hour: 0, -3 * time.Hour: 0} {
		s := &simulation.Scenario{Start: start, Length: time.Hour, Troubles: []simulation.Trouble{{Kind: simulation.TroubleJump, At: 20 * time.Minute, For: jump}}}
		s.Safety.PerConversation = simulation.Bound{Times: 1, Per: 3 * time.Hour}
		o := &simulation.Outcome{}
		for i := range 2 {
			at, step := start.Add(time.Duration(i)*25*time.Minute), fmt.Sprintf("desk/r1/e%d/1", i)
			o.Calls = append(o.Calls, simulation.Call{At: at, Step: step, Method: "POST", Path: "/v1/conversations/c/messages", Came: true})
			o.Effects = append(o.Effects, simulation.Effect{At: at, Customer: "Ana", Verb: "send_message", Detail: fmt.Sprint(i), Step: step})
		}
		if found := simulation.Ledger(s, o); len(found) != broken {
			t.Errorf("a jump of %s: %v", jump, found)
		}
	}
}

// Runs beside each other have no order among them; each has its own, and loses and doubles
// nothing.
func TestRunsBesideEachOther(t *testing.T) {
	outcome := func(steps ...string) *simulation.Outcome {
		o := &simulation.Outcome{}
		for _, step := range steps {
			o.Effects = append(o.Effects, simulation.Effect{Customer: "Ana", Verb: "send_message", Detail: "s" + step[len(step)-1:], Step: "desk/r1/" + step})
		}
		return o
	}
	calm := outcome("a/1", "b/1", "a/2", "b/2")
	for _, c := range []struct {
		name   string
		mode   string
		played *simulation.Outcome
		same   bool
	}{
		{"the same", "queued", outcome("a/1", "b/1", "a/2", "b/2"), true},
		{"another order, one after another", "queued", outcome("a/1", "a/2", "b/1", "b/2"), false},
		{"another order, beside each other", "parallel", outcome("b/1", "b/2", "a/1", "a/2"), true},
		{"another order in a run", "parallel", outcome("a/1", "b/2", "a/2", "b/1"), false},
		{"one is lost", "parallel", outcome("a/1", "b/1", "a/2"), false},
		{"one is done twice", "parallel", outcome("a/1", "b/1", "a/2", "b/2", "b/2"), false},
		{"one run too many", "parallel", outcome("a/1", "b/1", "a/2", "b/2", "c/1"), false},
	} {
		s := &simulation.Scenario{Rules: []simulation.Rule{{ID: "r1", Mode: c.mode}}}
		if differences := simulation.Same(s, calm, c.played); (len(differences) == 0) != c.same {
			t.Errorf("%s: %q", c.name, differences)
		}
	}
}

// A play with troubles goes on behind the end: an effect may come there that came before it
// otherwise, or one that was due there.
func TestBehindTheEnd(t *testing.T) {
	start := time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC)
	outcome := func(minutes ...float64) *simulation.Outcome {
		o := &simulation.Outcome{}
		for i, m := range minutes {
			at := start.Add(time.Duration(m * float64(time.Minute)))
			o.Effects = append(o.Effects, simulation.Effect{At: at, Customer: "Ana", Verb: "send_message", Detail: fmt.Sprint(i), Step: fmt.Sprintf("desk/r1/%d/1", i)})
		}
		return o
	}
	s := &simulation.Scenario{Start: start, Length: time.Hour, Rules: []simulation.Rule{{ID: "r1"}}}
	for _, c := range []struct {
		name   string
		played *simulation.Outcome
		same   bool
	}{
		{"the same", outcome(30, 59), true},
		{"one comes behind the end", outcome(30, 60.5), true},
		{"another one comes behind the end", outcome(30, 59, 60.5), true},
		{"another one comes before the end", outcome(30, 59, 59.5), false},
		{"one is lost", outcome(30), false},
	} {
		if differences := simulation.Same(s, outcome(30, 59), c.played); (len(differences) == 0) != c.same {
			t.Errorf("%s: %q", c.name, differences)
		}
	}
}

// A call whose caller is not told that it came is tried again, with pauses that grow; one whose
// caller was told is not made again long after.
func TestCalledAgain(t *testing.T) {
	start := time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC)
	type try struct {
		minute     int
		came, told bool
	}
	for _, c := range []struct {
		name   string
		tries  []try
		broken int
	}{
		{"answers are lost for long", []try{{0, true, false}, {6, true, false}, {12, true, false}, {18, true, true}}, 0},
		{"an answer is lost, then the service is away", []try{{0, true, false}, {6, false, false}, {12, false, false}, {18, true, true}}, 0},
		{"the service is away at first", []try{{0, false, false}, {60, true, true}}, 0},
		{"the caller was told", []try{{0, true, true}, {18, true, true}}, 1},
		{"the caller was told, and told again", []try{{0, true, true}, {6, true, true}, {12, true, true}, {18, true, true}}, 1},
		{"the caller was told, and the next try fails", []try{{0, true, true}, {18, false, false}, {19, true, true}}, 1},
		{"the answer was lost, and nobody tried for long", []try{{0, true, false}, {18, true, true}}, 1},
	} {
		o := &simulation.Outcome{}
		for _, try := range c.tries {
			o.Calls = append(o.Calls, simulation.Call{
				At: start.Add(time.Duration(try.minute) * time.Minute), Step: "desk/r1/e1/1", Method: "POST", Path: "/v1/conversations/c/messages", Came: try.came, Told: try.told,
			})
		}
		if broken := simulation.Ledger(&simulation.Scenario{Start: start, Length: time.Hour}, o); len(broken) != c.broken {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}

// After a connection that broke, a step waits out the timeout before it calls again, whatever it
// calls.
func TestCalledTooSoon(t *testing.T) {
	start := time.Date(2026, 11, 9, 12, 0, 0, 0, time.UTC)
	const again, other = "desk/r1/e1/1", "desk/r1/e1/2"
	for _, c := range []struct {
		name   string
		cut    bool
		step   string
		after  time.Duration
		jump   time.Duration
		broken int
	}{
		{"it was cut off, and is made again at once", true, again, 0, 0, 1},
		{"within the timeout", true, again, 9 * time.Second, 0, 1},
		{"when the timeout is over", true, again, 10 * time.Second, 0, 0},
		{"it was answered", false, again, time.Second, 0, 0},
		{"another step calls", true, other, time.Second, 0, 0},
		{"the engine's clock jumps", true, again, time.Second, time.Hour, 0},
	} {
		s := &simulation.Scenario{Start: start, Length: time.Hour}
		if c.jump > 0 {
			s.Troubles = []simulation.Trouble{{Kind: simulation.TroubleJump, For: c.jump}}
		}
		o := &simulation.Outcome{}
		o.Calls = []simulation.Call{
			{At: start, Step: again, Method: "POST", Path: "/v1/conversations/c/transfer", Cut: c.cut},
			{At: start.Add(c.after), Step: c.step, Method: "POST", Path: "/v1/conversations/c/read", Came: true, Told: true},
		}
		if broken := simulation.Ledger(s, o); len(broken) != c.broken {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}

// An Idempotency-Key belongs to one call and its repeats; a card that somebody changed meanwhile is
// read again.
func TestCardsThatPeopleChange(t *testing.T) {
	first := simulation.Call{Step: "desk/r1/e1/1", Method: "POST", Path: "/v1/kanban/cards/c/move", Key: "11111111", Body: `{"version":1}`}
	replanned, another := first, first
	replanned.Body = `{"version":2}`
	another.Key, another.Body = "22222222", `{"version":2}`
	lost, elsewhere := first, another
	lost.Overtaken, elsewhere.Step = true, "desk/r1/e2/1"
	for _, c := range []struct {
		name    string
		calls   []simulation.Call
		journal string
		broken  int
	}{
		{"a call is repeated", []simulation.Call{first, first}, "", 0},
		{"a new call has a new key", []simulation.Call{first, another}, "", 0},
		{"a new call has the old key", []simulation.Call{first, replanned}, "", 1},
		{"a person has moved the card, and its rule tries again", []simulation.Call{lost, another}, "", 1},
		{"a person has moved the card, and another run moves it", []simulation.Call{lost, elsewhere}, "", 0},
		{"a step fails because its version is outdated", nil, `{"Run":"r","Steps":[{"Path":"1","Verb":"move_card","State":"failed","Error":"409 version_conflict: the card has changed"}]}`, 1},
		{"a step fails because its card is gone", nil, `{"Run":"r","Steps":[{"Path":"1","Verb":"move_card","State":"failed","Error":"404 not_found"}]}`, 0},
	} {
		o := &simulation.Outcome{Journal: c.journal}
		o.Calls = c.calls
		if broken := simulation.Ledger(&simulation.Scenario{}, o); len(broken) != c.broken {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}

// An event that is older than a rule allows, and a tick that was missed, start no run.
func TestTooLate(t *testing.T) {
	event := func(id, typ, at, heard string) string {
		return fmt.Sprintf(`{"event":%q,"type":%q,"at":"2026-11-09T%sZ","heard":"2026-11-09T%sZ","decided":true}`+"\n", id, typ, at, heard)
	}
	run := func(key, began string) string {
		return fmt.Sprintf(`{"run":"desk/%s","began":"2026-11-09T%sZ"}`+"\n", key, began)
	}
	const noon, next = "r1/2026-11-09T12:00:00Z", "r1/2026-11-09T12:05:00Z"
	hears := simulation.Rule{ID: "r1", When: simulation.When{Events: []string{"message.received"}}}
	patient, forgiving := hears, hears
	patient.Late.SkipAfter, forgiving.Late.SkipAfter = time.Hour, -1
	ticks := simulation.Rule{ID: "r1", When: simulation.When{Every: 5 * time.Minute}}
	none, all := ticks, ticks
	none.Late.Run, all.Late.Run = "none", "all"
	for _, c := range []struct {
		name    string
		rule    simulation.Rule
		journal string
		broken  int
	}{
		{"a message after 29 minutes", hears, event("a", "message.received", "12:00:00", "12:00:00") + run("r1/a", "12:29:00"), 0},
		{"a message after 31 minutes", hears, event("a", "message.received", "12:00:00", "12:00:00") + run("r1/a", "12:31:00"), 1},
		{"a message after 31 minutes, not run on", hears, event("a", "message.received", "12:00:00", "12:31:00"), 0},
		{"a message after 31 minutes of 60", patient, event("a", "message.received", "12:00:00", "12:31:00") + run("r1/a", "12:31:00"), 0},
		{"a message after 31 minutes of any", forgiving, event("a", "message.received", "12:00:00", "12:31:00") + run("r1/a", "12:31:00"), 0},
		{"a tick in time", none, event(noon, "schedule", "12:00:00", "12:00:01") + run(noon, "12:00:01"), 0},
		{"a missed tick", none, event(noon, "schedule", "12:00:00", "12:00:01") + run(noon, "12:02:00"), 1},
		{"the last missed tick", ticks, event(noon, "schedule", "12:00:00", "12:00:01") + event(next, "schedule", "12:05:00", "12:05:01") + run(next, "12:06:00"), 0},
		{"the first missed tick", ticks, event(noon, "schedule", "12:00:00", "12:00:01") + event(next, "schedule", "12:05:00", "12:05:01") + run(noon, "12:06:00"), 1},
		{"every missed tick", all, event(noon, "schedule", "12:00:00", "12:00:01") + event(next, "schedule", "12:05:00", "12:05:01") + run(noon, "12:06:00"), 0},
	} {
		o := &simulation.Outcome{Journal: c.journal}
		if broken := simulation.Ledger(&simulation.Scenario{Rules: []simulation.Rule{c.rule}}, o); len(broken) != c.broken {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}
