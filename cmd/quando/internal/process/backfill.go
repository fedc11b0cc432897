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

// backfillRate is a backfill's calls per second if the workspace has no limit. If it has one, it is
// a quarter of that: live calls have the rest.
const backfillRate = 10

// Waits whose time ended while no engine was there are held so long at most.
const (
	// recoverByLooking is for a backfill pass, which takes seconds after most stops and minutes after
	// long ones. If the pass fails all the time, or lacks a scope, the service's retries have to do.
	recoverByLooking = 5 * time.Minute
	// recoverByRedelivery is for the service's retries, without a backfill: it retries 30 seconds and
	// 2 minutes after a failed delivery, so that after a stop of two minutes all have arrived.
	recoverByRedelivery = 3 * time.Minute
)

// recovery sets how long waits are held after a downtime, and which backfill finds what was missed.
func recovery(w *engine.Workspace, finds *backfill.Source) {
	w.Recovery = recoverByRedelivery
	if finds != nil {
		w.Recovery, w.Away = recoverByLooking, func() { finds.Missed("no engine was there for a while") }
	}
}

// addBackfill adds the backfill of a workspace, if enabled.
func (p *Process) addBackfill(c *config.Config, u *Unit, b *Book) (*backfill.Source, error) {
	if u.Backfill.Every == 0 {
		return nil, nil
	}
	rate := float64(backfillRate)
	if u.Service.Rate > 0 {
		rate = u.Service.Rate / 4
	}
	host, _ := os.Hostname()
	t := &deliveredTypes{unit: u}
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

// findings is the process for a backfill: it records found events like delivered ones.
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

// maxKnown bounds how many events of a lane are compared with what was found before it is
// recorded; the journal then compares with all.
const maxKnown = 10_000

// Known returns recorded events of a lane.
func (f *findings) Known(ctx context.Context, workspace, lane string, types []string, since time.Time) (list []rules.Event, err error) {
	happened, err := f.journal.Happened(ctx, workspace, lane, types, since, maxKnown)
	for _, e := range happened {
		list = append(list, e.Event)
	}
	return list, err
}

// CreatedIn returns the stage in which the engine itself created a card.
func (f *findings) CreatedIn(ctx context.Context, workspace, card string) (string, error) {
	own, err := f.journal.Caused(ctx, workspace, vocabulary.CardCreated, []string{engine.ObjectKey(card)}, time.Time{})
	i := slices.IndexFunc(own, func(c journal.Caused) bool { return c.Stage != "" })
	if i < 0 {
		return "", err
	}
	return own[i].Stage, err
}

// wakes returns a counter of deliveries that wakes the backfill when some may be missing, because
// they could not be recorded. A delivery that is too old is no reason: anyone can send one, and the
// periodic pass finds what the service retries for so long.
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

// deliveredTypes knows which events webhooks deliver.
type deliveredTypes struct {
	unit *Unit

	mu    sync.Mutex
	types []string // nil if unknown
}

// deliveredTypesEvery is how often that is read.
const deliveredTypesEvery = 5 * time.Minute

// undelivered reports whether webhooks do not deliver a type. As long as that is unknown, the
// service's reference decides: card events cannot be subscribed to.
func (t *deliveredTypes) undelivered(typ string) bool {
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

// run reads regularly which events webhooks deliver, unless a subscription knows it.
func (t *deliveredTypes) run(ctx context.Context) {
	for ctx.Err() == nil && t.unit.subscription == nil {
		types := t.read(ctx)
		t.mu.Lock()
		t.types = types
		t.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(deliveredTypesEvery):
		}
	}
}

// read reads the webhooks of this engine or, if none is known, the events available to subscribe
// to.
func (t *deliveredTypes) read(ctx context.Context) (types []string) {
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
		return nil // the key may lack the scope
	}
	return types
}

// foundSince is the time for which the console counts what was found.
const foundSince = 24 * time.Hour

// repairs returns the state of the backfills.
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
