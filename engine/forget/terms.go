package forget

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Gone replaces what was the person's.
const Gone = "[forgotten]"

const (
	phoneEnd  = 8  // last digits that identify a phone: the prefix is written in many ways
	textLeast = 16 // characters that make a text identifying; half of them if it has a digit
)

// terms are the texts that identify a person.
type terms struct {
	phones  map[string]bool // their digits
	names   []*regexp.Regexp
	plain   []string        // the names
	texts   []string        // that the person wrote
	written []string        // the phones as they were written
	sent    map[string]bool // ids of messages about the person
	words   *Words
}

// numbers match what may be phones: digits with separators.
var numbers = regexp.MustCompile(`\+?\(?\d(?:[\d ().\-]{6,}\d)`)

func newTerms(phones, written, names, texts []string, sent map[string]bool, w *Words) *terms {
	t := &terms{phones: map[string]bool{}, written: written, plain: names, sent: sent, words: w}
	for _, p := range phones {
		t.phones[p] = true
	}
	for _, n := range names {
		t.names = append(t.names, regexp.MustCompile(`(?i)`+regexp.QuoteMeta(n)))
	}
	for _, text := range texts {
		if long(text) {
			t.texts = append(t.texts, text)
		}
	}
	return t
}

// long reports whether a text is long enough to be its writer's.
func long(text string) bool {
	n := utf8.RuneCountInString(strings.TrimSpace(text))
	return n >= textLeast || n >= textLeast/2 && strings.ContainsFunc(text, unicode.IsDigit)
}

// scrub returns a text without the person's terms. It keeps texts of the person where others may
// have written the same.
func (t *terms) scrub(s string, texts bool) string {
	if texts {
		for _, text := range t.texts {
			s = strings.ReplaceAll(s, text, Gone)
		}
	}
	s = numbers.ReplaceAllStringFunc(s, func(found string) string {
		if t.isPhone(found) {
			return Gone
		}
		return found
	})
	if lane, ok := strings.CutPrefix(s, "phone:"); ok && t.isPhone(lane) {
		return "phone:" + Gone
	}
	for _, name := range t.names {
		s = replaceWords(s, name)
	}
	return s
}

func (t *terms) isPhone(text string) bool {
	for phone := range t.phones {
		if t.words.same(text, phone) {
			return true
		}
	}
	return false
}

// replaceWords replaces a name at word boundaries.
func replaceWords(s string, name *regexp.Regexp) string {
	found := name.FindAllStringIndex(s, -1)
	for _, at := range slices.Backward(found) {
		before, _ := utf8.DecodeLastRuneInString(s[:at[0]])
		after, _ := utf8.DecodeRuneInString(s[at[1]:])
		if (at[0] == 0 || notOfWord(before)) && (at[1] == len(s) || notOfWord(after)) {
			s = s[:at[0]] + Gone + s[at[1]:]
		}
	}
	return s
}

// scrubJSON returns JSON without the person's terms, in its texts and in the names of its members.
// JSON without any stays as written.
func (t *terms) scrubJSON(s string, texts bool) (string, error) {
	v := decode(s)
	if v == nil || !t.dirty(v, texts) {
		return s, nil
	}
	b, err := json.Marshal(t.scrubValue(v, texts))
	return string(b), err
}

func (t *terms) dirty(v any, texts bool) bool {
	switch v := v.(type) {
	case string:
		return t.scrub(v, texts) != v
	case json.Number:
		return t.isPhone(v.String())
	case map[string]any:
		for name, below := range v {
			if t.scrub(name, texts) != name || t.dirty(below, texts) || t.told(v, name) && below != Gone {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return t.dirty(below, texts) })
	}
	return false
}

func (t *terms) scrubValue(v any, texts bool) any {
	switch v := v.(type) {
	case string:
		return t.scrub(v, texts)
	case json.Number:
		if t.isPhone(v.String()) {
			return json.Number("0")
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, below := range v {
			if out[t.scrub(name, texts)] = t.scrubValue(below, texts); t.told(v, name) {
				out[name] = Gone
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = t.scrubValue(below, texts)
		}
		return out
	}
	return v
}

// told reports whether a member of an object is the text of a message that a run about the person
// sent, to any recipient.
func (t *terms) told(object map[string]any, member string) bool {
	text, _ := object[member].(string)
	return text != "" && slices.Contains(t.words.Said, member) && (t.sent[word(object["id"])] || t.sent[word(object["message_id"])])
}

// bytes are the terms as encoded in a file: plain, and as JSON.
func (t *terms) bytes() [][]byte {
	var list [][]byte
	add := func(s string) {
		quoted, _ := json.Marshal(s)
		for _, b := range [][]byte{[]byte(s), quoted[1 : len(quoted)-1]} {
			if len(b) > 3 && !slices.ContainsFunc(list, func(o []byte) bool { return string(o) == string(b) }) {
				list = append(list, b)
			}
		}
	}
	for p := range t.phones {
		add(p)
	}
	for _, s := range slices.Concat(t.written, t.plain, t.texts) {
		add(s)
	}
	return list
}

// wrote reports whether bytes are one of the texts.
func (t *terms) wrote(b []byte) bool {
	return slices.ContainsFunc(t.texts, func(s string) bool {
		quoted, _ := json.Marshal(s)
		return string(b) == s || string(b) == string(quoted[1:len(quoted)-1])
	})
}

func notOfWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
