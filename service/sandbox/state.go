package sandbox

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

type companyDoc struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
	// APIMessagesRespond makes the API's messages count as a first response.
	APIMessagesRespond bool `json:"api_messages_respond"`
}

type mediaDoc struct {
	*Media
	Content []byte `json:"content"`
}

type cardDoc struct {
	*Card
	Private bool `json:"private"`
}

type webhookDoc struct {
	*Webhook
	Secret   string `json:"secret"`
	Failures int    `json:"failures"` // deliveries in a row that failed for good
}

type deliveryDoc struct {
	*Delivery
	WebhookID ID      `json:"webhook_id"`
	CreatedAt Instant `json:"created_at"`
	Body      string  `json:"body"` // while attempts are left
}

type reservationDoc struct {
	KeyID  ID                  `json:"key_id"`
	Key    string              `json:"key"`
	Path   string              `json:"path"`
	Digest string              `json:"digest"`
	At     Instant             `json:"at"`
	Status int                 `json:"status"` // 0 while pending
	Header map[string][]string `json:"header"`
	Body   string              `json:"body"`
}

// State returns the whole state as one JSON document, keys and secrets included. Its parts have the
// fields of the API and some of the sandbox's own.
func (s *Sandbox) State() []byte {
	var out bytes.Buffer
	if err := s.WriteState(&out); err != nil {
		panic(err) // the sandbox's state can always be encoded, and memory does not fail
	}
	return out.Bytes()
}

// WriteState writes what State returns, item by item, because it can be large. It holds the lock: a
// slow writer blocks the sandbox.
func (s *Sandbox) WriteState(to io.Writer) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.store
	w := newDocument(to)
	w.part("now", s.now())
	w.part("company", companyDoc{st.TenantID, st.TenantName, st.Timezone, st.APIMessagesRespond})
	w.part("attendance_rules", st.Rules)
	w.part("rate_limit", s.options.RateLimit)
	w.part("kanban_events", s.options.KanbanEvents)
	items(w, "channels", slices.Values(st.Channels))
	items(w, "labels", slices.Values(st.Labels))
	items(w, "sectors", mapped(slices.Values(st.Sectors), st.SectorView))
	items(w, "people", slices.Values(st.People))
	items(w, "boards", slices.Values(st.Boards))
	items(w, "keys", slices.Values(st.Keys))
	items(w, "contacts", st.ContactOrder.Oldest())
	items(w, "conversations", st.ConversationOrder.Oldest())
	byID := func(a, b ID) int { return slices.Compare(a[:], b[:]) }
	items(w, "media", mapped(slices.Values(slices.SortedFunc(maps.Keys(st.Media), byID)), func(id ID) mediaDoc {
		return mediaDoc{st.Media[id], st.Media[id].Content}
	}))
	items(w, "messages", flat(st.ConversationOrder.Oldest(), func(c *Conversation) []*Message { return c.Messages }))
	items(w, "attendances", st.AttendanceOrder.Oldest())
	items(w, "assignments", flat(st.ConversationOrder.Oldest(), func(c *Conversation) []*Assignment { return c.Assignments }))
	items(w, "cards", mapped(st.CardOrder.Oldest(), func(c *Card) cardDoc { return cardDoc{c, c.Private} }))
	items(w, "webhooks", mapped(slices.Values(st.Webhooks), func(h *Webhook) webhookDoc {
		return webhookDoc{h, h.Secret, h.Failures}
	}))
	deliveries := flat(slices.Values(st.Webhooks), func(h *Webhook) []*Delivery { return h.Deliveries })
	items(w, "deliveries", mapped(deliveries, func(d *Delivery) deliveryDoc {
		return deliveryDoc{d, d.Webhook.ID, d.Created, string(d.Body)}
	}))
	items(w, "reservations", mapped(slices.Values(st.Reserved), documentOf))
	items(w, "effects", slices.Values(st.Effects))
	items(w, "faults", slices.Values(s.faults))
	return w.end()
}

func documentOf(r *store.Reservation) reservationDoc {
	out := reservationDoc{KeyID: r.Key.APIKey, Key: r.Key.Key, Path: r.Path, Digest: r.Digest, At: r.At}
	if r.Answer != nil {
		out.Status, out.Header, out.Body = r.Answer.Status, r.Answer.Header, string(r.Answer.Body)
	}
	return out
}

// SetState replaces the whole state. The document is what State returns, or a part of it: ids and
// required fields are filled in, an absent part is the default company's or empty, and absent keys
// stay. Objects may be given by name instead of id, and "channel", "contact", "assignee", "sector",
// "board", "stage", "labels" and the like may be written for "channel_id" and so on. It raises no
// events.
func (s *Sandbox) SetState(doc []byte) error { return s.load(doc, true) }

// AddState adds the document's objects to the state. An object that exists already, by id or, where
// names are unique, by name, stays as it is; a board gains the stages it lacks. It raises no
// events. What was read before an error stays.
func (s *Sandbox) AddState(doc []byte) error {
	parts, err := splitDocument(doc)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &loader{s: s, st: s.store, adding: true}
	return l.load(parts)
}
