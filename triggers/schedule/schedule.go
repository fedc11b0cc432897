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
	Location  *time.Location // of schedules that name no zone; nil is UTC
	// Cursors remember for each rule up to when its ticks have been given, so that those missed while
	// stopped are known.
	Cursors Cursors
	Logger  *slog.Logger // nil means no log
}

// A Source gives the ticks of one workspace's schedules. Many may tick the same schedules: they
// name the same ticks alike, so that each is recorded once.
type Source struct {
	options Options
	log     *slog.Logger
	changed chan struct{} // that the rules are others

	mu     sync.Mutex
	paces  map[string]*pace // by rule
	gone   []string         // rules that have left and whose cursors are to be forgotten
	looked time.Time        // when the ticks were last looked for
}

// A pace is one rule's schedule with how far it has come.
type pace struct {
	rule     string
	schedule *rules.Schedule
	late     string // what becomes of missed ticks: last, all or none
	print    string // what decides when it ticks

	known   bool        // at is set
	awake   bool        // it was looked at before, so what comes due meanwhile is not missed
	at      time.Time   // up to when its ticks have been taken
	next    time.Time   // the first one after at; zero when there is none
	pending []time.Time // taken, but not accepted yet
	unsaved bool        // at has not reached the cursor
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
	return &Source{options: o, log: o.Logger, changed: make(chan struct{}, 1), paces: make(map[string]*pace)}, nil
}

// SetRules gives the source its rules, also while it runs. A schedule that is the same as before
// keeps its pace, one with other times begins anew, and one that has gone ticks no more.
func (s *Source) SetRules(set *rules.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.paces
	s.paces = make(map[string]*pace)
	for _, r := range set.Rules {
		if r.When.Schedule == nil || r.Stage == rules.Draft {
			continue
		}
		p := before[r.ID]
		if p == nil {
			p = &pace{rule: r.ID}
		}
		if print := s.fingerprint(r.When.Schedule); p.print != print {
			// What was taken by the old times and could not be given yet is still given.
			p = &pace{rule: r.ID, print: print, pending: p.pending}
		}
		p.schedule, p.late = r.When.Schedule, r.Late.Run
		s.paces[r.ID] = p
	}
	s.gone = slices.DeleteFunc(s.gone, func(id string) bool { return s.paces[id] != nil })
	for id := range before {
		if s.paces[id] == nil {
			s.gone = append(s.gone, id)
		}
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// fingerprint writes down what decides when a schedule ticks.
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
