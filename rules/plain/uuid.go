package plain

import "strings"

// FoldUUID returns a UUID as it is compared: its letters mean the same in either case, and a
// service may write it one way in its deliveries and another in its answers. What is no UUID is
// returned as it is.
func FoldUUID(id string) string {
	if len(id) != 36 {
		return id
	}
	capitals := false
	for i := range len(id) {
		switch c := id[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return id
			}
		case c >= 'A' && c <= 'F':
			capitals = true
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return id
		}
	}
	if !capitals {
		return id
	}
	return strings.ToLower(id)
}

// IsUUID reports whether a text is a UUID, in letters of either case.
func IsUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F'):
			return false
		}
	}
	return true
}
