package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// holdBeforeCall is a journal in which another process places a hold just before a call is
// recorded, when the engine has not read it yet.
type holdBeforeCall struct {
	fileJournal
	t     *testing.T
	hold  journal.Hold
	after int // so many calls
	calls int
	named []journal.UnderWay
}

func (j *holdBeforeCall) Save(ctx context.Context, l *journal.Lane, c *journal.Change) error {
	if c.Call != nil {
		if j.calls++; j.calls == j.after+1 {
			j.named = must(j.Hold(ctx, j.hold))
		}
	}
	return j.fileJournal.Save(ctx, l, c)
}

// TestStoppedBeforeACall shows that a call does not begin if another process places a hold at the
// moment at which it is about to: a run's first call, a later one, a repeated one, one whose events
// come in another lane. After the hold is lifted the run continues there, and the refused call did
// not count as an attempt.
func TestStoppedBeforeACall(t *testing.T) {
	const steps = `
rules:
  - { id: it, when: message.received, do: [{ send_message: one }, { send_message: two }] }
`
	const card = `
rules:
  - { id: it, when: message.received, do: [{ create_card: { board: Sales, title: card } }] }
`
	everything, rule := journal.Hold{Kind: journal.HoldPerson, Reason: "stop"}, journal.Hold{Workspace: "default", Rule: "it", Kind: journal.HoldPerson, Reason: "stop"}
	rate := journal.Hold{Workspace: "default", Kind: journal.HoldRate, Reason: "429", Until: friday.Add(time.Hour)}
	for name, test := range map[string]struct {
		rules         string
		hold          journal.Hold
		after         int
		before, later []string // what is done before and after it is resumed
		state         journal.State
		attempts      int // of the last step
	}{
		"the first call, everything":  {steps, everything, 0, nil, []string{send + "one", send + "two"}, journal.Running, 1},
		"the second call, everything": {steps, everything, 1, []string{send + "one"}, []string{send + "two"}, journal.Running, 1},
		"the second call, the rule":   {steps, rule, 1, []string{send + "one"}, []string{send + "two"}, journal.Held, 1},
		"the second call, a rate":     {steps, rate, 1, []string{send + "one"}, []string{send + "two"}, journal.Running, 1},
		"a repeat, everything":        {card, everything, 1, nil, []string{"POST /kanban/cards"}, journal.Running, 2},
		"a repeat, the rule":          {card, rule, 1, nil, []string{"POST /kanban/cards"}, journal.Held, 2},
		"a new card, everything":      {card, everything, 0, nil, []string{"POST /kanban/cards"}, journal.Running, 1},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &holdBeforeCall{t: t, hold: test.hold, after: test.after}
			d := newDesk(t, test.rules, func(o *deskOptions) {
				o.journal = func(j fileJournal) journal.Journal {
					kept.fileJournal = j
					return kept
				}
			})
			if test.attempts == 2 {
				d.fault("POST /kanban/cards", "status_before", 503, 1)
			}
			d.customer(ana, "hello")
			d.pass(30 * time.Second)
			d.expect(test.before...)
			if *atOnce && test.after == 0 && test.rules == steps {
				d.wantStates("it") // the event is decided when everything is resumed
			} else {
				d.wantStates("it", test.state)
			}
			if marks := must(d.journal.Caused(t.Context(), "default", "", []string{"?"}, time.Time{})); test.attempts == 1 && len(marks) > 0 {
				t.Errorf("events are expected of a call that did not begin: %+v", marks)
			}
			must(d.journal.Lift(t.Context(), d.clock.Now(), test.hold))
			d.pass(time.Minute)
			d.expect(test.later...)
			d.wantStates("it", journal.Done)
			last := d.runs("it")[0].Steps
			if got := last[len(last)-1].Attempts; got != test.attempts {
				t.Errorf("it took %d attempts", got)
			}
			// The answer to a call is recorded with the next call's intent, so the call before it may be
			// listed. The refused call is not.
			for _, u := range kept.named {
				if test.after == 0 || test.attempts == 2 || u.Step != "1" {
					t.Errorf("a call is named that is not under way: %+v", u)
				}
			}
		})
	}
}

// TestStoppedBeforeARun shows that an event does not start a rule that was put on hold before the
// run began, as if the engine had known of the hold.
func TestStoppedBeforeARun(t *testing.T) {
	kept := &holdBeforeCall{t: t, hold: journal.Hold{Workspace: "default", Rule: "it", Kind: journal.HoldPerson, Reason: "stop"}}
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: one }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept.fileJournal = j
			return kept
		}
	})
	d.customer(ana, "hello")
	must(d.journal.Lift(t.Context(), d.clock.Now(), journal.Hold{Workspace: "default", Rule: "it", Kind: journal.HoldPerson}))
	d.pass(time.Minute)
	d.expect()
	if got := d.outcomes("it"); !slices.Equal(got, []journal.Outcome{journal.Paused}) {
		t.Errorf("its verdict is %v", got)
	}
	d.customer(ana, "hello?")
	d.expect(send + "one")
}

// A gateway records every request that would change something at the moment at which it arrives,
// and passes it on a little later.
type gateway struct {
	*httptest.Server
	mu      sync.Mutex
	arrived []string // their paths
}

func newGateway(t *testing.T, to string) *gateway {
	g := &gateway{}
	target := must(url.Parse(to))
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			g.mu.Lock()
			g.arrived = append(g.arrived, r.URL.Path)
			g.mu.Unlock()
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// since returns the paths of the requests that arrived after the first n, and how many there are.
func (g *gateway) since(n int) ([]string, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.arrived[n:]), len(g.arrived)
}

// TestPauseStopsCalls pauses everything, or the rule, from another process, again and again, while
// customers write and engines answer them. Once Pause has returned, no request arrives at the
// service but the calls that were reported as in flight. What was paused continues when it is
// resumed. In the end every customer has each answer once, and no call was attempted twice.
func TestPauseStopsCalls(t *testing.T) {
	t.Parallel()
	t.Run("in a file", func(t *testing.T) { stopAndGo(t, filepath.Join(t.TempDir(), "journal.db"), 1) })
	t.Run("in a database", func(t *testing.T) { stopAndGo(t, postgrestest.Shared(t).Database(t), 2) })
}

func stopAndGo(t *testing.T, where string, engines int) {
	c := newCrowd(t, where, where)
	g := newGateway(t, c.BaseURL)
	c.BaseURL, c.Timeout = strings.Replace(c.BaseURL, must(url.Parse(c.BaseURL)).Host, must(url.Parse(g.URL)).Host, 1), 10*time.Second
	c.Rules = `
rules:
  - id: it
    when: message.received
    do: [{ send_message: one }, { send_message: two }, { wait: 100ms }, { send_message: three }]
`
	var alive []*child
	for range engines {
		alive = append(alive, c.start(t))
	}
	c.relay.lead(alive...)
	random := rand.New(rand.NewPCG(1, 2))
	named := 0
	for round := range 2 * *stops {
		c.writes(40)
		time.Sleep(time.Duration(50+random.IntN(200)) * time.Millisecond)
		hold := journal.Hold{Kind: journal.HoldPerson, Since: time.Now()}
		if round%3 == 2 {
			hold.Workspace, hold.Rule = "default", "it"
		}
		underWay := must(c.look.Hold(t.Context(), hold))
		_, from := g.since(0)
		expected := map[string]int{}
		for _, u := range underWay {
			expected["/v1/conversations/"+strings.TrimPrefix(u.Lane, "conversation:")+"/messages"]++
		}
		named += len(underWay)
		time.Sleep(400 * time.Millisecond)
		late, _ := g.since(from)
		late = slices.DeleteFunc(late, func(path string) bool {
			expected[path]--
			return expected[path] >= 0
		})
		if len(late) > 0 {
			t.Errorf("round %d: it was stopped, %d calls under way were named, and %d others arrived: %s …", round, len(underWay), len(late), late[0])
		}
		must(c.look.Lift(t.Context(), time.Now(), hold))
		c.writing.Wait()
		if err := c.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.await("every event is decided", func() bool { return len(c.undecided()) == 0 })
	}
	fired := c.answeredOnce()
	lost := 0 // lanes that went to another engine, which repeats calls that have no receipt
	for _, engine := range alive {
		lost += engine.ask("refused")
	}
	again := c.triedAgain(fired)
	if len(again) > lost {
		t.Errorf("calls were tried again, and %d lanes were lost:\n%s", lost, strings.Join(again, "\n"))
	}
	t.Logf("%d messages, of which %d were answered, %d calls under way, %d lanes lost, %d calls tried again", c.written, fired, named, lost, len(again))
}

// answeredOnce waits until every message that the rule fired for has its three answers, each once
// and in order, and returns how many such messages there are. The others came while the rule was on
// hold.
func (c *crowd) answeredOnce() (fired int) {
	c.t.Helper()
	lanes := map[string]journal.Outcome{}
	for after := int64(0); ; {
		page := must(c.look.ListEvents(c.t.Context(), journal.EventFilter{Type: "message.received", Forward: true, After: after, Limit: 1000}))
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			after, lanes[e.Lane] = e.Seq, e.Verdicts[0].Outcome
			if e.Verdicts[0].Outcome == journal.Fired {
				fired++
			}
		}
	}
	c.await("every run is done", func() bool {
		return len(must(c.look.ListRuns(c.t.Context(), journal.RunFilter{State: journal.Done, Limit: fired + 1}))) == fired
	})
	got := map[string][]string{}
	for _, e := range c.Effects()[1:] { // the first is the webhook
		var message struct {
			Conversation string `json:"conversation_id"`
			Text         string `json:"text"`
		}
		if err := json.Unmarshal(e.After, &message); err != nil || e.Kind != "message" {
			c.t.Fatalf("%s: %v", e.Kind, err)
		}
		lane := "conversation:" + message.Conversation
		got[lane] = append(got[lane], message.Text)
	}
	for lane, outcome := range lanes {
		want := []string{"one", "two", "three"}
		if outcome == journal.Paused {
			want = nil
		}
		if !slices.Equal(got[lane], want) {
			c.t.Errorf("%s is %s and was answered %v", lane, outcome, got[lane])
		}
	}
	return fired
}

// triedAgain lists the steps of so many runs that took more than one attempt.
func (c *crowd) triedAgain(runs int) (list []string) {
	for _, r := range must(c.look.ListRuns(c.t.Context(), journal.RunFilter{Limit: runs})) {
		for _, s := range must(c.look.FindRun(c.t.Context(), r.ID)).Steps {
			if s.Attempts > 1 {
				list = append(list, fmt.Sprintf("step %s of run %d took %d attempts %s", s.Path, r.ID, s.Attempts, s.Record))
			}
		}
	}
	return list
}
