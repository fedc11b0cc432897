package engine_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// liftBeforeSave lifts a hold just before a run is recorded as held by it.
type liftBeforeSave struct {
	fileJournal
	lifted bool
}

func (j *liftBeforeSave) Save(ctx context.Context, l *journal.Lane, c *journal.Change) error {
	for _, r := range c.Runs {
		if r.Run.State == journal.Held && !j.lifted {
			j.lifted = true
			if _, err := j.Lift(ctx, c.At, journal.Hold{Workspace: "default", Rule: "it", Kind: journal.HoldPerson}); err != nil {
				return err
			}
		}
	}
	return j.fileJournal.Save(ctx, l, c)
}

// TestResumedWhileItIsHeld shows that a rule continues if it is resumed just as its run is being
// held.
func TestResumedWhileItIsHeld(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ wait: 5m }, { send_message: hello }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal { return &liftBeforeSave{fileJournal: j} }
	})
	d.customer(ana, "hello")
	if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "too loud"); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Hour)
	d.expect(send + "hello")
}

// liftBeforeClaim is a journal in which a hold is lifted between the engine's read of the holds and
// its claim.
type liftBeforeClaim struct {
	fileJournal
	lift bool
}

func (j *liftBeforeClaim) Claim(ctx context.Context, now time.Time, n int, except []string) ([]*journal.Lane, error) {
	if j.lift {
		if _, err := j.Lift(ctx, now, journal.Hold{Workspace: "default", Rule: "it", Kind: journal.HoldPerson}); err != nil {
			return nil, err
		}
	}
	return j.fileJournal.Claim(ctx, now, n, except)
}

// TestResumedBeforeItIsKnown shows that a run continues after another process has resumed its rule,
// even if the engine visits its lane before it has read that.
func TestResumedBeforeItIsKnown(t *testing.T) {
	var kept *liftBeforeClaim
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ wait: 5m }, { send_message: hello }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept = &liftBeforeClaim{fileJournal: j}
			return kept
		}
	})
	d.customer(ana, "hello")
	if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "it", "too loud"); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Hour)
	d.wantStates("it", journal.Held)
	kept.lift = true
	d.rest()
	d.expect(send + "hello")
}

// stopper places a hold while the first call is in flight.
type stopper struct {
	actions.Action
	once *sync.Once
	stop func()
}

func (a stopper) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	a.once.Do(a.stop)
	return a.Action.Do(ctx, s, i)
}

// TestStoppedBetweenSteps shows that a run that is put on hold between its steps begins no other
// call, and continues behind the last one when it is resumed.
func TestStoppedBetweenSteps(t *testing.T) {
	for name, rule := range map[string]string{"everything": "", "the rule": "it"} {
		t.Run(name, func(t *testing.T) {
			var d *desk
			workspace := ""
			if rule != "" {
				workspace = "default"
			}
			d = newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: one }, { send_message: two }, { send_message: three }] }
`, func(o *deskOptions) {
				var once sync.Once
				stop := func() {
					if err := d.engine.Pause(t.Context(), d.clock.Now(), workspace, rule, "too loud"); err != nil {
						t.Error(err)
					}
				}
				o.action = func(a actions.Action) actions.Action { return stopper{a, &once, stop} }
			})
			d.customer(ana, "hello")
			d.expect(send + "one")
			if _, err := d.engine.Resume(t.Context(), d.clock.Now(), workspace, rule); err != nil {
				t.Fatal(err)
			}
			d.rest()
			d.expect(send+"two", send+"three")
			d.wantStates("it", journal.Done)
		})
	}
}

// counting counts how often lanes are claimed from the journal.
type counting struct {
	fileJournal
	claims atomic.Int64
}

func (j *counting) Claim(ctx context.Context, now time.Time, n int, except []string) ([]*journal.Lane, error) {
	j.claims.Add(1)
	return j.fileJournal.Claim(ctx, now, n, except)
}

// TestRefusedKeyIsNotSpunOn shows that the engine does not poll the journal in a loop while a
// refused key is about to be probed.
func TestRefusedKeyIsNotSpunOn(t *testing.T) {
	var kept *counting
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
`, func(o *deskOptions) {
		o.journal = func(j fileJournal) journal.Journal {
			kept = &counting{fileJournal: j}
			return kept
		}
	})
	d.fault("GET /me", "status_before", 401, 100)
	now := time.Now()
	if _, err := d.journal.Hold(t.Context(), journal.Hold{Workspace: "default", Kind: journal.HoldKey, Since: now, Until: now.Add(300 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	d.live()
	d.until("the key was tried again", func() bool { return must(d.journal.Holds(t.Context()))[0].Until.After(now.Add(time.Second)) })
	if n := kept.claims.Load(); n > 50 {
		t.Errorf("the journal was asked for lanes %d times", n)
	}
}

// slowHolds is a journal that is slow to return the holds, once it is told to be.
type slowHolds struct {
	fileJournal
	slow          atomic.Bool
	asked, answer chan struct{}
}

func (j *slowHolds) Holds(ctx context.Context) ([]journal.Hold, error) {
	if j.slow.CompareAndSwap(true, false) {
		close(j.asked)
		select {
		case <-j.answer:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return j.fileJournal.Holds(ctx)
}

// TestStoppedBeforeTheStart shows that an event that arrives before a starting engine has read the
// holds starts nothing that is on hold.
func TestStoppedBeforeTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		workspace, rule string
		outcomes        []journal.Outcome // before it is resumed
		states          []journal.State   // of the runs, after that
	}{
		"everything":    {"", "", []journal.Outcome{journal.Fired}, []journal.State{journal.Done, journal.Done}},
		"the workspace": {"default", "", []journal.Outcome{journal.Fired}, []journal.State{journal.Done, journal.Done}},
		"the rule":      {"default", "it", []journal.Outcome{journal.Fired, journal.Paused}, []journal.State{journal.Done}},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &slowHolds{asked: make(chan struct{}), answer: make(chan struct{})}
			d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ send_message: hello }] }
`, func(o *deskOptions) {
				o.journal = func(j fileJournal) journal.Journal {
					kept.fileJournal = j
					return kept
				}
			})
			d.customer(ana, "hello")
			d.expect(send + "hello")
			if err := d.engine.Pause(t.Context(), time.Now(), test.workspace, test.rule, "too loud"); err != nil {
				t.Fatal(err)
			}
			d.restart()

			kept.slow.Store(true)
			d.live()
			<-kept.asked
			must(d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Text: "are you there?"}))
			if err := d.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			arrived := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received", Limit: 1}))[0]
			if arrived.Decided {
				t.Fatalf("it is decided on already: %+v", arrived.Verdicts)
			}
			close(kept.answer)
			d.until("it runs", d.engine.Runs)
			d.until("what is not stopped is decided on", func() bool { return slices.Equal(d.outcomes("it"), test.outcomes) })
			d.expect()
			if !must(d.engine.Resume(t.Context(), time.Now(), test.workspace, test.rule)) {
				t.Error("nothing was stopped")
			}
			d.until("what was stopped is done", func() bool { return slices.Equal(d.states("it"), test.states) })
		})
	}
}

// pauseBeforeRead is a journal in which everything is paused just before events are read for the
// first time.
type pauseBeforeRead struct {
	fileJournal
	pause func()
}

func (j pauseBeforeRead) Events(ctx context.Context, seqs ...int64) ([]*journal.Event, error) {
	j.pause()
	return j.fileJournal.Events(ctx, seqs...)
}

// TestStoppedWhileItIsDecided shows that an event that is being decided while everything is paused
// is decided afterwards, and is not handled like one that comes while a single rule is paused.
func TestStoppedWhileItIsDecided(t *testing.T) {
	for name, rule := range map[string]string{
		"an event": `
rules:
  - { id: asks, when: message.received, if: attendance.status == "open", do: [{ log: x }] }
  - { id: then, when: message.received, do: [{ send_message: told }] }
`,
		"what was gathered": `
rules:
  - { id: then, when: message.received, gather: { quiet: 1m, at_most: 1m }, do: [{ send_message: told }] }
`,
	} {
		t.Run(name, func(t *testing.T) {
			var d *desk
			pause := sync.OnceFunc(func() {
				if err := d.engine.Pause(t.Context(), d.clock.Now(), "default", "", "just now"); err != nil {
					t.Error(err)
				}
			})
			d = newDesk(t, rule, func(o *deskOptions) {
				o.journal = func(j fileJournal) journal.Journal { return pauseBeforeRead{j, pause} }
				o.transport = answering(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, "/attendance") {
						pause()
					}
					return http.DefaultTransport.RoundTrip(r)
				})
			})
			d.customer(ana, "hello")
			d.pass(5 * time.Minute)
			d.expect()
			if resumed := must(d.engine.Resume(t.Context(), d.clock.Now(), "default", "")); !resumed {
				t.Fatal("nothing was stopped")
			}
			d.rest()
			d.expect(send + "told")
			d.wantStates("then", journal.Done)
		})
	}
}
