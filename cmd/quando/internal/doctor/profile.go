package doctor

import (
	"slices"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service"
)

// carriedKinds are the objects that events carry. The profile has a section for each.
var carriedKinds = []service.Kind{service.KindConversation, service.KindContact, service.KindMessage, service.KindAttendance, service.KindCard}

// A pathOf is a candidate path of a profile, in its section and field.
type pathOf struct{ section, field, path string }

// A seen counts which of a profile's own paths occurred in events. It skips the default paths,
// which list many names for the same field.
type seen struct {
	profile *service.Profile
	own     []pathOf
	found   map[pathOf]bool
	objects map[string]int // how many objects of a section were checked
	events  int
}

func newSeen(p *service.Profile) *seen {
	s := &seen{profile: p, found: map[pathOf]bool{}, objects: map[string]int{}}
	usual := service.DefaultProfile()
	sections := []string{"event"}
	for _, kind := range carriedKinds {
		sections = append(sections, string(kind))
	}
	for _, section := range sections {
		for _, c := range p.Candidates(section) {
			for _, path := range c.Paths {
				if !slices.Contains(config.ProfilePaths(&usual, section, c.Field), path) {
					s.own = append(s.own, pathOf{section, c.Field, path})
				}
			}
		}
	}
	return s
}

// add checks an event of the service.
func (s *seen) add(e *journal.Event) {
	if e.Type == "schedule" || e.Type == "manual" {
		return // whose names are the engine's own
	}
	s.events++
	s.countPaths("event", e.Data)
	if len(s.own) == 0 {
		return
	}
	for _, kind := range carriedKinds {
		if object, ok := s.profile.EventObject(kind, e.Type, e.Data); ok {
			s.countPaths(string(kind), object)
		}
	}
}

func (s *seen) countPaths(section string, object map[string]any) {
	s.objects[section]++
	for _, o := range s.own {
		if o.section != section || s.found[o] {
			continue
		}
		if _, ok := service.Lookup(object, []string{o.path}); ok {
			s.found[o] = true
		}
	}
}

// never returns the profile's own paths that were never seen although there was something to see.
func (s *seen) never() (list []string) {
	for _, o := range s.own {
		if !s.found[o] && s.objects[o.section] > 0 {
			list = append(list, o.section+"."+o.field+": "+o.path)
		}
	}
	return list
}
