package sandbox

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func attendanceOperations() []*operation {
	return []*operation{
		read("GET /attendances", "attendances:read", (*Sandbox).listAttendances),
		read("GET /attendances/{id}", "attendances:read", (*Sandbox).getAttendance),
		read("GET /conversations/{id}/attendance", "attendances:read", (*Sandbox).currentAttendance),
		change("POST /conversations/{id}/attendance/close", "attendances:write", http.StatusOK, (*Sandbox).closeAttendance),
	}
}

const (
	protocolPrefix   = "ATD"
	attendancesBoard = "Attendances" // the board named for attendances
	doneStage        = "Done"
)

// openAttendance opens an attendance, assigned to the conversation's responsible person, and adds
// its card to the board.
func (s *Sandbox) openAttendance(conv *Conversation, contact *Contact) *Attendance {
	s.store.LastProtocol++
	a := &Attendance{
		ID: s.ids.ID(), Protocol: fmt.Sprintf("%s-%06d", protocolPrefix, s.store.LastProtocol), Status: store.StatusOpen,
		ConversationID: conv.ID, AssigneeID: conv.AssigneeID, SectorID: conv.SectorID, OpenedAt: s.now(),
	}
	if contact != nil {
		a.ContactID = contact.ID
	}
	s.store.AttendancesByProtocol[s.store.LastProtocol] = a
	s.store.PutAttendance(a, nil)
	conv.Attendances = append(conv.Attendances, a)
	s.raiseAttendance(attendanceOpened, conv, a)
	if board := s.store.BoardNamed(attendancesBoard); board != nil && len(board.Stages) > 0 {
		a.Card = s.addCard(&Card{
			BoardID: board.ID, StageID: board.Stages[0].ID, Title: a.Protocol + " " + conv.Name,
			ContactID: a.ContactID, ConversationID: conv.ID, AttendanceID: a.ID,
		})
	}
	s.watchSilence(conv, a)
	return a
}

// firstResponse notes the first answer to an open attendance.
func (s *Sandbox) firstResponse(conv *Conversation) {
	if a := conv.Open(); a != nil && a.FirstResponseAt == 0 {
		a.FirstResponseAt = s.now()
	}
}

// finish closes an attendance and moves its card to Done.
func (s *Sandbox) finish(conv *Conversation, a *Attendance, reason string, by Actor) {
	s.store.PutAttendance(a, func() {
		a.Status, a.ClosedAt, a.CloseReason = store.StatusClosed, s.now(), Optional(reason)
	})
	s.raiseAttendance(attendanceClosed, conv, a)
	if a.Card == nil {
		return
	}
	board := s.store.Board(a.Card.BoardID)
	if done := board.StageNamed(doneStage); done != nil {
		s.move(a.Card, board, done, by)
	}
}

// watchSilence closes an attendance in which nothing was written for as long
// as the company's rules say.
func (s *Sandbox) watchSilence(conv *Conversation, a *Attendance) {
	minutes := s.store.Rules.AutoCloseAfterMinutes
	if minutes <= 0 {
		return
	}
	wait := time.Duration(minutes) * time.Minute
	last := a.OpenedAt
	if conv.LastMessage != nil {
		last = max(last, conv.LastMessage.CreatedAt)
	}
	s.agenda.add(last.Add(wait), func() {
		switch {
		case s.store.Attendances[a.ID] != a || a.Status != store.StatusOpen:
		case conv.LastMessage != nil && conv.LastMessage.CreatedAt.Add(wait) > s.now():
			s.watchSilence(conv, a)
		default:
			s.finish(conv, a, "closed automatically", Actor{Kind: store.BySystem})
		}
	})
	s.wake()
}

// listAttendances gives the ones opened last first.
func (s *Sandbox) listAttendances(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, cursor := q.limit(), q.cursor()
	status := q.oneOf("status", store.StatusOpen, store.StatusClosed)
	sector, bySector := q.id("sector")
	conversation, byConversation := q.id("conversation")
	var assignee ID
	byAssignee := q.text("assignee") == "none"
	if !byAssignee {
		assignee, byAssignee = q.id("assignee")
	}
	number := q.protocol()
	opened, until := q.moment("from", st.Zone()), q.moment("to", st.Zone())
	if q.err != nil {
		return nil, q.err
	}
	from := &st.AttendanceOrder
	if status == store.StatusOpen {
		from = store.Smallest(from, &st.OpenAttendances)
	}
	if bySector {
		from = store.Smallest(from, st.AttendancesBySector[sector])
	}
	if byAssignee {
		from = store.Smallest(from, st.AttendancesByAssignee[assignee])
	}
	if byConversation {
		from = ofConversation(st.Conversations[conversation])
	}
	if number > 0 {
		from = new(store.Ordered[Attendance])
		if a := st.AttendancesByProtocol[number]; a != nil {
			from.Put(a.Order, a)
		}
	}
	if cursor == 0 {
		cursor = math.MaxUint64
	}
	var page []*Attendance
	out := listOf(page)
	for a := range from.Before(cursor) {
		if status != "" && a.Status != status || bySector && a.SectorID != sector ||
			byAssignee && a.AssigneeID != assignee || byConversation && a.ConversationID != conversation ||
			opened != 0 && a.OpenedAt < opened || until != 0 && a.OpenedAt >= until {
			continue
		}
		if len(out.Data) == limit {
			out.NextCursor = cursorAt(out.Data[limit-1].Order)
			break
		}
		out.Data = append(out.Data, a)
	}
	return out, nil
}

func ofConversation(conv *Conversation) *store.Ordered[Attendance] {
	set := new(store.Ordered[Attendance])
	if conv != nil {
		for _, a := range conv.Attendances {
			set.Put(a.Order, a)
		}
	}
	return set
}

// protocol reads a protocol number with or without the prefix; 0 is none.
func (q *query) protocol() int {
	text := q.text("protocol")
	if text == "" {
		return 0
	}
	digits := text
	if prefix, rest, ok := strings.Cut(text, "-"); ok && strings.EqualFold(prefix, protocolPrefix) {
		digits = rest
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		q.fail("protocol is a number such as %s-000042 or 42, not %q", protocolPrefix, text)
	}
	return n
}

// getAttendance adds the contact and the responsible person.
func (s *Sandbox) getAttendance(c *call) (any, error) {
	a := s.store.Attendances[c.id]
	if a == nil {
		return nil, store.NotFound("attendance", c.id)
	}
	return struct {
		*Attendance
		Contact  *Contact `json:"contact"`
		Assignee *Person  `json:"assignee"`
	}{a, s.store.Contacts[a.ContactID], s.store.Person(a.AssigneeID)}, nil
}

// currentAttendance gives the open attendance, or null.
func (s *Sandbox) currentAttendance(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	return conv.Open(), nil
}

func (s *Sandbox) closeAttendance(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		Reason field[string] `json:"reason"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	a := conv.Open()
	if a == nil {
		return nil, store.Conflict("the conversation has no open attendance")
	}
	was := encode(a)
	s.finish(conv, a, in.Reason.Value, c.key.Actor())
	s.effect(c, a.ID, "attendance", was, encode(a), "")
	return a, nil
}
