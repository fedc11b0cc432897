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

// seenCards are cards as they were when they were last looked at, because the service shows where a
// card is, not where it was.
const seenCards = "card"

// cardTypes are the events of cards.
var cardTypes = vocabulary.FindableEvents(vocabulary.Card)

// A seenCard is what is remembered of a card.
type seenCard struct {
	Stage   string    `json:"stage"`
	Version string    `json:"version,omitempty"`
	Status  string    `json:"status,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
	At      time.Time `json:"at"` // when it was looked at
}

// when is when the card was as it is, at the latest. An event is created a little after what it
// tells of: one that was created before the card was looked at tells of how it was then.
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

// same reports whether nothing has happened to a card.
func (c *seenCard) same(now *service.Card) bool {
	return c.Stage == now.StageID && c.Version == now.Version && c.Status == now.Status && c.Updated.Equal(now.UpdatedAt)
}

// cards looks for cards that were created, moved and completed.
func (p *pass) cards(ctx context.Context, sp span) error {
	kept, err := p.options.Journal.Seen(ctx, p.options.Workspace, seenCards)
	if err != nil {
		return err
	}
	look := &cardLook{pass: p, span: sp, before: kept, change: map[string]string{}, rewrite: p.rewrite(seenCards)}
	err = look.list(ctx, "")
	if e, ok := errors.AsType[*service.Error](err); ok && e.Status == http.StatusBadRequest && !e.Local {
		err = look.byBoard(ctx) // a service that wants a board named
	}
	if err != nil {
		return err
	}
	return p.remember(ctx, seenCards, look.change)
}

// A cardLook is a look at all cards.
type cardLook struct {
	*pass
	span
	before  map[string]string
	change  map[string]string
	rewrite bool
}

func (l *cardLook) byBoard(ctx context.Context) error {
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

// enough is how many cards' changes are written down at once.
const enough = 500

// list looks at the cards of a board, or of all.
func (l *cardLook) list(ctx context.Context, board string) error {
	for c, err := range l.client.Cards(ctx, service.CardQuery{Board: board, Status: l.client.Profile().Cards.SearchStatus}) {
		if err != nil {
			return err
		}
		l.note(func(st *State) { st.Looked++ })
		if err := l.card(ctx, &c); err != nil {
			return err
		}
		if len(l.change) >= enough {
			if err := l.options.Journal.SetSeen(ctx, l.now, l.options.Workspace, seenCards, l.change); err != nil {
				return err
			}
			l.change = map[string]string{}
		}
	}
	return nil
}

// card looks at one card. What has happened to it is recorded before it is remembered as it is.
func (l *cardLook) card(ctx context.Context, c *service.Card) error {
	var was *seenCard
	if text := l.before[c.ID]; text != "" && !l.first {
		was = &seenCard{}
		if json.Unmarshal([]byte(text), was) != nil {
			was = nil
		}
	}
	switch {
	case was != nil && was.same(c):
		if l.rewrite {
			l.change[c.ID] = l.before[c.ID]
		}
		return nil
	case was == nil && !l.fresh(c), was != nil && l.long:
		return l.keep(c) // it was there before anybody looked
	}
	before, ready := l.ready(c)
	if !ready {
		return nil
	}
	h := &history{cardLook: l, card: c, was: was, before: before}
	list, err := h.sightings(ctx)
	if err == nil {
		err = l.offer(ctx, list)
	}
	if err != nil {
		return err
	}
	return l.keep(c)
}

// fresh reports whether a card that was not seen before was created in the time that the look is
// about. Where it does not tell, that is so if everything was seen before.
func (l *cardLook) fresh(c *service.Card) bool {
	if c.CreatedAt.IsZero() {
		return !l.first && !l.begun && !l.long
	}
	return !l.first && !c.CreatedAt.Before(l.since)
}

// A notice is when a change of a card was noticed that shows no time, and when the look before that
// was.
type notice struct{ at, before time.Time }

// ready reports whether no webhook can be on its way any more that tells what has happened to a
// card. Where a card shows no time, that is when its change was noticed; before is when it had not
// happened yet.
func (l *cardLook) ready(c *service.Card) (before time.Time, ready bool) {
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

// keep remembers a card as it is.
func (l *cardLook) keep(c *service.Card) error {
	text, err := json.Marshal(seenCard{Stage: c.StageID, Version: c.Version, Status: c.Status, Updated: c.UpdatedAt, At: l.now})
	l.change[c.ID], l.before[c.ID] = string(text), string(text)
	return err
}

// boards are the stages of all boards.
type boards struct {
	read    time.Time
	first   map[string]string // the stage that a board begins with
	winning map[string]bool   // by stage
}

// boardsRead is how long the boards are thought to be as they were.
const boardsRead = 10 * time.Minute

// stages returns the boards, read anew where one is not known.
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
