package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

const maxName = 200 // of an id or a type

// decode reads an event. Names are taken exactly: Go's decoder would let ID stand for id, and the last of two win.
func decode(body []byte) (rules.Event, error) {
	members, err := exactMembers(body)
	if err != nil {
		return rules.Event{}, err
	}
	var e rules.Event
	if e.ID, err = text(members, "id"); err != nil {
		return e, err
	}
	if e.Type, err = text(members, "type"); err != nil {
		return e, err
	}
	created, err := text(members, "created_at")
	if err != nil {
		return e, err
	}
	var ok bool
	if e.CreatedAt, ok = service.ParseTime(created); !ok {
		return e, fmt.Errorf("created_at %q is not a time", created)
	}
	e.Data = map[string]any{}
	if data, ok := members["data"]; ok {
		if err := json.Unmarshal(data, &e.Data); err != nil {
			return e, errors.New("data is not an object")
		}
	}
	if e.Data == nil { // it was null
		e.Data = map[string]any{}
	}
	if tenant, ok := members["tenant_id"]; ok {
		// A number is as good an identifier as a text.
		e.Tenant = strings.Trim(string(tenant), `"`)
	}
	return e, nil
}

// exactMembers reads the members of a JSON object, and refuses a name that comes twice, also in another case.
func exactMembers(body []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the body is not a JSON object")
	}
	members := make(map[string]json.RawMessage, 8)
	folded := make(map[string]bool, 8)
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the body is not JSON: %w", err)
		}
		name, _ := t.(string)
		if folded[strings.ToLower(name)] {
			return nil, fmt.Errorf("the member %q comes twice", name)
		}
		folded[strings.ToLower(name)] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("the body is not JSON: %w", err)
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return members, nil
}

func text(members map[string]json.RawMessage, name string) (string, error) {
	var s string
	if err := json.Unmarshal(members[name], &s); err != nil || s == "" || len(s) > maxName {
		return "", fmt.Errorf("the event has no %s", name)
	}
	return s, nil
}

// lane names what an event concerns: its conversation, else its card, else its attendance, else the event alone. Events of one lane are
// handled one after the other.
func lane(p *service.Profile, e rules.Event) string {
	if kind, id := p.EventPlace(e.Type, e.Data); id != "" {
		return rules.LaneOf(string(kind), id)
	}
	return rules.LaneOf("event", e.ID)
}
