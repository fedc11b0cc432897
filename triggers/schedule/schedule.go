// Package schedule ticks the schedules of a rule set: each tick becomes an event for its rule.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/rules"
)

// EventType is the type of a tick's event.
const EventType = "schedule"

// Cursors keep positions by name, as the journal does. An empty position is none.
type Cursors interface {
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error
}

// Options configure a Source. Workspace and Cursors are required.
type Options struct {
	Workspace string
	Location  *time.Location // for schedules that name no zone; nil is UTC
	// Cursors store for each rule the time up to which its ticks were accepted, so that ticks missed
	// during a downtime are known.
	Cursors Cursors
	Logger  *slog.Logger // nil means no log
}

// A Source produces the ticks of one workspace's schedules. Several engines may tick the same
// schedules: the event ids are equal, so each tick is recorded once.
type Source struct {
	options Options
	log     *slog.Logger
	changed chan struct{} // signals that the rules have changed

	mu        sync.Mutex
	positions map[string]*position // by rule
	gone      []string             // removed rules whose cursors are to be deleted
	looked    time.Time            // when Tick last ran
}

// A position is how far the ticks of one rule's schedule have come.
type position struct {
	rule     string
	schedule *rules.Schedule
	late     string // what happens to missed ticks: last, all or none
	print    string // fingerprint of what decides when it ticks

	known   bool        // at is set
	awake   bool        // it was ticked before, so what comes due meanwhile is not missed
	at      time.Time   // up to when its ticks were collected
	next    time.Time   // the first tick after at; zero if there is none
	pending []time.Time // collected, but not accepted yet
	unsaved bool        // at is not stored in the cursor yet
}

// New returns a source without any schedules.
func New(o Options) (*Source, error) {
	if o.Workspace == "" || o.Cursors == nil {
		return nil, errors.New("schedule: a source needs a workspace and cursors")
	}
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Source{options: o, log: o.Logger, changed: make(chan struct{}, 1), positions: make(map[string]*position)}, nil
}

// SetRules replaces the rules, also while the source runs. An unchanged schedule keeps its
// position, one with other times starts anew, and a removed one stops.
func (s *Source) SetRules(set *rules.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.positions
	s.positions = make(map[string]*position)
	for _, r := range set.Rules {
		if r.When.Schedule == nil || r.Stage == rules.Draft {
			continue
		}
		p := before[r.ID]
		if p == nil {
			p = &position{rule: r.ID}
		}
		if print := s.fingerprint(r.When.Schedule); p.print != print {
			// Ticks that the old times collected and the sink has not accepted are still due.
			p = &position{rule: r.ID, print: print, pending: p.pending}
		}
		p.schedule, p.late = r.When.Schedule, r.Late.Run
		s.positions[r.ID] = p
	}
	s.gone = slices.DeleteFunc(s.gone, func(id string) bool { return s.positions[id] != nil })
	for id := range before {
		if s.positions[id] == nil {
			s.gone = append(s.gone, id)
		}
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// fingerprint returns what decides when a schedule ticks.
func (s *Source) fingerprint(c *rules.Schedule) string {
	switch {
	case c.Every > 0:
		return "every " + c.Every.String()
	case c.Cron != "":
		return "cron " + c.Cron + " " + s.zone(c)
	}
	var b strings.Builder
	for _, at := range slices.Sorted(slices.Values(c.At)) {
		fmt.Fprintf(&b, "at %s ", at)
	}
	for _, on := range slices.Sorted(slices.Values(c.On)) {
		fmt.Fprintf(&b, "on %s ", on)
	}
	return b.String() + s.zone(c)
}

func (s *Source) zone(c *rules.Schedule) string {
	if c.Timezone != "" {
		return c.Timezone
	}
	return s.options.Location.String()
}
