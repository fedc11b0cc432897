package process

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/webhook"
)

// backfillRate is how many calls a backfill makes in a second where the workspace has no ceiling.
// Where it has one, it is a quarter of that: live calls have the rest.
const backfillRate = 10

// Waits whose time ended while no engine was there are held so long at most.
const (
	// recoverByLooking is for a look at what was missed, which takes seconds after most stops and
	// minutes after long ones. One that fails all the time, or lacks a scope, leaves it to the
	// service's own repeats.
	recoverByLooking = 5 * time.Minute
	// recoverByRedelivery is for the service's own repeats, where nobody looks: it makes them 30
	// seconds and 2 minutes after a delivery that failed, so that after a stop of two minutes all
	// have come.
	recoverByRedelivery = 3 * time.Minute
)

// recovery says how long waits are held after an absence, and who is to look for what was missed in
// it.
func recovery(w *engine.Workspace, finds *backfill.Source) {
	w.Recovery = recoverByRedelivery
	if finds != nil {
		w.Recovery, w.Away = recoverByLooking, func() { finds.Missed("no engine was there for a while") }
	}
}

// addBackfill gives a workspace what finds events that no webhook tells; nothing where that is off.
func (p *Process) addBackfill(c *config.Config, u *Unit, b *Book) (*backfill.Source, error) {
	if u.Backfill.Every == 0 {
		return nil, nil
	}
	rate := float64(backfillRate)
	if u.Service.Rate > 0 {
		rate = u.Service.Rate / 4
	}
	host, _ := os.Hostname()
	t := &told{unit: u}
	s, err := backfill.New(backfill.Options{
		Workspace: u.Name, Client: u.Client, Journal: &findings{p}, Every: u.Backfill.Every, Cards: u.Backfill.Cards, Rate: rate, Now: p.now, Logger: p.log,
		Needs: func() []string {
			if set := b.shown().Set; set != nil {
				return set.Listens()
			}
			return nil
		},
		Undelivered: t.undelivered,
		Behind:      func(ctx context.Context) (time.Duration, error) { return p.Engine.Behind(ctx, p.present()) },
		Alone:       !storage.IsDatabase(c.JournalPath()),
		Holder:      fmt.Sprintf("%s %d %s", host, os.Getpid(), uuid.NewString()),
		Count:       p.metrics.foundOf(u.Name),
		Looked: func(ctx context.Context, until time.Time) {
			if err := p.Engine.Recovered(ctx, u.Name, until); err != nil {
				p.log.Warn("waits that are held go on later than they could", "workspace", u.Name, "error", err)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	p.metrics.passesOf(u.Name, func() time.Time { return s.State().Ended })
	p.backfills, p.told = append(p.backfills, namedBackfill{u.Name, s}), append(p.told, t)
	return s, nil
}

// A namedBackfill is what finds events of a workspace.
type namedBackfill struct {
	workspace string
	*backfill.Source
}

// findings is the process as a backfill sees it: what it finds is recorded like what is told.
type findings struct{ *Process }

func (f *findings) Cursor(ctx context.Context, name string) (string, error) {
	return f.journal.Cursor(ctx, name)
}

func (f *findings) SetCursor(ctx context.Context, name, value string) error {
	return f.journal.SetCursor(ctx, name, value)
}

func (f *findings) Seen(ctx context.Context, workspace, kind string) (map[string]string, error) {
	return f.journal.Seen(ctx, workspace, kind)
}

func (f *findings) SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error {
	return f.journal.SetSeen(ctx, now, workspace, kind, values)
}

func (f *findings) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	return f.journal.SwapCursor(ctx, name, old, value)
}

// AcceptFound records what was found.
func (f *findings) AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error) {
	fresh, err := f.Engine.AcceptFound(ctx, found...)
	for i := range fresh {
		if fresh[i] {
			f.Recorder.fresh(found[i].Event)
		}
	}
	return fresh, err
}

// mostKnown bounds how many events of a lane are compared with what was found before it is
// recorded; the journal then compares with all.
const mostKnown = 10_000

// Known returns recorded events of a lane.
func (f *findings) Known(ctx context.Context, workspace, lane string, types []string, since time.Time) (list []rules.Event, err error) {
	happened, err := f.journal.Happened(ctx, workspace, lane, types, since, mostKnown)
	for _, e := range happened {
		list = append(list, e.Event)
	}
	return list, err
}

// CreatedIn returns the stage in which the engine itself created a card.
func (f *findings) CreatedIn(ctx context.Context, workspace, card string) (string, error) {
	own, err := f.journal.Caused(ctx, workspace, vocabulary.CardCreated, []string{engine.ObjectKey(card)})
	i := slices.IndexFunc(own, func(c journal.Caused) bool { return c.Stage != "" })
	if i < 0 {
		return "", err
	}
	return own[i].Stage, err
}

// wakes returns what counts deliveries and wakes a backfill when some may be missing, because they
// could not be recorded. That a delivery is too old is no reason: anybody can send one, and what
// the service repeats for so long is found by the timer.
func wakes(count func(webhook.Outcome), s *backfill.Source) func(webhook.Outcome) {
	if s == nil {
		return count
	}
	var failing atomic.Bool
	return func(o webhook.Outcome) {
		count(o)
		switch o {
		case webhook.Unavailable:
			failing.Store(true)
		case webhook.Recorded, webhook.Duplicate:
			if failing.CompareAndSwap(true, false) {
				s.Wake("deliveries could not be recorded for a while")
			}
		}
	}
}

// told knows of which events webhooks tell.
type told struct {
	unit *Unit

	mu    sync.Mutex
	types []string // nil is that it is not known
}

// toldEvery is how often it is found out of which events webhooks tell.
const toldEvery = 5 * time.Minute

// undelivered reports whether no webhook tells of a type. As long as nobody knows it is what the
// service's reference says: card events cannot be subscribed.
func (t *told) undelivered(typ string) bool {
	if s := t.unit.subscription; s != nil {
		if st := s.Status(); !st.Checked.IsZero() {
			return !slices.Contains(st.Events, typ)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.types == nil {
		return vocabulary.ObjectOf(typ) == vocabulary.Card
	}
	return !slices.Contains(t.types, typ)
}

// run finds out, every so often, of which events webhooks tell, unless somebody looks after the
// webhook who knows.
func (t *told) run(ctx context.Context) {
	for ctx.Err() == nil && t.unit.subscription == nil {
		types := t.look(ctx)
		t.mu.Lock()
		t.types = types
		t.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(toldEvery):
		}
	}
}

// look asks for the webhooks that lead here, and where none is known for what can be subscribed.
func (t *told) look(ctx context.Context) (types []string) {
	client := t.unit.Client.Patient()
	if hooks, err := client.ListWebhooks(ctx); err == nil {
		for _, h := range t.unit.ownHooks(hooks) {
			if h.Active {
				types = append(types, h.Events...)
			}
		}
	}
	if len(types) > 0 {
		return types
	}
	types, err := client.ListEvents(ctx)
	if err != nil || !slices.Contains(types, vocabulary.MessageReceived) {
		return nil // a key need not be allowed to look
	}
	return types
}

// foundSince is the time for which the console counts what was found.
const foundSince = 24 * time.Hour

// repairs tells how what webhooks do not tell is found.
func (p *Process) repairs(ctx context.Context) (list []console.Repair) {
	for _, b := range p.backfills {
		st := b.State()
		r := console.Repair{
			Workspace: b.workspace, Looking: st.Looking, Part: st.Part, Looked: st.Looked, Calls: st.Calls, Found: st.Found, Ended: st.Ended, Problem: st.Problem, Why: st.Why,
		}
		if counts, err := p.journal.CountFound(ctx, b.workspace, p.present().Add(-foundSince)); err == nil {
			r.Counts = counts
		}
		list = append(list, r)
	}
	return list
}
