package alerts

import (
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/rules/phrases"
)

// A state is what the journal remembers across restarts. It has no name and no text of a customer.
type state struct {
	Teller string            `json:"teller,omitempty"` // the process that tells
	Until  time.Time         `json:"until,omitzero"`   // when another one may
	Things map[string]*thing `json:"things,omitempty"` // by the item's key
	Ways   map[string]*told  `json:"ways,omitempty"`   // by name
}

// A thing is something that needs a person, or did and is not told everywhere.
type thing struct {
	Kind      attention.Kind `json:"kind"`
	Workspace string         `json:"workspace,omitempty"`
	Rule      string         `json:"rule,omitempty"`
	Title     string         `json:"title"`
	Since     time.Time      `json:"since"`
	First     time.Time      `json:"first"`          // when it was first seen
	Gone      time.Time      `json:"gone,omitzero"`  // since when it is gone; zero while it is there
	Told      []string       `json:"told,omitempty"` // the ways
	item      *attention.Item
}

// A told is what was told one way.
type told struct {
	Open    bool        `json:"open,omitempty"` // an all clear is due when nothing is left
	Sending *sending    `json:"sending,omitempty"`
	Sent    []time.Time `json:"sent,omitempty"` // as far back as the limit counts
	At      time.Time   `json:"at,omitzero"`    // of the last message
	Error   string      `json:"error,omitempty"`
}

// A sending is a message that may have been sent. Its text is composed anew for each try.
type sending struct {
	ID    string    `json:"id"`
	Keys  []string  `json:"keys,omitempty"`
	Tries int       `json:"tries,omitempty"` // that failed
	Next  time.Time `json:"next,omitzero"`   // not before
}

func (s *state) way(name string) *told {
	if s.Ways == nil {
		s.Ways = map[string]*told{}
	}
	if s.Ways[name] == nil {
		s.Ways[name] = &told{}
	}
	return s.Ways[name]
}

// add takes an item for something that is there. One that was over is a new one.
func (s *state) add(i attention.Item, now time.Time, l phrases.Language) *thing {
	t := s.Things[i.Key]
	if t == nil {
		since := i.Since
		if since.IsZero() {
			since = now
		}
		t = &thing{Kind: i.Kind, Workspace: i.Workspace, Rule: i.Rule, Since: since.UTC(), First: now.UTC()}
		if s.Things == nil {
			s.Things = map[string]*thing{}
		}
		s.Things[i.Key] = t
	}
	t.Gone, t.item, t.Title = time.Time{}, &i, titleOf(&i, l, "")
	return t
}

// note takes down what there is, and what is gone.
func (s *state) note(items []attention.Item, now time.Time, linger time.Duration, l phrases.Language) {
	seen := map[string]bool{}
	for _, i := range items {
		seen[i.Key] = true
		if t := s.Things[i.Key]; t != nil && t.over(now, linger) {
			t.Told, t.First = nil, now.UTC()
		}
		s.add(i, now, l)
	}
	for key, t := range s.Things {
		if !seen[key] && t.Gone.IsZero() {
			t.Gone = now.UTC()
		}
	}
}

// over reports whether a thing is gone for good. One that comes back at once was never gone.
func (t *thing) over(now time.Time, linger time.Duration) bool {
	return !t.Gone.IsZero() && now.Sub(t.Gone) >= linger
}

// worth reports whether a thing is to be told: it is there, or was for a while.
func (t *thing) worth(linger time.Duration) bool {
	return t.Gone.IsZero() || t.Gone.Sub(t.First) >= linger
}

// keys returns the keys of all things, the oldest first.
func (s *state) keys() []string {
	list := slices.Sorted(maps.Keys(s.Things))
	slices.SortStableFunc(list, func(a, b string) int { return s.Things[a].First.Compare(s.Things[b].First) })
	return list
}

// plan makes a message for a way, if one is due, and reports whether one is to be sent now.
func (s *state) plan(name string, now time.Time, o *Options) (due bool) {
	w := s.way(name)
	if w.Sending != nil {
		return !w.Sending.Next.After(now)
	}
	w.Sent = slices.DeleteFunc(w.Sent, func(t time.Time) bool { return now.Sub(t) >= o.Limit.Per })
	if len(w.Sent) >= o.Limit.Times {
		return false
	}
	var untold []string
	left := false
	for _, key := range s.keys() {
		t := s.Things[key]
		left = left || !t.over(now, o.Linger)
		if !slices.Contains(t.Told, name) && t.worth(o.Linger) {
			untold = append(untold, key)
		}
	}
	switch {
	case len(untold) > 0 && now.Sub(s.Things[untold[0]].First) >= o.Linger:
	case len(untold) == 0 && w.Open && !left:
	default:
		return false
	}
	w.Sending = &sending{ID: newID(), Keys: untold}
	return true
}

// prune drops what is over and told, or was too short to be told.
func (s *state) prune(now time.Time, o *Options) {
	maps.DeleteFunc(s.Things, func(_ string, t *thing) bool {
		return t.over(now, o.Linger) && (!t.worth(o.Linger) || !slices.ContainsFunc(o.Ways, func(w Way) bool { return !slices.Contains(t.Told, w.Name()) }))
	})
	maps.DeleteFunc(s.Ways, func(name string, _ *told) bool {
		return !slices.ContainsFunc(o.Ways, func(w Way) bool { return w.Name() == name })
	})
}
