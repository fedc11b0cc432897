package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// history returns what happened.
func (d *desk) history() History {
	h := History{Calls: d.calls, Stops: d.stops, Fired: d.fired, Names: d.names}
	for _, e := range d.events {
		h.Events = append(h.Events, *e)
	}
	for i, e := range d.sandbox.Effects() {
		var before, after, request map[string]any
		for raw, to := range map[*json.RawMessage]*map[string]any{&e.Before: &before, &e.After: &after, &e.Request: &request} {
			_ = json.Unmarshal(*raw, to) // the service's own writing; null is none
		}
		out := Effect{At: e.At.Time()}
		if i < len(d.owners) {
			out.Step = d.owners[i]
		}
		if d.describe(&out, e.Operation, e.Object.String(), before, after, request) {
			h.Effects = append(h.Effects, out)
		}
	}
	return h
}

// describe puts an effect into the words of rules. It is false for what is no verb's own.
func (d *desk) describe(out *Effect, operation, object string, before, after, request map[string]any) bool {
	text := func(from map[string]any, field string) string { s, _ := from[field].(string); return s }
	names := func(fields ...string) string {
		var list []string
		for _, f := range fields {
			if id := text(request, f); id != "" {
				list = append(list, d.names[id])
			}
		}
		return strings.Join(list, ",")
	}
	marked := func(written string) string {
		shown, event, _ := strings.Cut(written, " #")
		out.Event = event
		return shown
	}
	out.Customer = d.conversations[object]
	switch operation {
	case "POST /conversations/{id}/messages":
		out.Verb, out.Customer, out.Detail = "send_message", d.conversations[text(after, "conversation_id")], marked(text(request, "text"))
	case "POST /conversations/{id}/transfer":
		out.Verb, out.Detail = "transfer", marked(text(request, "reason"))+": "+names("user_id", "sector_id")
	case "PUT /conversations/{id}/sector":
		out.Verb, out.Detail = "set_sector", names("sector_id")
	case "PATCH /conversations/{id}":
		added, removed := d.difference(before, after)
		switch {
		case request["label_ids"] == nil:
			out.Verb, out.Detail = "update_conversation", fmt.Sprintf("%v %v", request["name"], request["pinned"])
		case removed == "":
			out.Verb, out.Detail = "add_labels", added
		case added == "":
			out.Verb, out.Detail = "remove_labels", removed
		default:
			out.Verb, out.Detail = "set_labels", added+" instead of "+removed
		}
	case "POST /conversations/{id}/read":
		out.Verb = "mark_read"
	case "POST /conversations":
		d.conversations[object] = d.customer(text(after, "contact_id"))
		out.Verb, out.Customer = "open_conversation", d.customer(text(after, "contact_id"))
	case "POST /conversations/{id}/attendance/close":
		out.Verb, out.Customer, out.Detail = "close_attendance", d.conversations[text(after, "conversation_id")], marked(text(request, "reason"))
	case "POST /kanban/cards":
		out.Verb, out.Customer = "create_card", d.ofCard(object, after)
		out.Detail = marked(text(request, "title")) + ": " + d.names[text(after, "stage_id")]
	case "PATCH /kanban/cards/{id}":
		out.Verb, out.Customer, out.Detail = "update_card", d.ofCard(object, after), marked(text(request, "description"))
	case "POST /kanban/cards/{id}/move":
		out.Verb, out.Customer, out.Detail = "move_card", d.ofCard(object, after), d.names[text(before, "stage_id")]+" to "+d.names[text(after, "stage_id")]
	default:
		return false
	}
	return true
}

func (d *desk) ofCard(id string, card map[string]any) string {
	contact, _ := card["contact_id"].(string)
	if name := d.customer(contact); name != "" {
		return name
	}
	return d.cards[id]
}

// difference returns which labels were added and which were taken off, by name, sorted.
func (d *desk) difference(before, after map[string]any) (added, removed string) {
	without := func(list, other any) string {
		var out []string
		a, _ := list.([]any)
		b, _ := other.([]any)
		for _, id := range a {
			if !slices.Contains(b, id) {
				out = append(out, d.names[fmt.Sprint(id)])
			}
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
	return without(after["label_ids"], before["label_ids"]), without(before["label_ids"], after["label_ids"])
}
