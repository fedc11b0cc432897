package service

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var (
	opListCards = Operation{"GET", "/kanban/cards", "read"}
)

var cardOperations = []Operation{opListCards}

// CardResult is a card after a call that changed it.
type CardResult struct {
	Card
	// Replayed says that the key was used before with the same call, and that this is the stored
	// answer.
	Replayed bool
}

// GetCard reads one card with its version. If the service has no such call, it searches the list:
// if the profile says so, or after a 404 or 405 from a service that has never answered this call
// with a card.
func (c *Client) GetCard(ctx context.Context, id string) (Card, error) {
	o := c.profile.Cards.operation(c.profile.Cards.Get)
	if o.Path == "" || c.learned.noCardGet.Load() {
		return c.searchCard(ctx, id)
	}
	r, err := c.card(ctx, request{op: o, id: id})
	if err == nil {
		c.learned.cardGet.Store(true)
		return r.Card, nil
	}
	e, ok := errors.AsType[*Error](err)
	missing := ok && !e.Local && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
	if !missing || c.learned.cardGet.Load() {
		return Card{}, err
	}
	found, searchErr := c.searchCard(ctx, id)
	if searchErr != nil {
		return Card{}, err // the first error says more than a failed search
	}
	c.learned.noCardGet.Store(true)
	return found, nil
}

// searchCard searches for a card in the list of all boards, or board by board if the service
// requires a board.
func (c *Client) searchCard(ctx context.Context, id string) (Card, error) {
	card, found, err := c.searchBoard(ctx, id, "")
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusBadRequest && !e.Local {
		boards, err := c.ListBoards(ctx, false)
		if err != nil {
			return Card{}, err
		}
		for _, b := range boards {
			if card, found, err = c.searchBoard(ctx, id, b.ID); found || err != nil {
				return card, err
			}
		}
	} else if found || err != nil {
		return card, err
	}
	o := opListCards
	return Card{}, &Error{Op: o.String(), Status: http.StatusNotFound, Code: "not_found", Scope: o.Scope, Message: "no card with the id " + id + " is in the list"}
}

func (c *Client) searchBoard(ctx context.Context, id, board string) (Card, bool, error) {
	for card, err := range c.Cards(ctx, CardQuery{Board: board, Status: c.profile.Cards.SearchStatus}) {
		if err != nil || card.ID == id {
			return card, err == nil, err
		}
	}
	return Card{}, false, nil
}

// NewCard is a card to create. Its JSON is for storage; the profile names the fields that are sent.
type NewCard struct {
	BoardID        string     `json:"board_id,omitempty"`
	StageID        string     `json:"stage_id,omitempty"`
	Title          string     `json:"title,omitempty"`
	Description    string     `json:"description,omitempty"`
	Priority       string     `json:"priority,omitempty"`
	LabelIDs       []string   `json:"label_ids,omitempty"`
	DueDate        *time.Time `json:"due_date,omitempty"`
	ContactID      string     `json:"contact_id,omitempty"`
	ConversationID string     `json:"conversation_id,omitempty"`
	AttendanceID   string     `json:"attendance_id,omitempty"` // sent only if the profile names a field for it
}

// CreateCard creates a card. The key, 8 to 128 characters, makes a repeat harmless for 7 days: the
// same key and card return the first answer.
func (c *Client) CreateCard(ctx context.Context, key string, n NewCard) (CardResult, error) {
	o := c.profile.Cards.operation(c.profile.Cards.Create)
	if err := checkKey(o, key); err != nil {
		return CardResult{}, err
	}
	given := map[string]any{}
	for name, value := range map[string]string{
		"board_id": n.BoardID, "stage_id": n.StageID, "title": n.Title, "description": n.Description, "priority": n.Priority,
		"contact_id": n.ContactID, "conversation_id": n.ConversationID, "attendance_id": n.AttendanceID,
	} {
		if value != "" {
			given[name] = value
		}
	}
	if len(n.LabelIDs) > 0 {
		given["label_ids"], given["label_id"] = n.LabelIDs, n.LabelIDs[0]
	}
	if n.DueDate != nil {
		given["due_date"] = c.due(*n.DueDate)
	}
	r, err := c.card(ctx, request{op: o, body: c.cardBody(c.profile.Cards.Create, given, ""), key: postKey(o, key)})
	if err == nil && r.ID == "" {
		err = &Error{Op: o.String(), Status: 201, Scope: o.Scope, Uncertain: true, Message: "the answer carries no id under any name the profile knows (card.id)"}
	}
	return r, err
}

// MoveCard moves a card to another stage of its board. The version is the one the card was read
// with; the key works as in CreateCard.
func (c *Client) MoveCard(ctx context.Context, key, id, version, stage string) (CardResult, error) {
	p := &c.profile.Cards
	o := p.operation(p.Move)
	if err := checkKey(o, key); err != nil {
		return CardResult{}, err
	}
	body := c.cardBody(p.Move, map[string]any{"stage_id": stage}, version)
	return c.card(ctx, request{op: o, id: id, body: body, key: postKey(o, key), ifMatch: c.ifMatch(version)})
}

// CardPatch changes the fields that are set. LabelIDs replaces all labels. Its JSON is for storage.
type CardPatch struct {
	Title          Opt[string]    `json:"title,omitzero"`
	Description    Opt[string]    `json:"description,omitzero"`
	Priority       Opt[string]    `json:"priority,omitzero"`
	LabelIDs       Opt[[]string]  `json:"label_ids,omitzero"`
	DueDate        Opt[time.Time] `json:"due_date,omitzero"`
	ContactID      Opt[string]    `json:"contact_id,omitzero"`
	ConversationID Opt[string]    `json:"conversation_id,omitzero"`
}

// UpdateCard edits a card. On a version conflict read it again, apply the change again, and send
// the new version.
func (c *Client) UpdateCard(ctx context.Context, id, version string, patch CardPatch) (CardResult, error) {
	p := &c.profile.Cards
	given := map[string]any{}
	for name, value := range map[string]Opt[string]{
		"title": patch.Title, "description": patch.Description, "priority": patch.Priority, "contact_id": patch.ContactID, "conversation_id": patch.ConversationID,
	} {
		if !value.IsZero() {
			given[name] = value
		}
	}
	if !patch.LabelIDs.IsZero() {
		given["label_ids"], given["label_id"] = patch.LabelIDs, nil
		if ids, _ := patch.LabelIDs.Get(); len(ids) > 0 {
			given["label_id"] = ids[0]
		}
	}
	if !patch.DueDate.IsZero() {
		given["due_date"] = nil
		if t, ok := patch.DueDate.Get(); ok {
			given["due_date"] = c.due(t)
		}
	}
	return c.card(ctx, request{op: p.operation(p.Update), id: id, body: c.cardBody(p.Update, given, version), ifMatch: c.ifMatch(version)})
}

// card makes a call that returns a card, and reads its headers.
func (c *Client) card(ctx context.Context, r request) (CardResult, error) {
	card, out, err := one(ctx, c, r, "card", c.profile.Card.ID, DecodeCard)
	if err != nil {
		return CardResult{}, err
	}
	if tag := out.header.Get("ETag"); tag != "" {
		card.Version = version(tag)
		c.learned.bareETag.Store(!strings.HasSuffix(tag, `"`))
		c.learned.etag.Store(true)
	}
	replayed, _ := strconv.ParseBool(out.header.Get("Idempotency-Replayed"))
	return CardResult{Card: card, Replayed: replayed}, nil
}

// version returns an ETag without its quotes and weak prefix.
func version(tag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
}

func (c *Client) ifMatch(version string) string {
	p := &c.profile.Cards
	switch {
	case version == "" || p.VersionIn == "body":
		return ""
	case p.VersionIn == "both" && p.IfMatch == "auto" && !c.learned.etag.Load():
		// The first ETag shows how the service writes a version in a header, and a wrongly quoted version
		// would count as outdated. The body has it too.
		return ""
	case p.IfMatch == "bare" || p.IfMatch == "auto" && c.learned.bareETag.Load():
		return version
	}
	return `"` + version + `"`
}

// cardBody maps field names to those of the service.
func (c *Client) cardBody(o CardOperation, given map[string]any, version string) map[string]any {
	body := make(map[string]any, len(given)+1)
	for ours, theirs := range o.Body {
		if v, ok := given[ours]; ok && theirs != "" {
			body[theirs] = v
		}
	}
	if version != "" && c.profile.Cards.VersionIn != "header" {
		body["version"] = version
		if n, err := strconv.ParseInt(version, 10, 64); err == nil {
			body["version"] = n // a number, as in cards
		}
	}
	return body
}

func (c *Client) due(t time.Time) string {
	if c.profile.Cards.DueFormat == "date" {
		return t.Format(time.DateOnly)
	}
	return t.UTC().Format(time.RFC3339)
}

func checkKey(o Operation, key string) error {
	if len(key) < 8 || len(key) > 128 {
		return invalid(o, "the Idempotency-Key has %d characters; the service takes 8 to 128", len(key))
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid(o, "the Idempotency-Key must be printable ASCII without blanks")
	}
	return nil
}

// postKey returns no key if the profile uses another method than POST.
func postKey(o Operation, key string) string {
	if o.Method != http.MethodPost {
		return ""
	}
	return key
}
