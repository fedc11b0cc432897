package learn

import (
	"slices"
	"strings"
	"unicode"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// A Finding is a field of the profile's event section with where it was found in the events of one
// type.
type Finding struct {
	Type   string `json:"type"`
	Field  string `json:"field"` // conversation_id
	Found  string `json:"found"` // the path; "the data itself" where the data is the object; empty is nowhere
	Events int    `json:"events"`
	Of     int    `json:"of"`
}

// A Proposal is a path to add to a field of the profile, because none of its paths matched.
type Proposal struct {
	Field string   `json:"field"` // event.conversation_id
	Type  string   `json:"type"`  // of the events that it was seen in
	Path  string   `json:"path"`  // the likely path
	Paths []string `json:"paths"` // the field's candidates with this one in front
}

// expected are the things that the events of a type are about, by the beginning of the type.
var expected = []struct {
	prefix string
	kinds  []service.Kind
}{
	{"message.", []service.Kind{service.KindMessage, service.KindConversation, service.KindContact}},
	{"conversation.", []service.Kind{service.KindConversation, service.KindContact}},
	{"attendance.", []service.Kind{service.KindAttendance, service.KindConversation, service.KindContact}},
	{"kanban.card.", []service.Kind{service.KindCard}},
}

func expects(typ string) []service.Kind {
	for _, x := range expected {
		if strings.HasPrefix(typ, x.prefix) {
			return x.kinds
		}
	}
	return nil
}

// A Reading counts what a profile finds in events.
type Reading struct {
	profile *service.Profile
	shapes  Shapes
	ids     map[string]map[service.Kind]int            // by type: events whose object has an id
	paths   map[string]map[service.Kind]map[string]int // by type: where the id was found
}

// NewReading returns a reading with a profile.
func NewReading(profile *service.Profile) *Reading {
	return &Reading{profile: profile, shapes: make(Shapes), ids: make(map[string]map[service.Kind]int), paths: make(map[string]map[service.Kind]map[string]int)}
}

// Add takes an event in.
func (r *Reading) Add(e rules.Event) {
	r.shapes.Add(e)
	for _, kind := range expects(e.Type) {
		if r.ids[e.Type] == nil {
			r.ids[e.Type], r.paths[e.Type] = make(map[service.Kind]int), make(map[service.Kind]map[string]int)
		}
		if r.paths[e.Type][kind] == nil {
			r.paths[e.Type][kind] = make(map[string]int)
		}
		id := r.profile.EventID(kind, e.Type, e.Data)
		if id == "" {
			continue
		}
		r.ids[e.Type][kind]++
		r.paths[e.Type][kind][r.where(kind, e)]++
	}
}

// where says under which candidate path an object's id was found.
func (r *Reading) where(kind service.Kind, e rules.Event) string {
	for _, c := range r.profile.Candidates("event") {
		if c.Field != string(kind)+"_id" {
			continue
		}
		for _, p := range c.Paths {
			if v, ok := service.Lookup(e.Data, []string{p}); ok && v != nil {
				return p
			}
		}
	}
	return "the data itself"
}

// Shapes returns what the data looks like.
func (r *Reading) Shapes() Shapes { return r.shapes }

// Findings says for each type where the profile found what its events are about, and what it did
// not find.
func (r *Reading) Findings() []Finding {
	var list []Finding
	for _, typ := range r.Types() {
		for _, kind := range expects(typ) {
			f := Finding{Type: typ, Field: string(kind) + "_id", Events: r.ids[typ][kind], Of: r.shapes[typ].Events}
			most := 0
			for p, n := range r.paths[typ][kind] {
				if n > most || n == most && p < f.Found {
					f.Found, most = p, n
				}
			}
			list = append(list, f)
		}
	}
	return list
}

// Types returns the types of the events, in their order.
func (r *Reading) Types() []string {
	var types []string
	for typ := range r.shapes {
		types = append(types, typ)
	}
	slices.Sort(types)
	return types
}

// Proposals suggests a path for each field that was never found in a type's events. A contact may
// well be missing; there is no proposal without a similar path.
func (r *Reading) Proposals() []Proposal {
	var list []Proposal
	for _, f := range r.Findings() {
		if f.Events > 0 {
			continue
		}
		path := r.like(f)
		if path == "" {
			continue
		}
		field := "event." + f.Field
		paths := []string{path}
		for _, c := range r.profile.Candidates("event") {
			if c.Field == f.Field {
				paths = append(paths, c.Paths...)
			}
		}
		i := slices.IndexFunc(list, func(p Proposal) bool { return p.Field == field })
		switch {
		case i < 0:
			list = append(list, Proposal{Field: field, Type: f.Type, Path: path, Paths: paths})
		case !slices.Contains(list[i].Paths, path):
			list[i].Paths = append([]string{path}, list[i].Paths...)
		}
	}
	return list
}

// synonyms are what services call the same things.
var synonyms = map[string][]string{
	"conversation": {"conversation", "chat", "thread", "dialog", "dialogue", "room", "conversa", "session"},
	"contact":      {"contact", "customer", "client", "person", "lead", "contato", "cliente", "sender"},
	"message":      {"message", "msg", "mensagem"},
	"attendance":   {"attendance", "ticket", "case", "atendimento", "service", "protocol"},
	"card":         {"card", "deal", "task", "kanban", "opportunity"},
}

// like returns the path in the events of a type that is most similar to an id field, or "".
func (r *Reading) like(f Finding) string {
	words := synonyms[strings.TrimSuffix(f.Field, "_id")]
	best, bestScore := "", 0
	for _, p := range r.shapes[f.Type].Paths() {
		seen, _ := r.shapes[f.Type].has(p.Path)
		if strings.Contains(p.Path, "[") || !identifies(seen) {
			continue
		}
		if score := likeness(wordsOf(p.Path), words); score > bestScore {
			best, bestScore = p.Path, score
		}
	}
	return best
}

// identifies reports whether what was seen can be ids: no objects, no flags, no times and no long
// texts.
func identifies(p *path) bool {
	if p.only(Nothing) || !p.only(UUID, Number, Text, Nothing) {
		return false
	}
	text := p.kinds[Text]
	return text == nil || text.shortest > 0 && text.longest <= 64
}

// likeness scores a path as the id of one of these words: it must contain id, or be only the word,
// and the word right before it counts most.
func likeness(path, words []string) int {
	last := path[len(path)-1]
	isID := slices.Contains([]string{"id", "uuid", "key", "guid", "ref"}, last)
	if isID {
		path = path[:len(path)-1]
	}
	for i, name := range slices.Backward(path) {
		at := slices.Index(words, name)
		switch {
		case at < 0:
			continue
		case isID && i == len(path)-1:
			return 200 - at - len(path)
		case isID:
			return 100 - at - len(path)
		case i == len(path)-1:
			return 50 - at - len(path)
		}
	}
	return 0
}

// wordsOf splits a path into words: chat.externalId is chat, external, id.
func wordsOf(path string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, r := range path {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		case unicode.IsUpper(r) && lower:
			end()
			word.WriteRune(r)
		default:
			word.WriteRune(r)
		}
		lower = unicode.IsLower(r)
	}
	end()
	if len(words) == 0 {
		return []string{""}
	}
	return words
}
