// Package learn describes the data of recorded events: which paths there are, of which kinds, how
// often, and whether the service's profile finds its fields in them. It shows kinds of values and
// never the values: customers wrote them.
package learn

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
)

// Shapes describe the data of events, by type.
type Shapes map[string]*Shape

// A Shape describes the data of the events of one type.
type Shape struct {
	Events int
	paths  map[string]*path
}

// A path is what stands under one path of the data.
type path struct {
	events int
	seen   int // the number of the last event that had it
	kinds  map[string]*kind
}

// A kind is one kind of values under a path.
type kind struct {
	count, shortest, longest int
}

const (
	deepest  = 20
	maxPaths = 2000 // of a type: a service that uses ids as names would make them without end
)

// Add takes an event in.
func (s Shapes) Add(e rules.Event) {
	shape := s[e.Type]
	if shape == nil {
		shape = &Shape{paths: make(map[string]*path)}
		s[e.Type] = shape
	}
	shape.Events++
	shape.object("", e.Data, 0)
}

func (s *Shape) object(at string, object map[string]any, depth int) {
	for name, v := range object {
		if at != "" {
			name = at + "." + name
		}
		s.value(name, v, depth+1)
	}
}

func (s *Shape) value(at string, v any, depth int) {
	p := s.paths[at]
	if p == nil {
		if len(s.paths) >= maxPaths || depth > deepest {
			return
		}
		p = &path{kinds: make(map[string]*kind)}
		s.paths[at] = p
	}
	if p.seen != s.Events {
		p.seen = s.Events
		p.events++
	}
	name, length := kindOf(v)
	k := p.kinds[name]
	if k == nil {
		k = &kind{shortest: length}
		p.kinds[name] = k
	}
	k.count++
	k.shortest, k.longest = min(k.shortest, length), max(k.longest, length)
	switch v := v.(type) {
	case map[string]any:
		s.object(at, v, depth)
	case []any:
		for _, item := range v {
			s.value(at+"[]", item, depth+1)
		}
	}
}

// The kinds of values.
const (
	Nothing = "null"
	Flag    = "true or false"
	Number  = "number"
	Text    = "text"
	Object  = "object"
	List    = "list"
	UUID    = "uuid"
	Time    = "time"
	Phone   = "phone-like"
	Email   = "email-like"
	Address = "web address"
)

var (
	uuidForm  = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	phoneForm = regexp.MustCompile(`^\+?[0-9][0-9 ().-]{6,18}[0-9]$`)
	emailForm = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
)

// kindOf says what kind of value it is; of a text, a list or an object, how long it is too.
func kindOf(v any) (name string, length int) {
	switch v := v.(type) {
	case nil:
		return Nothing, 0
	case bool:
		return Flag, 0
	case string:
		return textKind(v), len([]rune(v))
	case []any:
		return List, len(v)
	case map[string]any:
		return Object, len(v)
	}
	return Number, 0
}

func textKind(s string) string {
	switch {
	case uuidForm.MatchString(s):
		return UUID
	case phoneForm.MatchString(s):
		if _, err := time.Parse(time.DateOnly, s); err == nil {
			return Time
		}
		return Phone
	case emailForm.MatchString(s):
		return Email
	case strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://"):
		return Address
	}
	if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return Time
	}
	return Text
}

// A Path is what stands under one path of the data of a type's events.
type Path struct {
	Path   string   `json:"path"` // as behind event.data; [] is each item of a list
	Events int      `json:"events"`
	Share  float64  `json:"share"` // of the type's events
	Kinds  []string `json:"kinds"` // the most frequent first
}

// Paths returns all paths, in their order.
func (s *Shape) Paths() []Path {
	list := make([]Path, 0, len(s.paths))
	for _, name := range slices.Sorted(maps.Keys(s.paths)) {
		p := s.paths[name]
		one := Path{Path: name, Events: p.events, Share: float64(p.events) / float64(s.Events), Kinds: []string{}}
		names := slices.SortedFunc(maps.Keys(p.kinds), func(a, b string) int {
			return cmp.Or(cmp.Compare(p.kinds[b].count, p.kinds[a].count), cmp.Compare(a, b))
		})
		for _, k := range names {
			one.Kinds = append(one.Kinds, p.kinds[k].words(k))
		}
		list = append(list, one)
	}
	return list
}

// words describes a kind of values, with the observed lengths.
func (k *kind) words(name string) string {
	unit := map[string]string{Text: "char", List: "item"}[name]
	switch {
	case unit == "":
		return name
	case k.longest == 1 && k.shortest == 1:
		return fmt.Sprintf("%s(1 %s)", name, unit)
	case k.shortest == k.longest:
		return fmt.Sprintf("%s(%d %ss)", name, k.longest, unit)
	}
	return fmt.Sprintf("%s(%d–%d %ss)", name, k.shortest, k.longest, unit)
}

// has reports whether there is a path, and what was seen under it.
func (s *Shape) has(at string) (*path, bool) {
	p, ok := s.paths[at]
	return p, ok
}

// below returns the names directly below a path; empty is the data itself.
func (s *Shape) below(at string) []string {
	var names []string
	for name := range s.paths {
		if at != "" {
			var ok bool
			if name, ok = strings.CutPrefix(name, at+"."); !ok {
				continue
			}
		}
		if !strings.ContainsAny(name, ".[") {
			names = append(names, name)
		}
	}
	return names
}
