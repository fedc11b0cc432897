package service

import (
	"maps"
	"strings"

	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/rules/vocabulary"
)

// maxIdentity is how long an identity may be: a longer one is no id of a service.
const maxIdentity = 400

// Places are the kinds of what an event may concern, the best first.
var Places = [...]Kind{KindConversation, KindCard, KindAttendance, KindMessage}

// EventPlace returns what an event concerns: its conversation, else its card, else its attendance,
// else its message. The id is empty if it names none of them.
func (p *Profile) EventPlace(eventType string, data map[string]any) (Kind, string) {
	r := p.ReadEvent(eventType, data)
	for _, kind := range Places {
		if id := r.ID(kind); id != "" {
			return kind, id
		}
	}
	return "", ""
}

// EventIdentity names a change by the object that changed, so that a delivery and a backfill name
// it alike: a message, an attendance, a card, and for a moved card its new stage. It identifies the
// change together with the event's type; a card may be moved to a stage and completed more than
// once. It is empty if a backfill could not find the change.
func (p *Profile) EventIdentity(eventType string, data map[string]any) string {
	if !Findable(eventType) {
		return ""
	}
	e := vocabulary.EventOf(eventType)
	id := p.EventID(Kind(e.About), eventType, data)
	if e.ToStage {
		to := p.EventCardMove(data).ToStageID
		if id == "" || to == "" {
			return ""
		}
		id = plain.FoldUUID(id) + " to " + plain.FoldUUID(to)
	}
	if len(id) > maxIdentity {
		return ""
	}
	return plain.FoldUUID(id)
}

// Objects are what an event is about, as the service's answers show them.
type Objects map[Kind]map[string]any

// EventData puts objects where the profile looks for them in the data of an event, so that they
// decode like those of a delivery.
func (p *Profile) EventData(eventType string, objects Objects) map[string]any {
	data := map[string]any{}
	reader := p.ReadEvent(eventType, nil)
	for _, kind := range [...]Kind{KindMessage, KindAttendance, KindCard, KindConversation, KindContact} {
		object, ok := objects[kind]
		if !ok {
			continue
		}
		places, ids := p.eventPaths(kind)
		switch {
		case len(places) > 0:
			data = put(data, places[0], object)
		case reader.selfKind() == kind:
			data = maps.Clone(data)
			maps.Copy(data, object)
		}
		if id := fields(object).id(p.idPaths(kind)); len(ids) > 0 && id != "" && p.EventID(kind, eventType, data) != id {
			data = put(data, ids[0], id)
		}
	}
	return data
}

// CardMoveData adds to the data of an event from where to where its card was moved.
func (p *Profile) CardMoveData(data map[string]any, from, to string) map[string]any {
	if len(p.Event.FromStageID) > 0 && from != "" {
		data = put(data, p.Event.FromStageID[0], from)
	}
	if len(p.Event.ToStageID) > 0 {
		data = put(data, p.Event.ToStageID[0], to)
	}
	return data
}

// CardInStage returns a card as it would be shown in another stage.
func (p *Profile) CardInStage(card map[string]any, stage string) map[string]any {
	if fields(card).id(p.Card.StageID) == stage {
		return card
	}
	for _, path := range p.Card.StageID {
		v, ok := at(card, path)
		if !ok {
			continue
		}
		if _, object := asObject(v); object {
			return put(card, path, map[string]any{"id": stage})
		}
		return put(card, path, stage)
	}
	return card
}

// put returns an object with a value at a path. The object itself is not changed.
func put(object map[string]any, path string, value any) map[string]any {
	if whole, ok := value.(map[string]any); ok && path == "." {
		return whole
	}
	name, rest, nested := strings.Cut(path, ".")
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	if nested {
		inner, _ := out[name].(map[string]any)
		value = put(inner, rest, value)
	}
	out[name] = value
	return out
}

// Findable reports whether an event of this type leaves a trace by which a backfill can find it.
func Findable(eventType string) bool {
	e := vocabulary.EventOf(eventType)
	return e != nil && e.Findable
}
