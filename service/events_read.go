package service

import (
	"strings"

	"github.com/quandohq/quando/rules/vocabulary"
)

// An EventReader decodes the data of one event, and caches what it finds.
type EventReader struct {
	profile *Profile
	typ     string
	data    map[string]any

	self      Kind // the kind of the data itself
	selfKnown bool
	objects   [5]eventObject
}

// An eventObject is an object in an event's data, or nil.
type eventObject struct {
	raw    map[string]any
	looked bool
}

// ReadEvent returns a reader of an event's data.
func (p *Profile) ReadEvent(eventType string, data map[string]any) EventReader {
	return EventReader{profile: p, typ: eventType, data: data}
}

// Object finds the conversation, contact, message, attendance or card as delivered, or nil.
func (r *EventReader) Object(kind Kind) map[string]any {
	var o *eventObject
	switch kind {
	case KindConversation:
		o = &r.objects[0]
	case KindContact:
		o = &r.objects[1]
	case KindMessage:
		o = &r.objects[2]
	case KindAttendance:
		o = &r.objects[3]
	case KindCard:
		o = &r.objects[4]
	default:
		return nil
	}
	if !o.looked {
		o.raw, o.looked = r.find(kind), true
	}
	return o.raw
}

func (r *EventReader) find(kind Kind) map[string]any {
	objects, _ := r.profile.eventPaths(kind)
	if m, ok := first(r.data, objects, asObject); ok {
		return m
	}
	if r.selfKind() == kind && r.profile.isObject(kind, r.data) {
		return r.data
	}
	return nil
}

// ID finds the id of the conversation, contact, message, attendance or card that the event is
// about; it is empty if the data names none.
func (r *EventReader) ID(kind Kind) string {
	_, ids := r.profile.eventPaths(kind)
	if id, ok := first(r.data, ids, asID); ok {
		return id
	}
	if object := r.Object(kind); object != nil {
		if id := fields(object).id(r.profile.idPaths(kind)); id != "" {
			return id
		}
	}
	// The data may itself be an object that points to this one: a message has its conversation's id.
	links := r.profile.linkPaths(r.selfKind(), kind)
	if len(links) == 0 {
		return ""
	}
	return fields(r.Object(r.selfKind())).id(links)
}

// Link finds the id that the event's object of one kind gives of an object of another.
func (r *EventReader) Link(from, to Kind) string {
	object := r.Object(from)
	if object == nil {
		return ""
	}
	return fields(object).id(r.profile.linkPaths(from, to))
}

// Message decodes the message of a message event. If the message does not show its side, the
// event's type decides.
func (r *EventReader) Message() (Message, bool) {
	raw := r.Object(KindMessage)
	if raw == nil {
		return Message{}, false
	}
	m := DecodeMessage(raw, r.profile)
	if m.Direction == "" {
		if e := vocabulary.EventOf(r.typ); e != nil && len(e.By) > 0 {
			m.Direction = Outbound
			if e.By[0] == vocabulary.ByCustomer {
				m.Direction = Inbound
			}
		}
	}
	if m.ConversationID == "" {
		m.ConversationID = r.ID(KindConversation)
	}
	return m, true
}

// selfKind is the kind of object that an event of this type is about: the longest beginning in Self
// that fits.
func (r *EventReader) selfKind() Kind {
	if r.selfKnown {
		return r.self
	}
	r.selfKnown = true
	best := ""
	for prefix, k := range r.profile.Event.Self {
		if strings.HasPrefix(r.typ, prefix) && len(prefix) > len(best) {
			best, r.self = prefix, Kind(k)
		}
	}
	return r.self
}
