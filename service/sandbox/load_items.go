package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// fill gives an object an id when it has none.
func (l *loader) fill(id *ID) {
	if id.IsZero() {
		*id = l.s.ids.ID()
	}
}

// stamp sets missing times to now.
func (l *loader) stamp(times ...*Instant) {
	for _, t := range times {
		if *t == 0 {
			*t = l.s.now()
		}
	}
}

// or returns the first text that is not empty.
func or(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

var errNoName = errors.New("name is required")

// duplicate handles an object that exists already: adding skips it, else it is an error in the
// document.
func (l *loader) duplicate(what any) error {
	if l.adding {
		return nil
	}
	return fmt.Errorf("%v is there twice", what)
}

func (l *loader) contact(v *Contact) error {
	if l.st.Contacts[v.ID] != nil {
		return l.duplicate(v.ID)
	}
	if v.Phone == "" { // a made-up one
		v.Phone = fmt.Sprintf("+551190%07d", len(l.st.Contacts)+1)
	}
	if there := l.st.ContactsByPhone[store.PhoneKey(v.Phone)]; there != nil {
		return l.duplicate("the phone " + v.Phone)
	}
	l.fill(&v.ID)
	v.Name = or(v.Name, v.Phone)
	l.stamp(&v.CreatedAt, &v.UpdatedAt)
	l.st.PutContact(v, nil)
	l.contacts.add(v.Name, v)
	return nil
}

func (l *loader) conversation(v *Conversation) error {
	if l.st.Conversations[v.ID] != nil {
		return l.duplicate(v.ID)
	}
	contact := l.st.Contacts[v.ContactID]
	if v.Kind == "" {
		v.Kind = store.KindDirect
	}
	if v.Kind == store.KindDirect && contact == nil {
		return errors.New("a direct conversation needs a contact")
	}
	if v.ChannelID.IsZero() && len(l.st.Channels) > 0 {
		v.ChannelID = l.st.Channels[0].ID
	}
	if v.Channel = l.st.Channel(v.ChannelID); v.Channel == nil {
		return errors.New("the channel is missing or unknown")
	}
	if v.Kind == store.KindDirect && l.st.Direct[store.DirectKey{Channel: v.ChannelID, Contact: v.ContactID}] != nil {
		return l.duplicate("the conversation with " + contact.Name)
	}
	l.fill(&v.ID)
	if contact != nil {
		v.Name = or(v.Name, contact.Name)
		v.Phone = Optional(or(string(v.Phone), contact.Phone))
	}
	if v.Unread && v.UnreadCount == 0 {
		v.UnreadCount = 1
	}
	l.stamp(&v.CreatedAt, &v.UpdatedAt)
	l.st.PutConversation(v, nil)
	l.conversations.add(v.Name, v)
	return nil
}

func (l *loader) media(v *mediaDoc) error {
	if v.Media == nil {
		v.Media = &Media{}
	}
	l.fill(&v.ID)
	v.Media.Content, v.Size = v.Content, len(v.Content)
	v.ContentType = or(v.ContentType, "application/octet-stream")
	l.stamp(&v.CreatedAt)
	l.st.Media[v.ID] = v.Media
	return nil
}

func (l *loader) message(v *Message) error {
	if l.st.Messages[v.ID] != nil {
		return l.duplicate(v.ID)
	}
	conv := l.st.Conversations[v.ConversationID]
	if conv == nil {
		return errors.New("the conversation is missing or unknown")
	}
	l.fill(&v.ID)
	l.stamp(&v.CreatedAt)
	v.Direction = or(v.Direction, store.Inbound)
	if v.Sender.Kind == "" {
		v.Sender.Kind = store.ByTeam
		if contact := l.st.Contacts[conv.ContactID]; v.Direction == store.Inbound && contact != nil {
			v.Sender = Actor{Kind: store.ByCustomer, ID: contact.ID, Name: Optional(contact.Name)}
		}
	}
	l.st.PutMessage(conv, v)
	// In a document the messages are in order and the conversation's position was read already, so it
	// does not move to the front.
	conv.LastMessage = &LastMessage{ID: v.ID, Text: v.Text, Direction: v.Direction, CreatedAt: v.CreatedAt}
	return nil
}

func (l *loader) attendance(v *Attendance) error {
	if l.st.Attendances[v.ID] != nil {
		return l.duplicate(v.ID)
	}
	conv := l.st.Conversations[v.ConversationID]
	if conv == nil {
		return errors.New("the conversation is missing or unknown")
	}
	l.fill(&v.ID)
	l.stamp(&v.OpenedAt)
	v.Status = or(v.Status, store.StatusOpen)
	switch {
	case v.Status == store.StatusClosed:
		l.stamp(&v.ClosedAt)
	case v.Status != store.StatusOpen:
		return fmt.Errorf("status is open or closed, not %q", v.Status)
	case conv.Open() != nil:
		return l.duplicate("an open attendance of " + conv.Name)
	default: // an open one is assigned with its conversation
		v.AssigneeID, v.SectorID = conv.AssigneeID, conv.SectorID
	}
	if v.ContactID.IsZero() {
		v.ContactID = conv.ContactID
	}
	if v.Protocol == "" {
		v.Protocol = fmt.Sprintf("%s-%06d", protocolPrefix, l.st.LastProtocol+1)
	}
	number, err := strconv.Atoi(strings.TrimPrefix(v.Protocol, protocolPrefix+"-"))
	if err != nil || number < 1 || l.st.AttendancesByProtocol[number] != nil {
		return fmt.Errorf("protocol %q is not a free number such as %s-000042", v.Protocol, protocolPrefix)
	}
	l.st.AttendancesByProtocol[number] = v
	l.st.LastProtocol = max(l.st.LastProtocol, number)
	l.st.PutAttendance(v, nil)
	conv.Attendances = append(conv.Attendances, v)
	l.opened = append(l.opened, v)
	if v.Status == store.StatusOpen && l.st.Rules.AutoCloseAfterMinutes > 0 {
		l.s.agenda.add(l.s.now(), func() { l.s.watchSilence(conv, v) }) // after this state is installed
	}
	return nil
}

func (l *loader) assignment(v *Assignment) error {
	conv := l.st.Conversations[v.ConversationID]
	if conv == nil {
		return errors.New("the conversation is missing or unknown")
	}
	l.fill(&v.ID)
	l.stamp(&v.At)
	conv.Assignments = append(conv.Assignments, v)
	return nil
}

func (l *loader) card(v *cardDoc) error {
	if v.Card == nil {
		return errors.New("title is required")
	}
	if l.st.Cards[v.ID] != nil {
		return l.duplicate(v.ID)
	}
	board := l.st.Board(v.BoardID)
	if board == nil || len(board.Stages) == 0 {
		return errors.New("the board is missing or unknown, or has no stages")
	}
	stage := board.Stages[0]
	if !v.StageID.IsZero() {
		if stage = board.Stage(v.StageID); stage == nil {
			return fmt.Errorf("the board %s has no stage %v", board.Name, v.StageID)
		}
	}
	v.Card.Private = v.Private
	l.fillCard(v.Card, stage)
	l.st.PutCard(v.Card, nil)
	if a := l.st.Attendances[v.AttendanceID]; a != nil {
		a.Card = v.Card
	}
	return nil
}

// fillCard completes what a card needs.
func (l *loader) fillCard(card *Card, stage *Stage) {
	l.fill(&card.ID)
	l.stamp(&card.CreatedAt, &card.UpdatedAt)
	card.StageID = stage.ID
	card.Status = store.StatusOpen
	if stage.Winning {
		card.Status = store.StatusCompleted
	}
	card.Priority = or(card.Priority, "medium")
	card.Version = max(card.Version, 1)
	if conv := l.st.Conversations[card.ConversationID]; conv != nil && card.ContactID.IsZero() {
		card.ContactID = conv.ContactID
	}
	if contact := l.st.Contacts[card.ContactID]; contact != nil {
		card.Title = or(card.Title, contact.Name)
	}
}

func (l *loader) webhook(v *webhookDoc) error {
	if v.Webhook == nil || v.URL == "" {
		return errors.New("url is required")
	}
	if l.st.Webhook(v.ID) != nil {
		return l.duplicate(v.ID)
	}
	if err := checkAddress(v.URL, l.s.options.AllowLoopback); err != nil {
		return err
	}
	l.fill(&v.ID)
	l.stamp(&v.CreatedAt, &v.UpdatedAt)
	v.Webhook.Secret, v.Webhook.Failures = v.Secret, v.Failures
	if v.Secret == "" {
		v.Webhook.Secret = l.s.ids.Token(secretPrefix)
	}
	l.st.Webhooks = append(l.st.Webhooks, v.Webhook)
	return nil
}

// delivery reads a delivery; one with attempts left continues.
func (l *loader) delivery(v *deliveryDoc) error {
	if v.Delivery == nil {
		return errors.New("it is empty")
	}
	hook := l.st.Webhook(v.WebhookID)
	if hook == nil {
		return errors.New("the webhook is missing or unknown")
	}
	d := v.Delivery
	d.Webhook, d.Created, d.Body = hook, v.CreatedAt, []byte(v.Body)
	hook.Deliveries = append(hook.Deliveries, d)
	if d.Status == pending || d.Status == retrying {
		l.s.retry(d, max(d.NextAttemptAt, d.At))
	}
	return nil
}

func (l *loader) reservation(v *reservationDoc) error {
	r := &store.Reservation{Key: store.ReservationKey{APIKey: v.KeyID, Key: v.Key}, Path: v.Path, Digest: v.Digest, At: v.At}
	if v.Status != 0 {
		r.Answer = &store.Answer{Status: v.Status, Header: http.Header(v.Header), Body: []byte(v.Body)}
	}
	l.st.PutReservation(r)
	return nil
}

func (l *loader) fault(v *Fault) error {
	if err := v.check(); err != nil {
		return err
	}
	l.s.faults = append(l.s.faults, v)
	return nil
}
