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
	Teller   string                   `json:"teller,omitempty"` // the process that tells
	Until    time.Time                `json:"until,omitzero"`   // when another one may
	Items    map[string]*openItem     `json:"things,omitempty"` // by the item's key
	Channels map[string]*channelState `json:"ways,omitempty"`   // by name
}

// An openItem is something that needs a person, or did and is not told everywhere.
type openItem struct {
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

// A channelState is what was told by one channel.
type channelState struct {
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

func (s *state) channel(name string) *channelState {
	if s.Channels == nil {
		s.Channels = map[string]*channelState{}
	}
	if s.Channels[name] == nil {
		s.Channels[name] = &channelState{}
	}
	return s.Channels[name]
}

// add takes an item for something that is there. One that was over is a new one.
func (s *state) add(i attention.Item, now time.Time, l phrases.Language) *openItem {
	t := s.Items[i.Key]
	if t == nil {
		since := i.Since
		if since.IsZero() {
			since = now
		}
		t = &openItem{Kind: i.Kind, Workspace: i.Workspace, Rule: i.Rule, Since: since.UTC(), First: now.UTC()}
		if s.Items == nil {
			s.Items = map[string]*openItem{}
		}
		s.Items[i.Key] = t
	}
	t.Gone, t.item, t.Title = time.Time{}, &i, titleOf(&i, l, "")
	return t
}

// update adds the items that there are, and notes which are gone.
func (s *state) update(items []attention.Item, now time.Time, linger time.Duration, l phrases.Language) {
	seen := map[string]bool{}
	for _, i := range items {
		seen[i.Key] = true
		if t := s.Items[i.Key]; t != nil && t.over(now, linger) {
			t.Told, t.First = nil, now.UTC()
		}
		s.add(i, now, l)
	}
	for key, t := range s.Items {
		if !seen[key] && t.Gone.IsZero() {
			t.Gone = now.UTC()
		}
	}
}

// over reports whether a thing is gone for good. One that comes back at once was never gone.
func (t *openItem) over(now time.Time, linger time.Duration) bool {
	return !t.Gone.IsZero() && now.Sub(t.Gone) >= linger
}

// isDue reports whether an item is to be told: it is there, or was for a while.
func (t *openItem) isDue(linger time.Duration) bool {
	return t.Gone.IsZero() || t.Gone.Sub(t.First) >= linger
}

// keys returns the keys of all things, the oldest first.
func (s *state) keys() []string {
	list := slices.Sorted(maps.Keys(s.Items))
	slices.SortStableFunc(list, func(a, b string) int { return s.Items[a].First.Compare(s.Items[b].First) })
	return list
}

// schedule makes a message for a channel, if one is due, and reports whether one is to be sent now.
func (s *state) schedule(name string, now time.Time, o *Options) (due bool) {
	w := s.channel(name)
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
		t := s.Items[key]
		left = left || !t.over(now, o.Linger)
		if !slices.Contains(t.Told, name) && t.isDue(o.Linger) {
			untold = append(untold, key)
		}
	}
	switch {
	case len(untold) > 0 && now.Sub(s.Items[untold[0]].First) >= o.Linger:
	case len(untold) == 0 && w.Open && !left:
	default:
		return false
	}
	w.Sending = &sending{ID: newID(), Keys: untold}
	return true
}

// prune drops what is over and told, or was too short to be told.
func (s *state) prune(now time.Time, o *Options) {
	maps.DeleteFunc(s.Items, func(_ string, t *openItem) bool {
		return t.over(now, o.Linger) && (!t.isDue(o.Linger) || !slices.ContainsFunc(o.Ways, func(w Channel) bool { return !slices.Contains(t.Told, w.Name()) }))
	})
	maps.DeleteFunc(s.Channels, func(name string, _ *channelState) bool {
		return !slices.ContainsFunc(o.Ways, func(w Channel) bool { return w.Name() == name })
	})
}
