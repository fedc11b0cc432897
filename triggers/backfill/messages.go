package backfill

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

const (
	pageSize = 100
	overlap  = 10     // items of a page that are read again with the next one, to detect that the list has shifted
	restarts = 5      // of a list that shifts faster than it is read
	maxPages = 20_000 // per walk
	disorder = time.Minute
)

// messages finds messages in conversations that have changed.
func (p *pass) messages(ctx context.Context, sp span) error {
	if sp.first {
		return nil
	}
	w := &walk{pass: p, span: sp, given: map[string]bool{}, ordered: true}
	if err := w.all(ctx, service.ConversationQuery{}); err != nil {
		return err
	}
	p.orderly = w.ordered && (p.orderly || w.whole)
	if w.archived {
		return w.broken.first
	}
	// The list may leave out archived conversations; customers write there too.
	archived := true
	if err := w.all(ctx, service.ConversationQuery{Archived: &archived}); err != nil {
		return err
	}
	return w.broken.first
}

// A walk pages through a list of conversations that shifts while it is read.
type walk struct {
	*pass
	span
	given    map[string]bool
	broken   failures  // conversations that could not be read
	archived bool      // it lists archived ones
	ordered  bool      // so far, sorted by last change
	whole    bool      // it was read to its end
	last     time.Time // when the last conversation of the page before changed
}

// all reads the whole list, or as far as anything can be new. Then it reads the start once more,
// for the conversations that moved to the front meanwhile.
func (w *walk) all(ctx context.Context, q service.ConversationQuery) error {
	w.last = time.Time{}
	if err := w.pages(ctx, q, false); err != nil {
		return err
	}
	return w.pages(ctx, q, true)
}

// pages reads page after page; with again it stops at the first that has nothing new.
func (w *walk) pages(ctx context.Context, q service.ConversationQuery, again bool) error {
	q.Limit, q.Offset = pageSize, 0
	first, size, overlapped := "", 0, false // of the page before
	for n, moved := 0, 0; n < maxPages; n++ {
		page, err := w.client.ListConversations(ctx, q)
		if err != nil {
			return err
		}
		items := page.Items
		// The page starts with the last items of the one before, unless the list has shifted.
		if overlapped && len(items) > 0 && !w.given[items[0].ID] && moved < restarts {
			q.Offset, overlapped, first = 0, false, ""
			w.last = time.Time{}
			moved++
			continue
		}
		fresh, old, err := w.page(ctx, items, again)
		switch {
		case err != nil:
			return err
		case again && fresh == 0, !w.full && w.orderly && w.ordered && old:
			return nil
		case len(items) == 0, fresh == 0 && (len(items) <= overlap || items[0].ID == first && len(items) == size):
			w.whole = true
			return nil // the end; or only overlap; or a service that ignores the offset
		}
		first, size, overlapped = items[0].ID, len(items), len(items) > overlap
		q.Offset += len(items)
		if overlapped {
			q.Offset -= overlap
		}
	}
	return errors.New("the list of conversations does not end")
}

// page checks the conversations of a page that were not checked before. It returns their number,
// and whether all later ones are old, given a list sorted by last change. Pinned conversations come
// first whatever their age, so they do not count for that.
func (w *walk) page(ctx context.Context, items []service.Conversation, again bool) (fresh int, old bool, err error) {
	changes := false
	for i := range items {
		c := &items[i]
		changed := activity(c)
		w.archived = w.archived || c.Archived
		if !c.Pinned && !again && !w.given[c.ID] {
			w.ordered = w.ordered && !changed.IsZero() && (w.last.IsZero() || !changed.After(w.last))
			w.last = changed
		}
		stale := !changed.IsZero() && changed.Before(w.since)
		changes, old = changes || !stale, old || !c.Pinned
		if w.given[c.ID] {
			continue
		}
		w.given[c.ID] = true
		fresh++
		w.updateState(func(st *State) { st.Looked++ })
		if stale {
			continue
		}
		if err := w.scanCardsBetween(ctx); err != nil {
			return fresh, false, err
		}
		if err := w.messagesOf(ctx, w.span, c); !service.IsNotFound(err) && w.broken.addResult(err) {
			return fresh, false, err
		}
	}
	return fresh, old && !changes, nil
}

// activity is when a conversation last changed, if it shows that.
func activity(c *service.Conversation) time.Time {
	if c.LastMessage != nil && c.LastMessage.CreatedAt.After(c.UpdatedAt) {
		return c.LastMessage.CreatedAt
	}
	return c.UpdatedAt
}

// messagesOf finds messages of one conversation, newest first.
func (p *pass) messagesOf(ctx context.Context, sp span, c *service.Conversation) error {
	if private, err := p.private(ctx, c.ChannelID); err != nil || private {
		return err
	}
	var list []sighting
	for m, err := range p.client.Messages(ctx, c.ID, "") {
		if err != nil {
			return err
		}
		if m.CreatedAt.IsZero() {
			p.logOnce("message times", phrases.New(phrases.BackfillMessageTimes))
			return nil
		}
		if m.CreatedAt.Before(sp.since.Add(-disorder)) {
			break
		}
		typ := map[string]string{service.Inbound: vocabulary.MessageReceived, service.Outbound: vocabulary.MessageSent}[m.Direction]
		if typ == "" {
			p.logOnce("message sides", phrases.New(phrases.BackfillMessageSides))
			continue
		}
		if m.CreatedAt.Before(sp.since) || !slices.Contains(sp.types, typ) || !p.ripe(typ, m.CreatedAt) {
			continue
		}
		list = append(list, sighting{typ: typ, objects: service.Objects{service.KindMessage: m.Raw, service.KindConversation: c.Raw}, at: m.CreatedAt, exact: true})
	}
	return p.offer(ctx, list)
}
