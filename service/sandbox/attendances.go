package sandbox

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	protocolPrefix   = "ATD"
	attendancesBoard = "Attendances" // the board named for attendances
	doneStage        = "Done"
)

// openAttendance opens an attendance, which carries on with whoever is
// responsible for the conversation, and puts its card on the board.
func (s *Sandbox) openAttendance(conv *Conversation, contact *Contact) *Attendance {
	s.store.lastProtocol++
	a := &Attendance{
		ID: s.ids.id(), Protocol: fmt.Sprintf("%s-%06d", protocolPrefix, s.store.lastProtocol), Status: statusOpen,
		ConversationID: conv.ID, AssigneeID: conv.AssigneeID, SectorID: conv.SectorID, OpenedAt: s.now(),
	}
	if contact != nil {
		a.ContactID = contact.ID
	}
	s.store.protocols[s.store.lastProtocol] = a
	s.store.putAttendance(a, nil)
	conv.attendances = append(conv.attendances, a)
	s.raiseAttendance(attendanceOpened, conv, a)
	if board := s.store.boardNamed(attendancesBoard); board != nil && len(board.Stages) > 0 {
		a.card = s.addCard(&Card{
			BoardID: board.ID, StageID: board.Stages[0].ID, Title: a.Protocol + " " + conv.Name,
			ContactID: a.ContactID, ConversationID: conv.ID, AttendanceID: a.ID,
		})
	}
	s.watchSilence(conv, a)
	return a
}

// firstResponse notes the first answer to an open attendance.
func (s *Sandbox) firstResponse(conv *Conversation) {
	if a := conv.open(); a != nil && a.FirstResponseAt == 0 {
		a.FirstResponseAt = s.now()
	}
}

// finish closes an attendance and moves its card to Done.
func (s *Sandbox) finish(conv *Conversation, a *Attendance, reason string, by Actor) {
	s.store.putAttendance(a, func() {
		a.Status, a.ClosedAt, a.CloseReason = statusClosed, s.now(), Optional(reason)
	})
	s.raiseAttendance(attendanceClosed, conv, a)
	if a.card == nil {
		return
	}
	board := s.store.board(a.card.BoardID)
	if done := board.stageNamed(doneStage); done != nil {
		s.move(a.card, board, done, by)
	}
}

// watchSilence closes an attendance in which nothing was written for as long
// as the company's rules say.
func (s *Sandbox) watchSilence(conv *Conversation, a *Attendance) {
	minutes := s.store.rules.AutoCloseAfterMinutes
	if minutes <= 0 {
		return
	}
	wait := time.Duration(minutes) * time.Minute
	last := a.OpenedAt
	if conv.LastMessage != nil {
		last = max(last, conv.LastMessage.CreatedAt)
	}
	s.agenda.add(last.add(wait), func() {
		switch {
		case s.store.attendances[a.ID] != a || a.Status != statusOpen:
		case conv.LastMessage != nil && conv.LastMessage.CreatedAt.add(wait) > s.now():
			s.watchSilence(conv, a)
		default:
			s.finish(conv, a, "closed automatically", Actor{Kind: bySystem})
		}
	})
	s.wake()
}

// listAttendances gives the ones opened last first.
func (s *Sandbox) listAttendances(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, cursor := q.limit(), q.cursor()
	status := q.oneOf("status", statusOpen, statusClosed)
	sector, bySector := q.id("sector")
	conversation, byConversation := q.id("conversation")
	var assignee ID
	byAssignee := q.text("assignee") == "none"
	if !byAssignee {
		assignee, byAssignee = q.id("assignee")
	}
	number := q.protocol()
	opened, until := q.moment("from", st.zone()), q.moment("to", st.zone())
	if q.err != nil {
		return nil, q.err
	}
	from := &st.attOrder
	if status == statusOpen {
		from = smallest(from, &st.attOpen)
	}
	if bySector {
		from = smallest(from, st.attSector[sector])
	}
	if byAssignee {
		from = smallest(from, st.attAssignee[assignee])
	}
	if byConversation {
		from = ofConversation(st.conversations[conversation])
	}
	if number > 0 {
		from = new(ordered[Attendance])
		if a := st.protocols[number]; a != nil {
			from.put(a.order, a)
		}
	}
	if cursor == 0 {
		cursor = math.MaxUint64
	}
	var page []*Attendance
	out := listOf(page)
	for a := range from.before(cursor) {
		if status != "" && a.Status != status || bySector && a.SectorID != sector ||
			byAssignee && a.AssigneeID != assignee || byConversation && a.ConversationID != conversation ||
			opened != 0 && a.OpenedAt < opened || until != 0 && a.OpenedAt >= until {
			continue
		}
		if len(out.Data) == limit {
			out.NextCursor = cursorAt(out.Data[limit-1].order)
			break
		}
		out.Data = append(out.Data, a)
	}
	return out, nil
}

func ofConversation(conv *Conversation) *ordered[Attendance] {
	set := new(ordered[Attendance])
	if conv != nil {
		for _, a := range conv.attendances {
			set.put(a.order, a)
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
	a := s.store.attendances[c.id]
	if a == nil {
		return nil, notFound("attendance", c.id)
	}
	return struct {
		*Attendance
		Contact  *Contact `json:"contact"`
		Assignee *Person  `json:"assignee"`
	}{a, s.store.contacts[a.ContactID], s.store.person(a.AssigneeID)}, nil
}

// currentAttendance gives the open attendance, or null.
func (s *Sandbox) currentAttendance(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	return conv.open(), nil
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
	a := conv.open()
	if a == nil {
		return nil, conflict("the conversation has no open attendance")
	}
	was := encode(a)
	s.finish(conv, a, in.Reason.Value, c.key.actor())
	s.effect(c, a.ID, "attendance", was, encode(a), "")
	return a, nil
}
