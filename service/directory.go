package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/rules/plain"
)

const (
	// directoryPause is the shortest time between two fetches of a list: a wrong name in a rule asks
	// again for every event.
	directoryPause = 5 * time.Second
	// directoryMaxAge bounds the age of a list: a name may have been given to another object
	// meanwhile.
	directoryMaxAge = 10 * time.Minute
)

// Directory resolves the names in rules to ids, and back: of labels, sectors, people, channels,
// boards and their stages. It caches the lists, and fetches one again if a name is missing from it.
// It is safe for concurrent use.
type Directory struct {
	client *Client // nil if offline

	mu       sync.Mutex
	listings map[listingKey]*listing
}

// NewDirectory makes an empty directory.
func NewDirectory(c *Client) *Directory {
	return &Directory{client: c, listings: map[listingKey]*listing{}}
}

// NameError is a name that is unknown or ambiguous.
type NameError struct {
	Kind Kind
	Name string
	Near []string // similar names, if it is unknown
	IDs  []string // the candidates, if it is ambiguous
}

func (e *NameError) Error() string {
	name := shorten(e.Name)
	switch {
	case len(e.IDs) > 0:
		return fmt.Sprintf("the name %q is shared by several of kind %s: write the id instead, one of %s", name, e.Kind, strings.Join(e.IDs, ", "))
	case len(e.Near) > 0:
		return fmt.Sprintf("there is no %s named %q; did you mean %s?", e.Kind, name, strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("there is no %s named %q", e.Kind, name)
}

// shorten bounds a name for a message; it may be a text that a customer wrote.
func shorten(name string) string {
	if len(name) <= maxNear {
		return name
	}
	return strings.ToValidUTF8(name[:maxNear], "") + "…"
}

// ID finds the id of a label, sector, person, channel or board by its name. A UUID is taken as the
// id it is. Case does not matter, and accents only where they tell two names apart.
func (d *Directory) ID(ctx context.Context, kind Kind, name string) (string, error) {
	return d.resolve(ctx, listingKey{kind: kind}, name)
}

// StageID finds the id of a stage of a board; the board may be a name or an id.
func (d *Directory) StageID(ctx context.Context, board, name string) (string, error) {
	if plain.IsUUID(name) {
		return name, nil
	}
	id, err := d.ID(ctx, KindBoard, board)
	if err != nil {
		return "", err
	}
	return d.resolve(ctx, listingKey{KindStage, id}, name)
}

// Name finds the name of a label, sector, person, channel or board; it is empty when the id is
// unknown.
func (d *Directory) Name(ctx context.Context, kind Kind, id string) (string, error) {
	return d.name(ctx, listingKey{kind: kind}, id)
}

// StageName finds the name of a stage of a board.
func (d *Directory) StageName(ctx context.Context, board, id string) (string, error) {
	return d.name(ctx, listingKey{KindStage, board}, id)
}

// Names lists the names of one kind, in the service's order.
func (d *Directory) Names(ctx context.Context, kind Kind) ([]string, error) {
	entries, err := d.entries(ctx, listingKey{kind: kind}, func([]entry) bool { return true })
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	return names, err
}

func (d *Directory) resolve(ctx context.Context, key listingKey, name string) (string, error) {
	name = strings.TrimSpace(name)
	if plain.IsUUID(name) {
		return name, nil
	}
	entries, err := d.entries(ctx, key, func(list []entry) bool { return len(match(list, name)) > 0 })
	if err != nil {
		return "", fmt.Errorf("find the %s %q: %w", key.kind, shorten(name), err)
	}
	switch ids := match(entries, name); len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.name
		}
		return "", &NameError{Kind: key.kind, Name: name, Near: nearNames(name, names)}
	default:
		return "", &NameError{Kind: key.kind, Name: name, IDs: ids}
	}
}

func (d *Directory) name(ctx context.Context, key listingKey, id string) (string, error) {
	find := func(list []entry) (string, bool) {
		for _, e := range list {
			if e.id == id {
				return e.name, true
			}
		}
		return "", false
	}
	entries, err := d.entries(ctx, key, func(list []entry) bool { _, ok := find(list); return ok })
	name, _ := find(entries)
	return name, err
}

// listingKey is a kind of thing; of stages, those of one board.
type listingKey struct {
	kind  Kind
	board string
}

// An entry is one item of a list. It is searched by its folded name.
type entry struct{ id, name, folded string }

func newEntry(id, name string) entry { return entry{id, name, fold(name)} }

// listing is one list as last fetched. The caller that fetches it holds busy; the others wait for
// the same answer.
type listing struct {
	busy chan struct{} // of capacity 1

	mu      sync.Mutex
	entries []entry
	fetched time.Time // the last success
	tried   time.Time // the last attempt that got an answer
	err     error     // of that attempt
}

// entries returns the list of one kind. It fetches a list that is old, or not enough for the
// caller, unless that was just done.
func (d *Directory) entries(ctx context.Context, key listingKey, enough func([]entry) bool) ([]entry, error) {
	d.mu.Lock()
	l := d.listings[key]
	if d.client == nil {
		defer d.mu.Unlock()
		if l == nil {
			return nil, nil
		}
		return l.entries, nil
	}
	if l == nil {
		l = &listing{busy: make(chan struct{}, 1)}
		d.listings[key] = l
	}
	d.mu.Unlock()

	if entries, ok := l.current(d.client.now(), enough); ok {
		return entries, nil
	}
	if entries, err, recent := l.recent(d.client.now()); recent {
		return entries, err
	}
	if err := d.client.allowed(ctx); err != nil {
		return nil, err
	}
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if entries, ok := l.current(d.client.now(), enough); ok {
		return entries, nil
	}
	if entries, err, recent := l.recent(d.client.now()); recent {
		return entries, err
	}
	return l.refresh(ctx, d.client, key, enough)
}

func (l *listing) current(now time.Time, enough func([]entry) bool) ([]entry, bool) {
	l.mu.Lock()
	entries, fresh := l.entries, !l.fetched.IsZero() && now.Sub(l.fetched) < directoryMaxAge
	l.mu.Unlock() // searching happens without the lock; entries are replaced, not changed
	return entries, fresh && enough(entries)
}

// recent returns the result of the last attempt, if it is recent.
func (l *listing) recent(now time.Time) (entries []entry, err error, recent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries, l.err, now.Sub(l.tried) < directoryPause
}

func (l *listing) refresh(ctx context.Context, c *Client, key listingKey, enough func([]entry) bool) ([]entry, error) {
	entries, err := c.fetchListing(ctx, key)
	if err != nil && ctx.Err() != nil {
		return nil, err // the caller's context ended: that says nothing about the service
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried, l.err = c.now(), err
	switch {
	case err == nil:
		l.entries, l.fetched = entries, l.tried
	case len(l.entries) > 0 && enough(l.entries):
		return l.entries, nil // an old answer is better than none
	}
	return l.entries, err
}

var errUnknownKind = errors.New("the directory has no such kind")

func (c *Client) fetchListing(ctx context.Context, key listingKey) ([]entry, error) {
	switch key.kind {
	case KindLabel:
		v, err := c.ListLabels(ctx)
		return entriesOf(v, func(x Label) entry { return newEntry(x.ID, x.Name) }), err
	case KindSector:
		v, err := c.ListSectors(ctx)
		return entriesOf(v, func(x Sector) entry { return newEntry(x.ID, x.Name) }), err
	case KindPerson:
		v, err := c.ListTeam(ctx)
		return entriesOf(v, func(x Person) entry { return newEntry(x.ID, x.Name) }), err
	case KindChannel:
		v, err := c.ListChannels(ctx)
		return entriesOf(v, func(x Channel) entry { return newEntry(x.ID, x.Name) }), err
	case KindBoard:
		v, err := c.ListBoards(ctx, false)
		return entriesOf(v, func(x Board) entry { return newEntry(x.ID, x.Name) }), err
	case KindStage:
		stages, err := c.stages(ctx, key.board)
		return entriesOf(stages, func(x Stage) entry { return newEntry(x.ID, x.Name) }), err
	}
	return nil, fmt.Errorf("%w: %q", errUnknownKind, key.kind)
}

// stages reads the stages of a board, from the list of boards if the board itself does not show
// them.
func (c *Client) stages(ctx context.Context, board string) ([]Stage, error) {
	b, err := c.GetBoard(ctx, board)
	if err != nil || len(b.Stages) > 0 {
		return b.Stages, err
	}
	boards, err := c.ListBoards(ctx, false)
	for _, b := range boards {
		if b.ID == board {
			return b.Stages, err
		}
	}
	return nil, err
}

func entriesOf[T any](list []T, of func(T) entry) []entry {
	out := make([]entry, len(list))
	for i, x := range list {
		out[i] = of(x)
	}
	return out
}
