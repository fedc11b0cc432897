package sandbox

import (
	"bytes"
	"io"
	"maps"
	"slices"
)

type companyDoc struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
	// APIMessagesRespond has the API's messages count as a first response.
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
	Body      string  `json:"body"` // while there are attempts to come
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

// State returns the whole state as one JSON document, keys and secrets
// included. Its parts have the fields of the API and, where they need more, the
// sandbox's own.
func (s *Sandbox) State() []byte {
	var out bytes.Buffer
	if err := s.WriteState(&out); err != nil {
		panic(err) // what the sandbox keeps can be written, and memory does not fail
	}
	return out.Bytes()
}

// WriteState writes what State returns, item by item, because it can be large.
// Nothing changes meanwhile: a slow writer holds the sandbox up.
func (s *Sandbox) WriteState(to io.Writer) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.store
	w := newDocument(to)
	w.part("now", s.now())
	w.part("company", companyDoc{st.tenantID, st.tenantName, st.timezone, st.apiCounts})
	w.part("attendance_rules", st.rules)
	w.part("rate_limit", s.options.RateLimit)
	w.part("kanban_events", s.options.KanbanEvents)
	items(w, "channels", slices.Values(st.channels))
	items(w, "labels", slices.Values(st.labels))
	items(w, "sectors", mapped(slices.Values(st.sectors), st.sectorView))
	items(w, "people", slices.Values(st.people))
	items(w, "boards", slices.Values(st.boards))
	items(w, "keys", slices.Values(st.keys))
	items(w, "contacts", st.contactOrder.oldest())
	items(w, "conversations", st.convOrder.oldest())
	byID := func(a, b ID) int { return slices.Compare(a[:], b[:]) }
	items(w, "media", mapped(slices.Values(slices.SortedFunc(maps.Keys(st.media), byID)), func(id ID) mediaDoc {
		return mediaDoc{st.media[id], st.media[id].content}
	}))
	items(w, "messages", flat(st.convOrder.oldest(), func(c *Conversation) []*Message { return c.messages }))
	items(w, "attendances", st.attOrder.oldest())
	items(w, "assignments", flat(st.convOrder.oldest(), func(c *Conversation) []*Assignment { return c.assignments }))
	items(w, "cards", mapped(st.cardOrder.oldest(), func(c *Card) cardDoc { return cardDoc{c, c.private} }))
	items(w, "webhooks", mapped(slices.Values(st.webhooks), func(h *Webhook) webhookDoc {
		return webhookDoc{h, h.secret, h.failures}
	}))
	deliveries := flat(slices.Values(st.webhooks), func(h *Webhook) []*Delivery { return h.history })
	items(w, "deliveries", mapped(deliveries, func(d *Delivery) deliveryDoc {
		return deliveryDoc{d, d.hook.ID, d.created, string(d.body)}
	}))
	items(w, "reservations", mapped(slices.Values(st.reserved), (*reservation).document))
	items(w, "effects", slices.Values(st.effects))
	items(w, "faults", slices.Values(s.faults))
	return w.end()
}

func (r *reservation) document() reservationDoc {
	out := reservationDoc{KeyID: r.key.apiKey, Key: r.key.key, Path: r.path, Digest: r.digest, At: r.at}
	if r.answer != nil {
		out.Status, out.Header, out.Body = r.answer.status, r.answer.header, string(r.answer.body)
	}
	return out
}

// SetState replaces the whole state. The document is what State gives, or a
// part of it: ids and required fields are filled in, a part that is absent is
// the small company's or empty, and keys that are absent stay. Objects may be
// named instead of giving their ids, and "channel", "contact", "assignee",
// "sector", "board", "stage", "labels" and the like may be written for
// "channel_id" and so on. No events are raised.
func (s *Sandbox) SetState(doc []byte) error { return s.load(doc, true) }

// AddState adds what the document holds to what is there. An object that is
// there already, by id or, where names are unique, by name, stays as it is;
// a board gains the stages it lacks. No events are raised. What was read before
// an error stays.
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
