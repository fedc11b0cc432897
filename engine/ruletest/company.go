package ruletest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/service/sandbox"
)

// A company is what the imitated service has, for finding what an id or a name stands for.
type company struct {
	names map[string]string           // by id
	lists map[string][]map[string]any // by part of the state
}

// readCompany reads the service's state.
func readCompany(s *sandbox.Sandbox) *company {
	c := &company{names: map[string]string{}, lists: map[string][]map[string]any{}}
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(s.State(), &parts) // the sandbox's own writing
	for _, part := range []string{"channels", "labels", "sectors", "people", "boards", "contacts", "conversations", "media", "messages", "attendances", "cards"} {
		var list []map[string]any
		_ = json.Unmarshal(parts[part], &list)
		c.lists[part] = list
		for _, item := range list {
			c.remember(item)
			stages, _ := item["stages"].([]any)
			for _, stage := range stages {
				fields, _ := stage.(map[string]any)
				c.remember(fields)
			}
		}
	}
	return c
}

func (c *company) remember(item map[string]any) {
	for _, field := range []string{"name", "title", "protocol", "text"} {
		if name, ok := item[field].(string); ok {
			c.names[text(item["id"])] = name
			return
		}
	}
}

// name returns the name that an id stands for, or else the id. Nil stays nil.
func (c *company) name(id any) any {
	if id == nil {
		return nil
	}
	if name, ok := c.names[text(id)]; ok {
		return name
	}
	return id
}

// named returns the names of a list of ids.
func (c *company) named(ids any) []any {
	list, _ := ids.([]any)
	out := make([]any, len(list))
	for i := range list {
		out[i] = c.name(list[i])
	}
	return out
}

// last returns the newest object of a part whose field has a value, or nil.
func (c *company) last(part, field string, value any) map[string]any {
	for i := len(c.lists[part]) - 1; i >= 0; i-- {
		if item := c.lists[part][i]; value != nil && item[field] == value {
			return item
		}
	}
	return nil
}

// contact returns the newest contact with a name, phone or id, or nil.
func (c *company) contact(name string) map[string]any {
	for _, item := range slices.Backward(c.lists["contacts"]) {
		if strings.EqualFold(text(item["name"]), name) || item["phone"] == name || item["id"] == name {
			return item
		}
	}
	return nil
}

// about returns what an event about a contact carries.
func (c *company) about(event, name string) (map[string]any, error) {
	contact := c.contact(name)
	if contact == nil {
		return nil, fmt.Errorf("there is no contact %q: list it in given", name)
	}
	conversation := c.last("conversations", "contact_id", contact["id"])
	data := map[string]any{"contact": contact}
	put := func(name string, item map[string]any) {
		if item != nil {
			data[name] = item
		}
	}
	put("conversation", conversation)
	switch kind, _, _ := strings.Cut(event, "."); kind {
	case "message":
		put("message", c.last("messages", "conversation_id", conversation["id"]))
	case "attendance":
		put("attendance", c.last("attendances", "conversation_id", conversation["id"]))
	case "kanban":
		card := c.last("cards", "contact_id", contact["id"])
		if card == nil {
			return nil, fmt.Errorf("%s has no card: list one in given", name)
		}
		data = map[string]any{"card": card}
	}
	return data, nil
}

// text returns a value as a text; nil is none.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
