package service

import (
	"context"
	"iter"
	"net/url"
	"time"
	"unicode/utf8"
)

var (
	opListBoards = Operation{"GET", "/kanban/boards", "read"}
	opGetBoard   = Operation{"GET", "/kanban/boards/{id}", "read"}
)

var kanbanOperations = []Operation{opListBoards, opGetBoard}

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
	Version        string // required by every edit and move; from the ETag, else from the card itself
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
	return all(ctx, c, request{op: opListBoards, query: url.Values(v)}, DecodeBoard)
}

// GetBoard reads one board.
func (c *Client) GetBoard(ctx context.Context, id string) (Board, error) {
	v, _, err := one(ctx, c, request{op: opGetBoard, id: id}, "board", c.profile.Board.ID, DecodeBoard)
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
	o := opListCards
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

// Cards iterates over all matching cards, from q.Cursor on.
func (c *Client) Cards(ctx context.Context, q CardQuery) iter.Seq2[Card, error] {
	q.Limit = pageSize(q.Limit)
	return byCursor(opListCards, q.Cursor, func(c *Card) string { return c.ID }, func(cursor string) (Page[Card], error) {
		q.Cursor = cursor
		return c.ListCards(ctx, q)
	})
}

// CardFields names the fields of a card.
type CardFields struct {
	ID             Paths `json:"id"`
	BoardID        Paths `json:"board_id"`
	StageID        Paths `json:"stage_id"`
	Title          Paths `json:"title"`
	Description    Paths `json:"description"`
	Priority       Paths `json:"priority"`
	LabelIDs       Paths `json:"label_ids"`
	LabelID        Paths `json:"label_id"`
	DueDate        Paths `json:"due_date"`
	Version        Paths `json:"version"`
	ContactID      Paths `json:"contact_id"`
	ConversationID Paths `json:"conversation_id"`
	AttendanceID   Paths `json:"attendance_id"`
	Status         Paths `json:"status"`
	CreatedAt      Paths `json:"created_at"`
	UpdatedAt      Paths `json:"updated_at"`
}

func defaultCardFields() CardFields {
	return CardFields{
		ID:             Paths{"id", "card_id", "uuid"},
		BoardID:        Paths{"board_id", "board.id", "board"},
		StageID:        Paths{"stage_id", "stage.id", "stage", "column_id", "column.id", "list_id"},
		Title:          Paths{"title", "name", "subject"},
		Description:    Paths{"description", "details", "notes", "body"},
		Priority:       Paths{"priority", "priority.name"},
		LabelIDs:       Paths{"label_ids", "labels", "tag_ids", "tags"},
		LabelID:        Paths{"label_id", "label.id", "label"},
		DueDate:        Paths{"due_date", "due_at", "due", "dueDate", "deadline"},
		Version:        Paths{"version", "etag", "lock_version", "revision"},
		ContactID:      Paths{"contact_id", "contact.id", "contact", "customer_id", "customer.id", "customer"},
		ConversationID: Paths{"conversation_id", "conversation.id", "conversation", "chat_id", "chat.id", "chat"},
		AttendanceID:   Paths{"attendance_id", "attendance.id", "attendance"},
		Status:         Paths{"status", "state"},
		CreatedAt:      Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt:      Paths{"updated_at", "updatedAt", "updated", "modified_at"},
	}
}

// whole reports whether an object has every field that rules can use.
func (n *CardFields) whole(f fields) bool {
	return hasAll(f, asID, notNull, n.BoardID, n.StageID) && hasAll(f, asText, orNull, n.Title, n.Description, n.Priority) &&
		(hasAll(f, asEveryID, orNull, n.LabelIDs) || hasAll(f, asID, orNull, n.LabelID)) && hasAll(f, asTime, orNull, n.DueDate) &&
		hasAll(f, asID, orNull, n.ContactID, n.ConversationID, n.AttendanceID)
}
