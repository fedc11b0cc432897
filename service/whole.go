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
		n := &p.Message
		return (tells(f, asText, orNull, n.Text) || tells(f, asID, notNull, n.MediaID)) && tells(f, asTime, notNull, n.CreatedAt)
	case KindConversation:
		n := &p.Conversation
		return tells(f, asString, notNull, n.Kind) && tells(f, asText, orNull, n.Name) && tells(f, asEveryID, orNull, n.LabelIDs) &&
			tells(f, asBool, notNull, n.Archived, n.Pinned, n.Muted, n.Unread) &&
			tells(f, asID, orNull, n.ChannelID, n.ContactID, n.AssigneeID, n.SectorID) && tells(f, asAnything, orNull, n.LastMessage)
	case KindContact:
		n := &p.Contact
		return tells(f, asText, orNull, n.Name, n.Phone, n.Company, n.City) && tells(f, asEveryID, orNull, n.LabelIDs) &&
			tells(f, asBool, notNull, n.Blocked) && tells(f, asID, orNull, n.ChannelID)
	case KindAttendance:
		n := &p.Attendance
		return tells(f, asString, notNull, n.Status) && tells(f, asText, orNull, n.Protocol) && tells(f, asTime, notNull, n.OpenedAt) &&
			tells(f, asTime, orNull, n.FirstResponseAt, n.ClosedAt) && tells(f, asID, orNull, n.ConversationID, n.ContactID, n.AssigneeID, n.SectorID)
	case KindCard:
		n := &p.Card
		return tells(f, asID, notNull, n.BoardID, n.StageID) && tells(f, asText, orNull, n.Title, n.Description, n.Priority) &&
			(tells(f, asEveryID, orNull, n.LabelIDs) || tells(f, asID, orNull, n.LabelID)) && tells(f, asTime, orNull, n.DueDate) &&
			tells(f, asID, orNull, n.ContactID, n.ConversationID, n.AttendanceID)
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
