package service

import "slices"

// IsWhole reports whether an object that an event or a list shows tells everything that rules can ask of it, as the object does when
// it is read by itself. Of one that leaves a field out nobody knows whether that is empty or only not shown, so it is better
// read. A field for which the profile has no path is one that the service does not have. A card's version is not asked for,
// because the service shows it in a header.
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

// tells reports whether an object tells each of several values: it is there under one of its names, of the right type, or null where
// that is an answer.
func tells[T any](f fields, convert func(any) (T, bool), null bool, values ...Paths) bool {
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

// asText takes an empty text too.
func asText(v any) (string, bool) {
	if s, ok := v.(string); ok {
		return s, true
	}
	return asString(v)
}

// asEveryID takes a list only when it has the id of everything in it.
func asEveryID(v any) ([]string, bool) {
	ids, ok := asIDs(v)
	return ids, ok && len(ids) == len(v.([]any))
}

func asAnything(v any) (any, bool) { return v, true }
