package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// events tells what people wrote and what the service told. Sent are the lines of the messages that
// runs sent, and effects what runs changed: neither is told twice.
func (t *Teller) events(p Past, sent map[string]Line, effects []effect) (lines []Line) {
	own := map[string][]journal.Caused{}
	for _, c := range p.Caused {
		own[c.Object] = append(own[c.Object], c)
	}
	isOwn := func(typ, id, stage string) (c journal.Caused, ok bool) {
		list := own[engine.ObjectKey(id)]
		i := slices.IndexFunc(list, func(c journal.Caused) bool {
			return c.Event == typ && (stage == "" || engine.ObjectKey(c.Stage) == engine.ObjectKey(stage))
		})
		if i < 0 {
			return c, false
		}
		return list[i], true
	}
	var before *service.Conversation
	for _, e := range p.Events {
		line := Line{ID: eventID(e.Seq), At: e.CreatedAt, Icon: "activity", Tone: Over, Event: e.Seq, order: [2]int64{e.Seq, -1}}
		r := t.Profile.ReadEvent(e.Type, e.Data)
		if raw := r.Object(service.KindConversation); raw != nil {
			now := service.DecodeConversation(raw, t.Profile)
			if before != nil {
				lines = append(lines, t.changes(line, before, &now, effects)...)
			}
			before = &now
		}
		switch {
		case strings.HasPrefix(e.Type, "message."):
			m, ok := t.message(e)
			if !ok {
				continue
			}
			line = t.bubble(line, m)
			key := engine.ObjectKey(m.ID)
			if by, ok := sent[key]; ok {
				by.Text, by.Rest, by.Media, by.At = line.Text, line.Rest, line.Media, line.At
				line = by
			} else if c, ok := isOwn(e.Type, m.ID, ""); ok {
				line.Side, line.Who, line.Run = "engine", t.T("story.quando", t.Name(c.Rule)), c.Run
			}
		case e.Type == vocabulary.AttendanceOpened || e.Type == vocabulary.AttendanceClosed:
			a := service.DecodeAttendance(r.Object(service.KindAttendance), t.Profile)
			if _, ours := isOwn(e.Type, a.ID, ""); ours {
				continue
			}
			line.Icon, line.Head = "flag", t.T("story.opened", engine.Harmless(a.Protocol))
			if e.Type == vocabulary.AttendanceClosed {
				line.Head = t.T("story.shut", engine.Harmless(a.Protocol))
			}
		case strings.HasPrefix(e.Type, "kanban.card."):
			card := service.DecodeCard(r.Object(service.KindCard), t.Profile)
			move := t.Profile.EventCardMove(e.Data)
			stage := ""
			if e.Type == vocabulary.CardMoved {
				stage = cmp.Or(move.ToStageID, card.StageID)
			}
			if _, ours := isOwn(e.Type, card.ID, stage); ours || card.AttendanceID != "" {
				continue // the service has a card of its own for each attendance
			}
			line.Icon, line.Head = "layout", t.cardWords(e.Type, card, move)
		default:
			continue
		}
		if line.Head != "" || line.Side != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func (t *Teller) cardWords(typ string, card service.Card, move service.CardMove) string {
	code := "story.card_new"
	switch {
	case typ == vocabulary.CardCompleted:
		return t.T("story.card_done")
	case typ == vocabulary.CardMoved && t.person(move.By) != "":
		code = "story.card_by"
	case typ == vocabulary.CardMoved:
		code = "story.card_moved"
	}
	return t.fill(code, map[string]string{"board": t.Names(card.BoardID), "stage": t.Names(card.StageID), "who": t.person(move.By)})
}

// person names somebody of the team.
func (t *Teller) person(a service.Actor) string {
	if a.ID == "" {
		return engine.Harmless(a.Name)
	}
	return engine.Harmless(cmp.Or(a.Name, t.Names(a.ID)))
}

func (t *Teller) bubble(line Line, m service.Message) Line {
	line.Icon, line.Side, line.Media = "message", "out", m.MediaID != ""
	line.Who = cmp.Or(t.person(m.Sender), t.T("story.team"))
	if m.Direction == service.Inbound {
		line.Side, line.Who = "in", cmp.Or(engine.Harmless(m.Sender.Name), t.Customer)
	}
	line.Text, line.Rest = Parted(words.HarmlessLines(m.Text))
	return line
}

// changes tells what became of the conversation since the event before, but for what runs did.
func (t *Teller) changes(line Line, before, now *service.Conversation, effects []effect) (lines []Line) {
	add := func(icon, head string) {
		l := line
		l.ID, l.Icon, l.Head = fmt.Sprintf("%s.%d", line.ID, len(lines)), icon, head
		lines = append(lines, l)
	}
	made := func(kind string) bool {
		return slices.ContainsFunc(effects, func(e effect) bool {
			return e.kind == kind && !line.At.Before(e.from.Add(-ownWindow)) && !line.At.After(e.to.Add(ownWindow))
		})
	}
	if before.SectorID != now.SectorID && !made(place) {
		if now.SectorID == "" {
			add("arrow-right", t.T("story.no_sector"))
		} else if name := t.named(now.SectorID); name != "" {
			add("arrow-right", t.T("story.sector", name))
		}
	}
	if before.AssigneeID != now.AssigneeID && !made(place) {
		if now.AssigneeID == "" {
			add("user", t.T("story.unassigned"))
		} else if name := t.named(now.AssigneeID); name != "" {
			add("user", t.T("story.responsible", name))
		}
	}
	if made(labels) {
		return lines
	}
	for _, id := range now.LabelIDs {
		if name := t.named(id); name != "" && !slices.Contains(before.LabelIDs, id) {
			add("tag", t.T("story.labelled", name))
		}
	}
	for _, id := range before.LabelIDs {
		if name := t.named(id); name != "" && !slices.Contains(now.LabelIDs, id) {
			add("tag", t.T("story.unlabelled", name))
		}
	}
	return lines
}

// named returns the name of a thing of the service, or "".
func (t *Teller) named(id string) string { return engine.Harmless(t.Names(id)) }

// What is shown of a message at once.
const (
	partLines = 30
	partText  = 1200 // bytes
)

// Parted parts a long text into what is shown at once and the rest of it.
func Parted(lines []string) (shown, rest []string) {
	left := partText
	for i, l := range lines {
		if i == partLines || len(l) > left && i > 0 {
			return lines[:i], lines[i:]
		}
		if len(l) > left {
			cut := strings.ToValidUTF8(l[:left], "")
			return []string{cut}, append([]string{l[len(cut):]}, lines[1:]...)
		}
		left -= len(l)
	}
	return lines, nil
}

// trigger says what started a rule, as the cause in a sentence.
func (t *Teller) trigger(typ string) string {
	code := "story.because." + typ
	if !t.Knows(code) {
		return t.Or("event.", typ)
	}
	return t.fill(code, map[string]string{"who": t.Customer})
}

func (t *Teller) fill(code string, values map[string]string) string {
	return engine.Harmless(phrases.Fill(t.RulesLanguage(), phrases.Code(code), func(name string) string { return values[name] }))
}

// A Chip is one thing that is so at present.
type Chip struct {
	Icon, Text string
}

// Present returns what is so at present, as far as events tell.
func (t *Teller) Present(events []*journal.Event) (chips []Chip) {
	var conversation *service.Conversation
	var attendance *service.Attendance
	cards := map[string]service.Card{}
	var order []string
	for _, e := range events {
		r := t.Profile.ReadEvent(e.Type, e.Data)
		if raw := r.Object(service.KindConversation); raw != nil {
			c := service.DecodeConversation(raw, t.Profile)
			conversation = &c
		}
		if raw := r.Object(service.KindAttendance); raw != nil {
			a := service.DecodeAttendance(raw, t.Profile)
			attendance = &a
		}
		if raw := r.Object(service.KindCard); raw != nil {
			card := service.DecodeCard(raw, t.Profile)
			if _, known := cards[card.ID]; !known && card.AttendanceID == "" {
				order = append(order, card.ID)
			}
			cards[card.ID] = card
		}
	}
	add := func(icon, text string) {
		if text != "" {
			chips = append(chips, Chip{icon, text})
		}
	}
	if attendance != nil && attendance.Protocol != "" {
		state := "story.open"
		if attendance.Status == service.StatusClosed {
			state = "story.closed"
		}
		add("flag", t.T(state, engine.Harmless(attendance.Protocol)))
	}
	if conversation != nil {
		add("users", t.named(conversation.SectorID))
		add("user", t.named(conversation.AssigneeID))
		for _, id := range conversation.LabelIDs {
			add("tag", t.named(id))
		}
	}
	for _, id := range order {
		if stage := t.named(cards[id].StageID); stage != "" {
			add("layout", t.T("story.card", stage))
		}
	}
	return chips
}

// ownWindow is how far the clocks of the service and the engine may be apart, with the time that a
// call takes.
const ownWindow = time.Minute
