package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// fill gives an object an id when it has none.
func (l *loader) fill(id *ID) {
	if id.IsZero() {
		*id = l.s.ids.id()
	}
}

// stamp sets a time that is missing to now.
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

// again says what becomes of an object that is there already: when adding it
// is passed over, else the document has it twice.
func (l *loader) again(what any) error {
	if l.adding {
		return nil
	}
	return fmt.Errorf("%v is there twice", what)
}

func (l *loader) contact(v *Contact) error {
	if l.st.contacts[v.ID] != nil {
		return l.again(v.ID)
	}
	if v.Phone == "" { // a made-up one
		v.Phone = fmt.Sprintf("+551190%07d", len(l.st.contacts)+1)
	}
	if there := l.st.phones[phoneKey(v.Phone)]; there != nil {
		return l.again("the phone " + v.Phone)
	}
	l.fill(&v.ID)
	v.Name = or(v.Name, v.Phone)
	l.stamp(&v.CreatedAt, &v.UpdatedAt)
	l.st.putContact(v, nil)
	l.contacts.add(v.Name, v)
	return nil
}

func (l *loader) conversation(v *Conversation) error {
	if l.st.conversations[v.ID] != nil {
		return l.again(v.ID)
	}
	contact := l.st.contacts[v.ContactID]
	if v.Kind == "" {
		v.Kind = kindDirect
	}
	if v.Kind == kindDirect && contact == nil {
		return errors.New("a direct conversation needs a contact")
	}
	if v.ChannelID.IsZero() && len(l.st.channels) > 0 {
		v.ChannelID = l.st.channels[0].ID
	}
	if v.channel = l.st.channel(v.ChannelID); v.channel == nil {
		return errors.New("the channel is missing or unknown")
	}
	if v.Kind == kindDirect && l.st.direct[pair{v.ChannelID, v.ContactID}] != nil {
		return l.again("the conversation with " + contact.Name)
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
	l.st.putConversation(v, nil)
	l.conversations.add(v.Name, v)
	return nil
}

func (l *loader) media(v *mediaDoc) error {
	if v.Media == nil {
		v.Media = &Media{}
	}
	l.fill(&v.ID)
	v.content, v.Size = v.Content, len(v.Content)
	v.ContentType = or(v.ContentType, "application/octet-stream")
	l.stamp(&v.CreatedAt)
	l.st.media[v.ID] = v.Media
	return nil
}

func (l *loader) message(v *Message) error {
	if l.st.messages[v.ID] != nil {
		return l.again(v.ID)
	}
	conv := l.st.conversations[v.ConversationID]
	if conv == nil {
		return errors.New("the conversation is missing or unknown")
	}
	l.fill(&v.ID)
	l.stamp(&v.CreatedAt)
	v.Direction = or(v.Direction, inbound)
	if v.Sender.Kind == "" {
		v.Sender.Kind = byTeam
		if contact := l.st.contacts[conv.ContactID]; v.Direction == inbound && contact != nil {
			v.Sender = Actor{Kind: byCustomer, ID: contact.ID, Name: Optional(contact.Name)}
		}
	}
	l.st.putMessage(conv, v)
	// In a document the messages are in order and the conversation's own place
	// was read already, so it is not moved to the front.
	conv.LastMessage = &LastMessage{v.ID, v.Text, v.Direction, v.CreatedAt}
	return nil
}

func (l *loader) attendance(v *Attendance) error {
	if l.st.attendances[v.ID] != nil {
		return l.again(v.ID)
	}
	conv := l.st.conversations[v.ConversationID]
	if conv == nil {
		return errors.New("the conversation is missing or unknown")
	}
	l.fill(&v.ID)
	l.stamp(&v.OpenedAt)
	v.Status = or(v.Status, statusOpen)
	switch {
	case v.Status == statusClosed:
		l.stamp(&v.ClosedAt)
	case v.Status != statusOpen:
		return fmt.Errorf("status is open or closed, not %q", v.Status)
	case conv.open() != nil:
		return l.again("an open attendance of " + conv.Name)
	default: // an open one goes with its conversation
		v.AssigneeID, v.SectorID = conv.AssigneeID, conv.SectorID
	}
	if v.ContactID.IsZero() {
		v.ContactID = conv.ContactID
	}
	if v.Protocol == "" {
		v.Protocol = fmt.Sprintf("%s-%06d", protocolPrefix, l.st.lastProtocol+1)
	}
	number, err := strconv.Atoi(strings.TrimPrefix(v.Protocol, protocolPrefix+"-"))
	if err != nil || number < 1 || l.st.protocols[number] != nil {
		return fmt.Errorf("protocol %q is not a free number such as %s-000042", v.Protocol, protocolPrefix)
	}
	l.st.protocols[number] = v
	l.st.lastProtocol = max(l.st.lastProtocol, number)
	l.st.putAttendance(v, nil)
	conv.attendances = append(conv.attendances, v)
	l.opened = append(l.opened, v)
	if v.Status == statusOpen && l.st.rules.AutoCloseAfterMinutes > 0 {
		l.s.agenda.add(l.s.now(), func() { l.s.watchSilence(conv, v) }) // once this state is the sandbox's
	}
	return nil
}

func (l *loader) assignment(v *Assignment) error {
	conv := l.st.conversations[v.ConversationID]
	if conv == nil {
		return errors.New("the conversation is missing or unknown")
	}
	l.fill(&v.ID)
	l.stamp(&v.At)
	conv.assignments = append(conv.assignments, v)
	return nil
}

func (l *loader) card(v *cardDoc) error {
	if v.Card == nil {
		return errors.New("title is required")
	}
	if l.st.cards[v.ID] != nil {
		return l.again(v.ID)
	}
	board := l.st.board(v.BoardID)
	if board == nil || len(board.Stages) == 0 {
		return errors.New("the board is missing or unknown, or has no stages")
	}
	stage := board.Stages[0]
	if !v.StageID.IsZero() {
		if stage = board.stage(v.StageID); stage == nil {
			return fmt.Errorf("the board %s has no stage %v", board.Name, v.StageID)
		}
	}
	v.private = v.Private
	l.fillCard(v.Card, stage)
	l.st.putCard(v.Card, nil)
	if a := l.st.attendances[v.AttendanceID]; a != nil {
		a.card = v.Card
	}
	return nil
}

// fillCard completes what a card needs.
func (l *loader) fillCard(card *Card, stage *Stage) {
	l.fill(&card.ID)
	l.stamp(&card.CreatedAt, &card.UpdatedAt)
	card.StageID = stage.ID
	card.Status = statusOpen
	if stage.Winning {
		card.Status = statusCompleted
	}
	card.Priority = or(card.Priority, "medium")
	card.Version = max(card.Version, 1)
	if conv := l.st.conversations[card.ConversationID]; conv != nil && card.ContactID.IsZero() {
		card.ContactID = conv.ContactID
	}
	if contact := l.st.contacts[card.ContactID]; contact != nil {
		card.Title = or(card.Title, contact.Name)
	}
}

func (l *loader) webhook(v *webhookDoc) error {
	if v.Webhook == nil || v.URL == "" {
		return errors.New("url is required")
	}
	if l.st.webhook(v.ID) != nil {
		return l.again(v.ID)
	}
	if err := checkAddress(v.URL, l.s.options.AllowLoopback); err != nil {
		return err
	}
	l.fill(&v.ID)
	l.stamp(&v.CreatedAt, &v.UpdatedAt)
	v.secret, v.failures = v.Secret, v.Failures
	if v.secret == "" {
		v.secret = l.s.ids.token(secretPrefix)
	}
	l.st.webhooks = append(l.st.webhooks, v.Webhook)
	return nil
}

// delivery reads a delivery; one with attempts to come goes on where it was.
func (l *loader) delivery(v *deliveryDoc) error {
	if v.Delivery == nil {
		return errors.New("it is empty")
	}
	hook := l.st.webhook(v.WebhookID)
	if hook == nil {
		return errors.New("the webhook is missing or unknown")
	}
	d := v.Delivery
	d.hook, d.created, d.body = hook, v.CreatedAt, []byte(v.Body)
	hook.history = append(hook.history, d)
	if d.Status == pending || d.Status == retrying {
		l.s.retry(d, max(d.NextAttemptAt, d.At))
	}
	return nil
}

func (l *loader) reservation(v *reservationDoc) error {
	r := &reservation{key: reservationKey{v.KeyID, v.Key}, path: v.Path, digest: v.Digest, at: v.At}
	if v.Status != 0 {
		r.answer = &answer{status: v.Status, header: http.Header(v.Header), body: []byte(v.Body)}
	}
	l.st.putReservation(r)
	return nil
}

func (l *loader) fault(v *Fault) error {
	if err := v.check(); err != nil {
		return err
	}
	l.s.faults = append(l.s.faults, v)
	return nil
}
