package sandbox

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func cardChangeOperations() []*operation {
	return []*operation{
		keyed("POST /kanban/cards", "write", http.StatusCreated, (*Sandbox).createCard),
		change("PATCH /kanban/cards/{id}", "write", http.StatusOK, (*Sandbox).patchCard),
		keyed("POST /kanban/cards/{id}/move", "write", http.StatusOK, (*Sandbox).moveCard),
	}
}

// cardFields are the members of a card that a caller may set.
type cardFields struct {
	Title          field[string]   `json:"title"`
	Description    field[Optional] `json:"description"`
	Priority       field[string]   `json:"priority"`
	LabelIDs       field[IDs]      `json:"label_ids"`
	DueDate        field[Optional] `json:"due_date"`
	ContactID      field[ID]       `json:"contact_id"`
	ConversationID field[ID]       `json:"conversation_id"`
}

// check refuses values that a card cannot have.
func (in *cardFields) check(st *store.Store) error {
	if in.Title.Set && in.Title.Value == "" {
		return store.Invalid("title must not be empty")
	}
	if in.Priority.Set && !slices.Contains(priorities, in.Priority.Value) {
		return store.Invalid("priority is one of %s, not %q", strings.Join(priorities, ", "), in.Priority.Value)
	}
	if text := string(in.DueDate.Value); text != "" {
		_, noDate := time.Parse(time.DateOnly, text)
		_, noTime := time.Parse(time.RFC3339, text)
		if noDate != nil && noTime != nil {
			return store.Invalid("due_date is a date (YYYY-MM-DD) or a time (RFC 3339), not %q", text)
		}
	}
	if id := in.ContactID.Value; !id.IsZero() && st.Contacts[id] == nil {
		return store.Invalid("contact_id: there is no contact %v", id)
	}
	if id := in.ConversationID.Value; !id.IsZero() && st.Conversations[id] == nil {
		return store.Invalid("conversation_id: there is no conversation %v", id)
	}
	return checkLabels(st, in.LabelIDs)
}

// apply sets what was sent and returns the names of what changed.
func (in *cardFields) apply(card *Card) (changed []string) {
	set(&card.Title, in.Title, "title", &changed)
	set(&card.Description, in.Description, "description", &changed)
	set(&card.Priority, in.Priority, "priority", &changed)
	set(&card.DueDate, in.DueDate, "due_date", &changed)
	set(&card.ContactID, in.ContactID, "contact_id", &changed)
	set(&card.ConversationID, in.ConversationID, "conversation_id", &changed)
	if in.LabelIDs.Set && !slices.Equal(card.LabelIDs, in.LabelIDs.Value) {
		card.LabelIDs = in.LabelIDs.Value
		changed = append(changed, "label_ids")
	}
	return changed
}

// createCard adds a card to a board, in its first stage by default.
func (s *Sandbox) createCard(c *call) (any, error) {
	var in struct {
		BoardID field[ID] `json:"board_id"`
		StageID field[ID] `json:"stage_id"`
		cardFields
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	board := s.store.Board(in.BoardID.Value)
	switch {
	case in.BoardID.Value.IsZero():
		return nil, store.Invalid("board_id is required")
	case board == nil || !c.key.Sees(board.ID):
		return nil, store.NotFound("board", in.BoardID.Value)
	case !in.Title.Set:
		return nil, store.Invalid("title is required")
	case len(board.Stages) == 0:
		return nil, store.Conflict("the board %s has no stages", board.Name)
	}
	stage := board.Stages[0]
	if id := in.StageID.Value; !id.IsZero() {
		if stage = board.Stage(id); stage == nil {
			return nil, store.Invalid("stage_id: the board %s has no stage %v", board.Name, id)
		}
	}
	if err := in.check(s.store); err != nil {
		return nil, err
	}
	card := &Card{BoardID: board.ID, StageID: stage.ID}
	in.apply(card)
	s.addCard(card)
	s.effect(c, card.ID, "card", nil, encode(card), c.http.Header.Get("Idempotency-Key"))
	c.etag(card)
	return card, nil
}

// patchCard edits a card at the version the caller knows.
func (s *Sandbox) patchCard(c *call) (any, error) {
	card, err := s.card(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		Version field[int] `json:"version"`
		cardFields
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := c.checkVersion(card, in.Version); err != nil {
		return nil, err
	}
	if err := in.check(s.store); err != nil {
		return nil, err
	}
	edited := *card
	if changed := in.apply(&edited); len(changed) > 0 {
		was := encode(card)
		s.store.PutCard(card, func() {
			edited.Version++
			edited.UpdatedAt = s.now()
			*card = edited
		})
		s.effect(c, card.ID, "card", was, encode(card), "")
	}
	c.etag(card)
	return card, nil
}

// moveCard moves a card at the version the caller knows.
func (s *Sandbox) moveCard(c *call) (any, error) {
	card, err := s.card(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		StageID field[ID]  `json:"stage_id"`
		Version field[int] `json:"version"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := c.checkVersion(card, in.Version); err != nil {
		return nil, err
	}
	if in.StageID.Value.IsZero() {
		return nil, store.Invalid("stage_id is required")
	}
	board := s.store.Board(card.BoardID)
	stage := board.Stage(in.StageID.Value)
	if stage == nil {
		return nil, store.Invalid("stage_id: the board %s has no stage %v", board.Name, in.StageID.Value)
	}
	was := encode(card)
	before := card.Version
	s.move(card, board, stage, c.key.Actor())
	if card.Version != before {
		s.effect(c, card.ID, "card", was, encode(card), c.http.Header.Get("Idempotency-Key"))
	}
	c.etag(card)
	return card, nil
}
