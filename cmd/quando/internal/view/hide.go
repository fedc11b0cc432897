package view

import (
	"bytes"
	"encoding/json"

	"github.com/quandohq/quando/rules/redact"
)

// HideJSON returns recorded JSON without secrets of other systems. It returns the same bytes if
// there is nothing to hide, and nil if the JSON is invalid.
func HideJSON(text json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if !json.Valid(text) || d.Decode(&value) != nil {
		return nil
	}
	before, _ := json.Marshal(value) // it was read from JSON
	after, _ := json.Marshal(redact.Value(value))
	if bytes.Equal(before, after) {
		return text
	}
	return after
}

// HideData returns an event's data without secrets of other systems.
func HideData(data map[string]any) map[string]any {
	if data == nil {
		return nil
	}
	shown, _ := redact.Value(data).(map[string]any)
	return shown
}
