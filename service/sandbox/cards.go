package sandbox

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func cardOperations() []*operation {
	return []*operation{
		read("GET /kanban/cards", "read", (*Sandbox).listCards),
		read("GET /kanban/cards/{id}", "read", (*Sandbox).getCard),
	}
}

var priorities = []string{"low", "medium", "high", "urgent"}

const maxSearch = 100 // characters of q

// card returns the card that the path names, if the key may see it.
func (s *Sandbox) card(c *call) (*Card, error) {
	card := s.store.Cards[c.id]
	if card == nil || s.store.Hidden(card) || !c.key.Sees(card.BoardID) {
		return nil, store.NotFound("card", c.id)
	}
	return card, nil
}

func (s *Sandbox) getCard(c *call) (any, error) {
	card, err := s.card(c)
	if err != nil {
		return nil, err
	}
	c.etag(card)
	return card, nil
}

// etag answers with the card's version.
func (c *call) etag(card *Card) { c.header.Set("Etag", strconv.Quote(strconv.Itoa(card.Version))) }

// listCards gives the newest cards first.
func (s *Sandbox) listCards(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, cursor := q.limit(), q.cursor()
	search := store.NewSearch(q.text("q"))
	if utf8.RuneCountInString(q.text("q")) > maxSearch {
		q.fail("q has at most %d characters", maxSearch)
	}
	board, byBoard := q.id("board_id")
	label, byLabel := q.id("label")
	priority := q.oneOf("priority", priorities...)
	status := q.oneOf("status", "all", store.StatusOpen, store.StatusCompleted)
	due := q.due(s.now())
	if q.err != nil {
		return nil, q.err
	}
	from := &st.CardOrder
	if byBoard {
		from = store.Smallest(from, st.CardsByBoard[board])
	}
	if byLabel {
		from = store.Smallest(from, st.CardsByLabel[label])
	}
	if cursor == 0 {
		cursor = math.MaxUint64
	}
	out := listOf([]*Card(nil))
	for card := range from.Before(cursor) {
		if byBoard && card.BoardID != board || byLabel && !slices.Contains(card.LabelIDs, label) ||
			priority != "" && card.Priority != priority || status != "" && status != "all" && card.Status != status ||
			!due(card) || !c.key.Sees(card.BoardID) || !search.Empty() && !st.CardMatches(card, search) || st.Hidden(card) {
			continue
		}
		if len(out.Data) == limit {
			out.NextCursor = cursorAt(out.Data[limit-1].Order)
			break
		}
		out.Data = append(out.Data, card)
	}
	return out, nil
}

// due reads the filter on the due date, and the zone whose days it means.
func (q *query) due(now Instant) func(*Card) bool {
	kind := q.oneOf("due", "any", "today", "week", "overdue", "none")
	name := q.text("tz")
	if name == "" {
		name = "America/Sao_Paulo"
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		q.fail("tz is a time zone such as America/Sao_Paulo, not %q", name)
		zone = time.UTC
	}
	if kind == "" || kind == "any" {
		return func(*Card) bool { return true }
	}
	today := now.Time().In(zone).Format(time.DateOnly)
	week := now.Time().In(zone).AddDate(0, 0, 6).Format(time.DateOnly)
	return func(card *Card) bool {
		day, moment := dueDay(string(card.DueDate), zone)
		switch kind {
		case "none":
			return day == ""
		case "today":
			return day == today
		case "week":
			return day != "" && day >= today && day <= week
		case "overdue":
			late := day < today || !moment.IsZero() && moment.Before(now.Time())
			return day != "" && late && card.Status == store.StatusOpen
		}
		return false
	}
}

// dueDay returns the day of a due date in the zone and, when it has a time of
// day, the moment.
func dueDay(text string, zone *time.Location) (day string, moment time.Time) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.In(zone).Format(time.DateOnly), t
	}
	return text, time.Time{}
}

// addCard adds a card to its board.
func (s *Sandbox) addCard(card *Card) *Card {
	card.ID, card.Version, card.Status = s.ids.ID(), 1, store.StatusOpen
	card.CreatedAt, card.UpdatedAt = s.now(), s.now()
	if card.Priority == "" {
		card.Priority = "medium"
	}
	won := s.store.Board(card.BoardID).Stage(card.StageID).Winning
	if won {
		card.Status = store.StatusCompleted
	}
	s.store.PutCard(card, nil)
	s.raiseCard(cardCreated, card, cardData{card})
	if won {
		s.raiseCard(cardCompleted, card, cardData{card})
	}
	return card
}

// move moves a card to another stage of its board. It does nothing if the card is there already.
func (s *Sandbox) move(card *Card, board *Board, to *Stage, by Actor) {
	from := card.StageID
	if from == to.ID {
		return
	}
	s.store.PutCard(card, func() {
		card.StageID, card.Status = to.ID, store.StatusOpen
		if to.Winning {
			card.Status = store.StatusCompleted
		}
		card.Version++
		card.UpdatedAt = s.now()
	})
	s.raiseCard(cardMoved, card, cardMoveData{card, from, to.ID, by})
	if was := board.Stage(from); to.Winning && (was == nil || !was.Winning) {
		s.raiseCard(cardCompleted, card, cardData{card})
	}
}

// checkVersion refuses a change without a version, or with an old one. If-Match takes precedence
// over the body.
func (c *call) checkVersion(card *Card, inBody field[int]) error {
	text := strings.Trim(strings.TrimPrefix(strings.TrimSpace(c.http.Header.Get("If-Match")), "W/"), `"`)
	version := inBody.Value
	switch {
	case text != "":
		n, err := strconv.Atoi(text)
		if err != nil {
			return store.Invalid("If-Match is the card's version, such as \"7\", not %q", text)
		}
		version = n
	case !inBody.Set || inBody.Null:
		return &Error{Status: http.StatusPreconditionRequired, Code: "version_required",
			Message: "send the card's version, as version in the body or in the header If-Match"}
	}
	if version != card.Version {
		return &Error{Status: http.StatusConflict, Code: "version_conflict",
			Message: "the card has changed: read it again and apply the change to version " + strconv.Itoa(card.Version)}
	}
	return nil
}
