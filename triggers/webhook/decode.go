package webhook

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// decode decodes an event. Names are case-sensitive: Go's decoder would accept ID for id, and use
// the last of two. So a name that comes twice is refused, also in another case.
func decode(body []byte) (rules.Event, error) {
	var e rules.Event
	var created string
	seen := make(map[string]bool, 8)
	err := plain.Members(body, func(m plain.Member) error {
		folded := strings.ToLower(m.Name)
		if seen[folded] {
			return fmt.Errorf("the member %q comes twice", m.Name)
		}
		seen[folded] = true
		switch m.Name {
		case "id":
			e.ID = plain.FoldUUID(m.Text()) // a repeat may have the other case
		case "type":
			e.Type = m.Text()
		case "created_at":
			created = m.Text()
		case "tenant_id":
			if e.Tenant = m.Text(); e.Tenant == "" && m.Value() != nil {
				e.Tenant = strings.Trim(m.Raw, `"`) // an identifier may be a number or a text
			}
		case "data":
			data, ok := m.Value().(map[string]any)
			if !ok && m.Value() != nil {
				return errors.New("data is not an object")
			}
			if data != nil {
				e.Data, e.Text = data, asRecorded(m.Raw)
			}
		}
		return nil
	})
	if err != nil {
		return e, fmt.Errorf("the body is not an event: %w", err)
	}
	for _, m := range [...]struct{ name, value string }{{"id", e.ID}, {"type", e.Type}, {"created_at", created}, {"tenant_id", e.Tenant}} {
		if m.value == "" && m.name != "tenant_id" {
			return e, fmt.Errorf("the event has no %s", m.name)
		}
		if len(m.value) > rules.MaxName {
			return e, fmt.Errorf("the event's %s is longer than %d bytes", m.name, rules.MaxName)
		}
	}
	if e.Data == nil {
		e.Data = map[string]any{}
	}
	var ok bool
	if e.CreatedAt, ok = service.ParseTime(created); !ok {
		return e, fmt.Errorf("created_at %q is not a time", created)
	}
	return e, nil
}

// asRecorded returns JSON that can be recorded unchanged; empty if it must be encoded anew.
// Recorded JSON is searched as text, so it must not contain escaped letters or invalid UTF-8.
func asRecorded(raw string) string {
	if strings.Contains(raw, `\u`) || !utf8.ValidString(raw) {
		return ""
	}
	return raw
}

// lane returns the lane of an event: of its conversation, else its card, else its attendance, else
// its message, else one of its own. Events of one lane are handled one after the other.
func lane(p *service.Profile, e rules.Event) string {
	if kind, id := p.EventPlace(e.Type, e.Data); id != "" {
		return rules.LaneOf(string(kind), id)
	}
	return rules.LaneOf("event", e.ID)
}
