package service

import (
	"context"
	"iter"
	"net/url"
	"time"
	"unicode/utf8"
)

// Board is a Kanban board.
type Board struct {
	ID       string
	Name     string
	Archived bool
	Stages   []Stage
	Raw      map[string]any
}

// Stage is a column of a board.
type Stage struct {
	ID       string
	Name     string
	Position int
	Winning  bool // a card that enters it is completed
}

// DecodeBoard reads a board through the profile.
func DecodeBoard(raw map[string]any, p *Profile) Board {
	f, n := fields(raw), &p.Board
	b := Board{ID: f.id(n.ID), Name: f.str(n.Name), Archived: f.flag(n.Archived), Raw: raw}
	for _, s := range f.objects(n.Stages) {
		b.Stages = append(b.Stages, Stage{ID: s.id(p.Stage.ID), Name: s.str(p.Stage.Name), Position: s.int(p.Stage.Position), Winning: s.flag(p.Stage.Winning)})
	}
	return b
}

// Card is a card on a board.
type Card struct {
	ID             string
	BoardID        string
	StageID        string
	Title          string
	Description    string
	Priority       string // low, medium, high or urgent
	LabelIDs       []string
	DueDate        *time.Time
	Version        string // goes with every edit and move; from the ETag, else from the card itself
	ContactID      string
	ConversationID string
	AttendanceID   string
	Status         string
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Raw            map[string]any
}

// DecodeCard reads a card through the profile.
func DecodeCard(raw map[string]any, p *Profile) Card {
	f, n := fields(raw), &p.Card
	c := Card{
		ID: f.id(n.ID), BoardID: f.id(n.BoardID), StageID: f.id(n.StageID), Title: f.str(n.Title), Description: f.str(n.Description),
		Priority: f.str(n.Priority), LabelIDs: f.ids(n.LabelIDs), DueDate: f.optTime(n.DueDate), Version: version(f.str(n.Version)),
		ContactID: f.id(n.ContactID), ConversationID: f.id(n.ConversationID), AttendanceID: f.id(n.AttendanceID), Status: f.str(n.Status),
		CreatedAt: f.time(n.CreatedAt), UpdatedAt: f.time(n.UpdatedAt), Raw: raw,
	}
	if len(c.LabelIDs) == 0 {
		if id := f.id(n.LabelID); id != "" {
			c.LabelIDs = []string{id}
		}
	}
	return c
}

// ListBoards lists the boards the key may see: those in use, or those archived.
func (c *Client) ListBoards(ctx context.Context, archived bool) ([]Board, error) {
	v := query{}
	if archived {
		v.set("archived", "1")
	}
	return all(ctx, c, request{op: table[opListBoards], query: url.Values(v)}, DecodeBoard)
}

// GetBoard reads one board.
func (c *Client) GetBoard(ctx context.Context, id string) (Board, error) {
	v, _, err := one(ctx, c, request{op: table[opGetBoard], id: id}, "board", c.profile.Board.ID, DecodeBoard)
	return v, err
}

// CardQuery filters cards. Zero values do not filter.
type CardQuery struct {
	Board    string
	Q        string // at most 100 characters
	Priority string // low, medium, high or urgent
	Label    string
	Due      string // any, today, week, overdue or none
	TZ       string // of Due; America/Sao_Paulo unless given
	Status   string // all, open, and what else the service knows
	Limit    int    // 1 to 100; the service's default is 30
	Cursor   string
}

const maxCardSearch = 100

// ListCards gives one page of cards.
func (c *Client) ListCards(ctx context.Context, q CardQuery) (Page[Card], error) {
	o := table[opListCards]
	if err := checkLimit(o, q.Limit); err != nil {
		return Page[Card]{}, err
	}
	if n := utf8.RuneCountInString(q.Q); n > maxCardSearch {
		return Page[Card]{}, invalid(o, "q has %d characters; the service takes at most %d", n, maxCardSearch)
	}
	v := query{}
	v.set("board_id", q.Board)
	v.num("limit", q.Limit)
	v.set("cursor", q.Cursor)
	v.set("q", q.Q)
	v.set("priority", q.Priority)
	v.set("label", q.Label)
	v.set("due", q.Due)
	v.set("tz", q.TZ)
	v.set("status", q.Status)
	return list(ctx, c, request{op: o, query: url.Values(v)}, DecodeCard)
}

// Cards walks all cards that fit, from q.Cursor on.
func (c *Client) Cards(ctx context.Context, q CardQuery) iter.Seq2[Card, error] {
	q.Limit = pageSize(q.Limit)
	return byCursor(table[opListCards], q.Cursor, func(c *Card) string { return c.ID }, func(cursor string) (Page[Card], error) {
		q.Cursor = cursor
		return c.ListCards(ctx, q)
	})
}
