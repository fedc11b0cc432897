package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// seenCards is the kind of the stored cards. The service shows where a card is, not where it was;
// so each pass stores what it read.
const seenCards = "card"

var cardTypes = vocabulary.FindableEvents(vocabulary.Card)

// A seenCard is the stored state of a card.
type seenCard struct {
	Stage   string    `json:"stage"`
	Version string    `json:"version,omitempty"`
	Status  string    `json:"status,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
	At      time.Time `json:"at"`            // when it was read
	New     bool      `json:"new,omitempty"` // nothing of it is reported yet: its webhooks may be in flight
}

// when is the latest time at which the card had this state. An event is created a little after its
// change: one created before the card was read describes the state before that.
func (c *seenCard) when() time.Time {
	if c.Updated.IsZero() {
		return c.At
	}
	told := c.Updated.Add(slack)
	if c.At.Before(told) {
		told = c.At
	}
	return latest(c.Updated, told)
}

// same reports whether a card has not changed.
func (c *seenCard) same(now *service.Card) bool {
	return c.Stage == now.StageID && c.Version == now.Version && c.Status == now.Status && c.Updated.Equal(now.UpdatedAt)
}

// cards finds cards that were created, moved or completed.
func (p *pass) cards(ctx context.Context, sp span) error {
	kept, err := p.options.Journal.Seen(ctx, p.options.Workspace, seenCards)
	if err != nil {
		return err
	}
	look := &cardScan{pass: p, span: sp, before: kept, change: map[string]string{}, rewrite: p.rewrite(seenCards)}
	err = look.list(ctx, "")
	if e, ok := errors.AsType[*service.Error](err); ok && e.Status == http.StatusBadRequest && !e.Local {
		err = look.byBoard(ctx) // the service requires a board
	}
	if err != nil {
		return err
	}
	return p.remember(ctx, seenCards, look.change)
}

// A cardScan is one scan over all cards.
type cardScan struct {
	*pass
	span
	before  map[string]string
	change  map[string]string
	rewrite bool
}

func (l *cardScan) byBoard(ctx context.Context) error {
	list, err := l.client.ListBoards(ctx, false)
	if err != nil {
		return err
	}
	for _, b := range list {
		if err := l.list(ctx, b.ID); err != nil {
			return err
		}
	}
	return nil
}

// cardsPerWrite is the number of cards whose changes are stored in one write.
const cardsPerWrite = 500

// list scans the cards of a board, or of all boards.
func (l *cardScan) list(ctx context.Context, board string) error {
	for c, err := range l.client.Cards(ctx, service.CardQuery{Board: board, Status: l.client.Profile().Cards.SearchStatus}) {
		if err != nil {
			return err
		}
		l.updateState(func(st *State) { st.Looked++ })
		if err := l.card(ctx, &c); err != nil {
			return err
		}
		if len(l.change) >= cardsPerWrite {
			if err := l.options.Journal.SetSeen(ctx, l.now, l.options.Workspace, seenCards, l.change); err != nil {
				return err
			}
			l.change = map[string]string{}
		}
	}
	return nil
}

// card compares one card with its stored state. It records the events before it stores the new
// state.
func (l *cardScan) card(ctx context.Context, c *service.Card) error {
	var was *seenCard
	if text := l.before[c.ID]; text != "" && !l.first {
		was = &seenCard{}
		if json.Unmarshal([]byte(text), was) != nil {
			was = nil
		}
	}
	fresh := was == nil && l.fresh(c)
	if was != nil && was.New {
		was, fresh = nil, !l.long
	}
	switch {
	case was != nil && was.same(c):
		if l.rewrite {
			l.change[c.ID] = l.before[c.ID]
		}
		return nil
	case was == nil && !fresh, was != nil && l.long:
		return l.store(c, false) // it existed before the first scan
	}
	before, ready := l.ready(c)
	switch {
	case !ready && was == nil:
		return l.store(c, true)
	case !ready:
		return nil
	}
	h := &history{cardScan: l, card: c, was: was, before: before}
	list, err := h.sightings(ctx)
	if err == nil {
		err = l.offer(ctx, list)
	}
	if err != nil {
		return err
	}
	return l.store(c, false)
}

// fresh reports whether a card without stored state was created within the span. A card that shows
// no creation time counts as new if an earlier scan was complete.
func (l *cardScan) fresh(c *service.Card) bool {
	if c.CreatedAt.IsZero() {
		return !l.first && !l.begun && !l.long
	}
	return !l.first && !c.CreatedAt.Before(l.since)
}

// A notice is when a scan first saw a change that carries no time, and when the scan before it ran.
type notice struct{ at, before time.Time }

// ready reports whether the webhooks of a card's changes can no longer be in flight. A card that
// shows no time counts from the scan that first saw the change; before is a time at which it had
// not happened yet.
func (l *cardScan) ready(c *service.Card) (before time.Time, ready bool) {
	seen, ok := l.noticed[c.ID]
	if !ok {
		seen = notice{at: l.now, before: l.last}
	}
	changed := latest(c.UpdatedAt, c.CreatedAt)
	if changed.IsZero() {
		l.noticed[c.ID], changed = seen, seen.at
	}
	for _, typ := range l.types {
		if !l.ripe(typ, changed) {
			return seen.before, false
		}
	}
	delete(l.noticed, c.ID)
	return seen.before, true
}

// store stores a card's state. Nothing is reported yet of one that is unreported.
func (l *cardScan) store(c *service.Card, unreported bool) error {
	text, err := json.Marshal(seenCard{Stage: c.StageID, Version: c.Version, Status: c.Status, Updated: c.UpdatedAt, At: l.now, New: unreported})
	l.change[c.ID], l.before[c.ID] = string(text), string(text)
	return err
}

// boards are the stages of all boards.
type boards struct {
	read    time.Time
	first   map[string]string // the first stage of each board
	winning map[string]bool   // by stage
}

// boardsRead is how long the boards are cached.
const boardsRead = 10 * time.Minute

// stages returns the boards. It reads them again if it does not know this one.
func (p *pass) stages(ctx context.Context, board string) (*boards, error) {
	if b := p.boards; b != nil && p.now.Sub(b.read) < boardsRead && b.first[board] != "" {
		return b, nil
	}
	list, err := p.client.ListBoards(ctx, false)
	if err != nil {
		return nil, err
	}
	b := &boards{read: p.now, first: map[string]string{}, winning: map[string]bool{}}
	for _, one := range list {
		lowest := 0
		for i, stage := range one.Stages {
			b.winning[stage.ID] = stage.Winning
			if i == 0 || stage.Position < lowest {
				b.first[one.ID], lowest = stage.ID, stage.Position
			}
		}
	}
	p.boards = b
	return b, nil
}
