//go:build unix

package engine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service/sandbox"
)

var disturbances = flag.Int("disturbances", 2, "how often TestDatabaseCrashes crashes the database, and five times as often TestConnectionsCut cuts connections")

// TestDatabaseCrashes makes the database crash and come back, again and again, while two engines
// serve customers.
func TestDatabaseCrashes(t *testing.T) {
	t.Parallel()
	postgrestest.Needs(t)
	server := must(postgrestest.Start(true))
	t.Cleanup(func() { _ = server.Stop() })
	address := server.Database(t)
	c := newCrowd(t, address, address)
	random := rand.New(rand.NewPCG(3, uint64(*disturbances)))
	c.relay.lead(c.start(t), c.start(t))
	for range *disturbances {
		c.writes(10)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		if err := server.Down(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond) // sometimes for longer than a lease
		if err := server.Up(); err != nil {
			t.Fatal(err)
		}
	}
	c.served()
	c.check()
	t.Logf("%d crashes, %d messages, %d effects", *disturbances, c.written, len(c.effects()))
}

// TestConnectionsCut cuts the connections of two engines to their database while customers write:
// at any moment, and so that the answer to a committed transaction is lost.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	address := server.Database(t)
	proxy, through := server.Through(t, address)
	c := newCrowd(t, through, address)
	random := rand.New(rand.NewPCG(4, uint64(*disturbances)))
	c.relay.lead(c.start(t), c.start(t))
	for i := range 5 * *disturbances {
		if i%5 == 0 {
			c.writes(10)
		}
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		if random.IntN(2) == 0 {
			proxy.Cut()
			continue
		}
		proxy.Deaf.Store(true)
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
		proxy.Deaf.Store(false)
		if i%5 == 4 {
			c.writing.Wait()
		}
	}
	c.served()
	c.check()
	t.Logf("%d times, %d messages, %d effects", 5**disturbances, c.written, len(c.effects()))
}

// TestTicksOnce runs one schedule on three engines: each tick has one event and one run.
func TestTicksOnce(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	c := newCrowd(t, address, address)
	c.Schedules = true
	c.Rules = "rules:\n  - { id: tick, when: { every: 1s }, do: [{ log: x }] }\n"
	for range 3 {
		c.start(t)
	}
	const ticks = 5
	eventually(t, time.Minute, "it ticks", func() bool {
		return len(must(c.look.ListRuns(t.Context(), journal.RunFilter{State: journal.Done}))) >= ticks
	})
	seen := map[time.Time]int{}
	for _, e := range must(c.look.ListEvents(t.Context(), journal.EventFilter{Type: "schedule"})) {
		seen[e.CreatedAt.Truncate(time.Second)]++
		runs := must(c.look.ListRuns(t.Context(), journal.RunFilter{Event: e.Seq}))
		if e.Decided && len(runs) != 1 {
			t.Errorf("the tick of %s has %d runs", e.CreatedAt, len(runs))
		}
	}
	if len(seen) < ticks {
		t.Errorf("%d ticks, which proves little", len(seen))
	}
	for at, n := range seen {
		if n != 1 {
			t.Errorf("%d events of the tick at %s", n, at)
		}
	}
}

// TestPauseOfAll answers one call of one engine with 429: none of the three engines calls the
// service again before the pause is over.
func TestPauseOfAll(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	c := newCrowd(t, address, address)
	var proxies []*callProxy
	var engines []*child
	for range 3 {
		d := newCallProxy(t, c.BaseURL)
		p := c.process
		p.BaseURL, p.Timeout = d.URL, 10*time.Second // a slow call must not time out: its repeats would come ever later
		proxies, engines = append(proxies, d), append(engines, p.start(t))
	}
	c.relay.lead(engines...)
	c.writes(10)
	c.served() // every engine has made calls, and has cached the names
	const pause = 6 * time.Second
	if err := c.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 429, RetryAfter: int(pause.Seconds()), Count: 1}); err != nil {
		t.Fatal(err)
	}
	c.writes(60)
	c.served()
	c.check()

	var asked time.Time
	for _, d := range proxies {
		for _, p := range d.passed() {
			if p.status == 429 {
				asked = p.answered
			}
		}
	}
	late := map[string]int{}
	before, after := 0, 0
	var heard time.Duration
	for i, d := range proxies {
		for _, p := range d.passed() {
			switch since := p.came.Sub(asked); {
			case since <= 0:
				before++
			case since < known:
				heard = max(heard, since)
			case since < pause-50*time.Millisecond: // the service's clock and ours started at different moments
				late[fmt.Sprintf("engine %d: %s", i, strings.SplitN(p.what, "/", 4)[2])]++
			default:
				after++
			}
		}
	}
	if asked.IsZero() || before == 0 || after == 0 {
		t.Fatalf("429 at %s, %d calls before it and %d after the pause", asked, before, after)
	}
	if len(late) > 0 {
		t.Errorf("calls during the pause: %v", late)
	}
	t.Logf("the last call of an engine that had not heard of the pause yet came %s after the answer; %d calls waited for its end", heard.Round(time.Millisecond), after)
}

// known is the time within which an engine reads the pause that another one placed: it polls four
// times a second.
const known = 3 * time.Second
