package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// aliases are shorter names of members that refer to other objects.
var aliases = map[string]string{
	"channel": "channel_id", "contact": "contact_id", "assignee": "assignee_id", "person": "person_id",
	"user": "user_id", "sector": "sector_id", "conversation": "conversation_id", "attendance": "attendance_id",
	"board": "board_id", "stage": "stage_id", "labels": "label_ids", "sectors": "sector_ids",
	"members": "member_ids", "boards": "board_ids", "due": "due_date", "webhook": "webhook_id",
}

// resolve rewrites an item of a hand-written document into the form of the API: aliases become the
// full names, names of objects become ids.
func (l *loader) resolve(raw json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var item map[string]any
	if err := d.Decode(&item); err != nil {
		return nil, fmt.Errorf("must be an object: %w", err)
	}
	for alias, name := range aliases {
		if v, ok := item[alias]; ok {
			delete(item, alias)
			item[name] = v
		}
	}
	for name, v := range item {
		switch v := v.(type) {
		case string:
			id, err := l.reference(name, v, item)
			if err != nil {
				return nil, err
			}
			item[name] = id
		case []any:
			list := []any{}
			for _, element := range v {
				text, ok := element.(string)
				if !ok {
					list = append(list, element)
					continue
				}
				id, err := l.reference(name, text, item)
				if err != nil && !l.lenient {
					return nil, err
				}
				if err == nil {
					list = append(list, id)
				}
			}
			item[name] = list
		}
	}
	return encode(item), nil
}

// reference returns the id that a member's text names, or the text itself if the member is no
// reference.
func (l *loader) reference(member, text string, item map[string]any) (any, error) {
	st := l.st
	switch member {
	case "channel_id":
		return idOf(st.FindChannel(text))(func(v *Channel) ID { return v.ID })
	case "contact_id":
		return idOf(l.contacts.find(text, st.FindContact))(func(v *Contact) ID { return v.ID })
	case "assignee_id", "user_id", "person_id", "from_user_id":
		return idOf(st.FindPerson(text))(func(v *Person) ID { return v.ID })
	case "sector_id", "sector_ids", "from_sector_id":
		return idOf(st.FindSector(text))(func(v *Sector) ID { return v.ID })
	case "label_ids":
		return idOf(st.FindLabel(text))(func(v *Label) ID { return v.ID })
	case "conversation_id":
		return idOf(l.conversations.find(text, st.FindConversation))(func(v *Conversation) ID { return v.ID })
	case "attendance_id":
		return idOf(st.FindAttendance(text))(func(v *Attendance) ID { return v.ID })
	case "board_id", "board_ids":
		return idOf(st.FindBoard(text))(func(v *Board) ID { return v.ID })
	case "stage_id":
		return l.stageOf(text, item)
	}
	return text, nil
}

// byName caches objects by name, so that a long document is not searched for every name in it. It
// drops ambiguous names, which the search then reports.
type byName[T any] map[string]*T

func (b *byName[T]) add(name string, v *T) {
	if *b == nil {
		*b = byName[T]{}
	}
	name = strings.ToLower(name)
	if _, twice := (*b)[name]; twice {
		v = nil
	}
	(*b)[name] = v
}

// find returns the cached object of a name, or else what the search finds.
func (b byName[T]) find(name string, search func(string) (*T, error)) (*T, error) {
	if v := b[strings.ToLower(name)]; v != nil {
		return v, nil
	}
	return search(name)
}

// idOf turns what a find returns into the id of what was found.
func idOf[T any](found *T, err error) func(func(*T) ID) (any, error) {
	return func(id func(*T) ID) (any, error) {
		if err != nil {
			return nil, err
		}
		return id(found).String(), nil
	}
}

// stageOf finds a stage on the board that the same item names.
func (l *loader) stageOf(text string, item map[string]any) (any, error) {
	name, _ := item["board_id"].(string)
	board, err := l.st.FindBoard(name)
	if err != nil {
		return nil, err
	}
	return idOf(board.FindStage(text))(func(v *Stage) ID { return v.ID })
}
