package console

import (
	"strings"

	"github.com/quandohq/quando/rules"
)

// A message is one that an event tells of.
type message struct {
	ID, Text string
	Media    bool
	Inbound  bool
	Sender   string // the name of who wrote it, where the event tells
}

// messageOf reads the message of an event, by the usual names: what the event holds is only shown here, nothing is decided by it.
func messageOf(e rules.Event) (m message, ok bool) {
	if !strings.HasPrefix(e.Type, "message.") {
		return m, false
	}
	object, ok := e.Data["message"].(map[string]any)
	if !ok {
		object = e.Data
	}
	m.ID, _ = object["id"].(string)
	m.Text, _ = object["text"].(string)
	media, _ := object["media_id"].(string)
	m.Media = media != ""
	m.Inbound = e.Type == "message.received"
	if sender, ok := object["sender"].(map[string]any); ok {
		m.Sender, _ = sender["name"].(string)
	}
	return m, m.Text != "" || m.Media
}
