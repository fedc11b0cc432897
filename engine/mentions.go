package engine

import (
	"slices"
	"strings"
	"unicode"
)

// A Mention is something in an event that a person knows the other side by.
type Mention struct {
	Kind MentionKind
	Text string
}

// A MentionKind is what a mention is.
type MentionKind string

// The kinds of mentions.
const (
	MentionName     MentionKind = "name"
	MentionPhone    MentionKind = "phone"
	MentionProtocol MentionKind = "protocol"
)

const (
	mentionDepth  = 4   // how deep mentions are looked for
	mentionLength = 120 // of what is kept of one, in characters
	mentionWords  = 6   // by which a name is found
)

// mentioned are the members that tell of the other side, by the name of the object that has them.
var mentioned = map[string]map[string]MentionKind{
	"contact":      {"name": MentionName, "phone": MentionPhone},
	"customer":     {"name": MentionName, "phone": MentionPhone},
	"conversation": {"name": MentionName, "phone": MentionPhone, "contact_name": MentionName},
	"chat":         {"name": MentionName, "phone": MentionPhone},
	"attendance":   {"protocol": MentionProtocol, "protocol_number": MentionProtocol},
}

// Mentions returns whom the data of an event mentions, each once. Where several names are mentioned the contact's comes first.
func Mentions(data map[string]any) []Mention {
	var found []Mention
	mentions(data, mentionDepth, &found)
	return found
}

func mentions(object map[string]any, depth int, found *[]Mention) {
	if depth == 0 {
		return
	}
	for _, name := range sortedKeys(object) {
		below, ok := object[name].(map[string]any)
		if !ok {
			continue
		}
		members := mentioned[name]
		for _, member := range sortedKeys(members) {
			text, _ := below[member].(string)
			text = shorten(strings.TrimSpace(text), mentionLength)
			if m := (Mention{members[member], text}); text != "" && !slices.Contains(*found, m) {
				*found = append(*found, m)
			}
		}
		mentions(below, depth-1, found)
	}
}

// sortedKeys puts contact before conversation, which is the order of the alphabet too.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func shorten(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i]
		}
	}
	return s
}

// Keys returns what a mention is found by: a name by the beginning of each of its words, a phone by the end of its digits, which is why
// they are turned around, a protocol number by its beginning or that of its digits.
func (m Mention) Keys() []string {
	switch m.Kind {
	case MentionPhone:
		if d := digits(m.Text); d != "" {
			return []string{backwards(d)}
		}
		return nil
	case MentionProtocol:
		whole := strings.Join(nameWords(m.Text), "")
		if d := strings.TrimLeft(digits(whole), "0"); d != "" && d != whole {
			return []string{whole, d}
		}
		return []string{whole}
	}
	words := nameWords(m.Text)
	return words[:min(len(words), mentionWords)]
}

// A LaneSearch is what a person looks for among mentions: those of a kind whose keys begin with a text.
type LaneSearch struct {
	Kind   MentionKind
	Prefix string
	Words  []string // of a name: all of them must be the beginnings of words
}

// phoneEnd is how many of the last digits of a phone tell it: what stands before them is written in many ways.
const phoneEnd = 8

// LaneSearches returns what a text can mean.
func LaneSearches(text string) []LaneSearch {
	var list []LaneSearch
	if d := digits(text); len(d) >= 4 {
		list = append(list, LaneSearch{Kind: MentionPhone, Prefix: backwards(d)[:min(len(d), phoneEnd)]})
	}
	if whole := strings.Join(nameWords(text), ""); strings.ContainsFunc(whole, unicode.IsDigit) {
		list = append(list, LaneSearch{Kind: MentionProtocol, Prefix: strings.TrimLeft(whole, "0")})
	}
	if words := nameWords(text); len(words) > 0 {
		longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
		list = append(list, LaneSearch{Kind: MentionName, Prefix: longest, Words: words})
	}
	return list
}

// Fits reports whether a mention is what is looked for, beyond its prefix.
func (s LaneSearch) Fits(shown string) bool {
	have := nameWords(shown)
	for _, w := range s.Words {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, w) }) {
			return false
		}
	}
	return true
}

func nameWords(s string) []string {
	return strings.FieldsFunc(FoldText(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// accents maps accented letters to those without.
var accents = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "å", "a", "ç", "c", "é", "e", "è", "e", "ê", "e", "ë", "e", "í", "i", "ì", "i", "î", "i", "ï", "i",
	"ñ", "n", "ó", "o", "ò", "o", "ô", "o", "õ", "o", "ö", "o", "ø", "o", "ú", "u", "ù", "u", "û", "u", "ü", "u", "ý", "y", "ÿ", "y",
)

// FoldText makes texts comparable: small letters, without accents, with single blanks.
func FoldText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) { // an accent written as a character of its own
			return -1
		}
		return unicode.ToLower(r)
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(accents.Replace(s)), " ")
}
