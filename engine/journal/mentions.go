package journal

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Mention is a text in an event by which a person recognises the customer.
type Mention struct {
	Kind MentionKind
	Text string
}

// A MentionKind is the kind of a mention.
type MentionKind string

// The kinds of mentions.
const (
	MentionName     MentionKind = "name"
	MentionPhone    MentionKind = "phone"
	MentionProtocol MentionKind = "protocol"
)

const (
	maxMentionDepth  = 4   // how deep in an event's data mentions are searched
	maxMentionLength = 120 // the stored characters of one mention
	maxMentionWords  = 6   // the words of a name that are indexed
	maxMentions      = 20  // the mentions of a kind that are stored for a lane
)

// mentionMembers are the members that identify the customer, by the name of the object that has
// them.
var mentionMembers = map[string]map[string]MentionKind{
	"contact":      {"name": MentionName, "phone": MentionPhone},
	"customer":     {"name": MentionName, "phone": MentionPhone},
	"conversation": {"name": MentionName, "phone": MentionPhone, "contact_name": MentionName},
	"chat":         {"name": MentionName, "phone": MentionPhone},
	"attendance":   {"protocol": MentionProtocol, "protocol_number": MentionProtocol},
}

// Mentions returns the mentions in the data of an event, each once. A contact's own name comes
// before that of its conversation.
func Mentions(data map[string]any) []Mention {
	f := mentionCollector{seen: map[Mention]bool{}}
	f.collect(data, maxMentionDepth)
	return append(f.contacts, slices.DeleteFunc(f.others, func(m Mention) bool { return f.seen[m] })...)
}

// A mentionCollector collects mentions.
type mentionCollector struct {
	contacts, others []Mention
	seen             map[Mention]bool // true if a contact has it
}

func (f *mentionCollector) collect(object map[string]any, depth int) {
	if depth == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below, ok := object[name].(map[string]any)
		if !ok {
			continue
		}
		members := mentionMembers[name]
		for _, member := range slices.Sorted(maps.Keys(members)) {
			text, _ := below[member].(string)
			if text = shorten(strings.TrimSpace(text), maxMentionLength); text != "" {
				f.add(Mention{members[member], text}, name == "contact" || name == "customer")
			}
		}
		f.collect(below, depth-1)
	}
}

func (f *mentionCollector) add(m Mention, contact bool) {
	before, seen := f.seen[m]
	switch {
	case contact && !before:
		f.contacts = append(f.contacts, m)
		f.seen[m] = true
	case !contact && !seen:
		f.others = append(f.others, m)
		f.seen[m] = false
	}
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

// indexKeys returns the index keys of a mention. Searches match the beginning of a key: a name has
// a key for each of its words; a phone is searched by its last digits, so its key is its digits
// reversed; a protocol number has itself and its digits.
func (m Mention) indexKeys() []string {
	switch m.Kind {
	case MentionPhone:
		if d := Digits(m.Text); d != "" {
			return []string{reversed(d)}
		}
		return nil
	case MentionProtocol:
		whole := strings.Join(nameWords(m.Text), "")
		if d := strings.TrimLeft(Digits(whole), "0"); d != "" && d != whole {
			return []string{whole, d}
		}
		if whole == "" {
			return nil
		}
		return []string{whole}
	}
	words := nameWords(m.Text)
	return words[:min(len(words), maxMentionWords)]
}

// A Known is what the events of a lane mention: the texts of each kind, the newest first.
type Known map[MentionKind][]KnownText

// A KnownText is a mentioned text, and the day of its last mention, counted from 1970 in UTC.
type KnownText struct {
	Text string `json:"text"`
	Day  int64  `json:"day"`
}

// With returns a copy with the mentions of another event on a day.
func (k Known) With(list []Mention, day int64) Known {
	out := maps.Clone(k)
	if out == nil {
		out = Known{}
	}
	for _, m := range slices.Backward(list) {
		newest := KnownText{m.Text, day}
		var others []KnownText
		for _, old := range out[m.Kind] {
			if old.Text == m.Text {
				newest.Day = max(newest.Day, old.Day)
			} else {
				others = append(others, old)
			}
		}
		all := append([]KnownText{newest}, others...)
		out[m.Kind] = all[:min(len(all), maxMentions)]
	}
	return out
}

// Since returns a copy without texts that were last mentioned before a day.
func (k Known) Since(day int64) Known {
	out := Known{}
	for kind, texts := range k {
		for _, t := range texts {
			if t.Day >= day {
				out[kind] = append(out[kind], t)
			}
		}
	}
	return out
}

// Equal reports whether both have the same texts and days.
func (k Known) Equal(other Known) bool { return maps.EqualFunc(k, other, slices.Equal[[]KnownText]) }

// Last returns the day of the last mention.
func (k Known) Last() (day int64) {
	for _, texts := range k {
		for _, t := range texts {
			day = max(day, t.Day)
		}
	}
	return day
}

// A MentionKey is an index key of a lane.
type MentionKey struct {
	Kind MentionKind
	Key  string
}

// Keys returns all index keys of the lane.
func (k Known) Keys() map[MentionKey]bool {
	keys := map[MentionKey]bool{}
	for kind, texts := range k {
		for _, t := range texts {
			for _, key := range (Mention{kind, t.Text}).indexKeys() {
				keys[MentionKey{kind, key}] = true
			}
		}
	}
	return keys
}

// Who returns the customer of a lane.
func (k Known) Who(workspace, lane string) Who {
	newest := func(kind MentionKind) string {
		if len(k[kind]) == 0 {
			return ""
		}
		return k[kind][0].Text
	}
	return Who{
		Workspace: workspace, Lane: lane, Name: newest(MentionName), Phone: newest(MentionPhone), Protocol: newest(MentionProtocol),
		Seen: time.Unix(k.Last()*24*60*60, 0).UTC(),
	}
}

// A LaneSearch is one meaning of a search text: lanes with a mention of a kind that matches.
type LaneSearch struct {
	Kind MentionKind

	// Prefixes are the beginnings of keys. Every matching lane has keys for all of them, so a search
	// needs to look for only one, best the rarest.
	Prefixes []string
}

// phoneSuffix is how many of the last digits identify a phone: country and area codes are written
// in many ways.
const phoneSuffix = 8

// LaneSearches returns the possible meanings of a search text.
func LaneSearches(text string) []LaneSearch {
	var list []LaneSearch
	if d := Digits(text); len(d) >= 4 {
		list = append(list, LaneSearch{MentionPhone, []string{reversed(d)[:min(len(d), phoneSuffix)]}})
	}
	words := nameWords(text)
	whole := strings.Join(words, "")
	if number := strings.TrimLeft(whole, "0"); strings.ContainsFunc(number, unicode.IsDigit) {
		list = append(list, LaneSearch{MentionProtocol, []string{number}})
	}
	if words = words[:min(len(words), maxMentionWords)]; len(words) > 0 {
		list = append(list, LaneSearch{MentionName, words})
	}
	return list
}

// IsWhole reports whether the search is a whole protocol number of the lane, and not the beginning
// of one.
func (s LaneSearch) IsWhole(k Known) bool {
	return s.Kind == MentionProtocol && slices.ContainsFunc(k[s.Kind], func(t KnownText) bool {
		return slices.Contains(Mention{s.Kind, t.Text}.indexKeys(), s.Prefixes[0]) || strings.TrimLeft(strings.Join(nameWords(t.Text), ""), "0") == s.Prefixes[0]
	})
}

// Fits reports whether a lane matches: one of its texts has keys for all prefixes.
func (s LaneSearch) Fits(k Known) bool {
	return slices.ContainsFunc(k[s.Kind], func(t KnownText) bool {
		keys := Mention{s.Kind, t.Text}.indexKeys()
		for _, prefix := range s.Prefixes {
			if !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, prefix) }) {
				return false
			}
		}
		return true
	})
}

func nameWords(s string) []string {
	return strings.FieldsFunc(FoldText(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Digits returns the digits of a text, as phones are compared by them.
func Digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// accents maps accented letters to plain ones.
var accents = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "å", "a", "ç", "c", "é", "e", "è", "e", "ê", "e", "ë", "e", "í", "i", "ì", "i", "î", "i", "ï", "i",
	"ñ", "n", "ó", "o", "ò", "o", "ô", "o", "õ", "o", "ö", "o", "ø", "o", "ú", "u", "ù", "u", "û", "u", "ü", "u", "ý", "y", "ÿ", "y",
)

// FoldText makes texts comparable: lower case, without accents, with single blanks.
func FoldText(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 { // the common case, and much faster
		return strings.Join(strings.Fields(strings.ToLower(s)), " ")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) { // a combining accent
			return -1
		}
		return unicode.ToLower(r)
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(accents.Replace(s)), " ")
}
