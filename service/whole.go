package service

import "slices"

// IsWhole reports whether an object in an event or a list has every field that rules can use, as it
// has when it is read by itself. A missing field may be empty or only not shown, so such an object
// has to be read. A field without a path in the profile is one that the service does not have. The
// version of a card does not count, because the service shows it in a header.
func (p *Profile) IsWhole(kind Kind, object map[string]any) bool {
	f := fields(object)
	if f.id(p.idPaths(kind)) == "" {
		return false
	}
	switch kind {
	case KindMessage:
		return p.Message.whole(f)
	case KindConversation:
		return p.Conversation.whole(f)
	case KindContact:
		return p.Contact.whole(f)
	case KindAttendance:
		return p.Attendance.whole(f)
	case KindCard:
		return p.Card.whole(f)
	}
	return false
}

const (
	orNull  = true
	notNull = false
)

// hasAll reports whether an object has each of several values: present under one of its names, of
// the right type, or null if null is allowed.
func hasAll[T any](f fields, convert func(any) (T, bool), null bool, values ...Paths) bool {
	return !slices.ContainsFunc(values, func(paths Paths) bool {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(path string) bool {
			v, found := at(f, path)
			if v == nil {
				return found && null
			}
			_, ok := convert(v)
			return ok
		})
	})
}

// asText accepts an empty text too.
func asText(v any) (string, bool) {
	if s, ok := v.(string); ok {
		return s, true
	}
	return asString(v)
}

// asEveryID accepts a list only if every element has an id.
func asEveryID(v any) ([]string, bool) {
	ids, ok := asIDs(v)
	return ids, ok && len(ids) == len(v.([]any))
}

func asAnything(v any) (any, bool) { return v, true }
