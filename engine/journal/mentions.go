package journal

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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
	mentionsMost  = 20  // of a kind that are known of a lane
)

// mentioned are the members that tell of the other side, by the name of the object that has them.
var mentioned = map[string]map[string]MentionKind{
	"contact":      {"name": MentionName, "phone": MentionPhone},
	"customer":     {"name": MentionName, "phone": MentionPhone},
	"conversation": {"name": MentionName, "phone": MentionPhone, "contact_name": MentionName},
	"chat":         {"name": MentionName, "phone": MentionPhone},
	"attendance":   {"protocol": MentionProtocol, "protocol_number": MentionProtocol},
}

// Mentions returns whom the data of an event mentions, each once. A contact's own name comes before
// that of its conversation.
func Mentions(data map[string]any) []Mention {
	f := finder{seen: map[Mention]bool{}}
	f.look(data, mentionDepth)
	return append(f.contacts, slices.DeleteFunc(f.others, func(m Mention) bool { return f.seen[m] })...)
}

// A finder collects mentions.
type finder struct {
	contacts, others []Mention
	seen             map[Mention]bool // true is that of a contact
}

func (f *finder) look(object map[string]any, depth int) {
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
			if text = shorten(strings.TrimSpace(text), mentionLength); text != "" {
				f.add(Mention{members[member], text}, name == "contact" || name == "customer")
			}
		}
		f.look(below, depth-1)
	}
}

func (f *finder) add(m Mention, contact bool) {
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

// sortedKeys returns the names of an object's members, always in the same order.
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

// keys returns what a mention is found by: a name by the beginning of each of its words, a phone by
// the end of its digits, which is why they are turned around, a protocol number by its beginning or
// that of its digits.
func (m Mention) keys() []string {
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
		if whole == "" {
			return nil
		}
		return []string{whole}
	}
	words := nameWords(m.Text)
	return words[:min(len(words), mentionWords)]
}

// A Known is what the other side of a lane is known by: the texts of each kind of mention, the
// newest first.
type Known map[MentionKind][]KnownText

// A KnownText is one of them, and the day on which it was last mentioned, counted from 1970 in UTC.
type KnownText struct {
	Text string `json:"text"`
	Day  int64  `json:"day"`
}

// With returns what is known after another event has mentioned something on a day.
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
		out[m.Kind] = all[:min(len(all), mentionsMost)]
	}
	return out
}

// Since returns what is known without what was last mentioned before a day.
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

// Equal reports whether the same is known.
func (k Known) Equal(other Known) bool { return maps.EqualFunc(k, other, slices.Equal[[]KnownText]) }

// Last returns the day on which something was last mentioned.
func (k Known) Last() (day int64) {
	for _, texts := range k {
		for _, t := range texts {
			day = max(day, t.Day)
		}
	}
	return day
}

// A MentionKey is something that a lane is found by.
type MentionKey struct {
	Kind MentionKind
	Key  string
}

// Keys returns everything that the lane is found by.
func (k Known) Keys() map[MentionKey]bool {
	keys := map[MentionKey]bool{}
	for kind, texts := range k {
		for _, t := range texts {
			for _, key := range (Mention{kind, t.Text}).keys() {
				keys[MentionKey{kind, key}] = true
			}
		}
	}
	return keys
}

// Who returns who a lane is about.
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

// A LaneSearch is what a person looks for: lanes that are known by something of a kind that fits.
type LaneSearch struct {
	Kind MentionKind

	// Prefixes are the beginnings of keys. Every lane that fits has keys for all of them, so that one
	// is enough to find it, best the rarest.
	Prefixes []string
}

// phoneEnd is how many of the last digits of a phone tell it: what stands before them is written in
// many ways.
const phoneEnd = 8

// LaneSearches returns what a text can mean.
func LaneSearches(text string) []LaneSearch {
	var list []LaneSearch
	if d := digits(text); len(d) >= 4 {
		list = append(list, LaneSearch{MentionPhone, []string{backwards(d)[:min(len(d), phoneEnd)]}})
	}
	words := nameWords(text)
	whole := strings.Join(words, "")
	if number := strings.TrimLeft(whole, "0"); strings.ContainsFunc(number, unicode.IsDigit) {
		list = append(list, LaneSearch{MentionProtocol, []string{number}})
	}
	if words = words[:min(len(words), mentionWords)]; len(words) > 0 {
		list = append(list, LaneSearch{MentionName, words})
	}
	return list
}

// Fits reports whether a lane is what is looked for: it is known by one text that has keys for all
// prefixes.
func (s LaneSearch) Fits(k Known) bool {
	return slices.ContainsFunc(k[s.Kind], func(t KnownText) bool {
		keys := Mention{s.Kind, t.Text}.keys()
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
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 { // most texts, and much faster
		return strings.Join(strings.Fields(strings.ToLower(s)), " ")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) { // an accent written as a character of its own
			return -1
		}
		return unicode.ToLower(r)
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(accents.Replace(s)), " ")
}
