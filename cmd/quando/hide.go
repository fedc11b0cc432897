package main

import (
	"bytes"
	"encoding/json"

	"github.com/quandohq/quando/rules"
)

// hiddenJSON returns recorded JSON without what may be a secret of another system, and as it is where there is none. What is not valid is nothing.
func hiddenJSON(text json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if !json.Valid(text) || d.Decode(&value) != nil {
		return nil
	}
	before, _ := json.Marshal(value) // it was read from JSON
	after, _ := json.Marshal(rules.HideValue(value))
	if bytes.Equal(before, after) {
		return text
	}
	return after
}

// hiddenData returns what an event carries without what may be a secret.
func hiddenData(data map[string]any) map[string]any {
	if data == nil {
		return nil
	}
	shown, _ := rules.HideValue(data).(map[string]any)
	return shown
}
