// Package memory keeps the engine's journal in memory, for journals that need not outlive the
// process, such as those of rules that are tried on the events of another journal.
package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A Journal is a journal.Journal and a journal.Reader. The caller owns what it returns, except the
// data of events, which must not be changed.
type Journal struct {
	mu sync.Mutex

	events     []*journal.Event // by number, from 1; nil if pruned
	empty      map[int64]bool   // events whose content is pruned
	byID       map[ledger.EventKey]int64
	runs       []*journal.Run // by id, from 1; nil if pruned
	byKey      map[string]int64
	unfinished map[ledger.RunKey][]int64 // unfinished runs, the oldest first

	lanes   map[ledger.LaneKey]*lane
	due     map[string]*queue // by workspace
	epoch   int64
	claims  map[string]int // the number of claimed lanes, by workspace
	slots   map[ledger.SlotKey]*slots
	gathers map[ledger.GatherKey]*journal.Gather

	caused   []*journal.Caused // by id, from 1; nil if deleted
	byObject map[object][]int64
	causedAt []time.Time

	versions map[string]version
	holds    map[holdKey]journal.Hold
	mutes    map[ledger.LaneKey]journal.Mute
	cursors  map[string]string
}

var (
	_ journal.Journal = (*Journal)(nil)
	_ journal.Reader  = (*Journal)(nil)
)

// An object is an object that own calls have changed.
type object struct{ workspace, name string }

// A version is the source of a rule. It is fresh while the engine that has started a run with it
// may be about to start another.
type version struct {
	source string
	fresh  bool
}

// New returns an empty journal.
func New() *Journal {
	return &Journal{
		events: []*journal.Event{nil}, empty: make(map[int64]bool), byID: make(map[ledger.EventKey]int64), runs: []*journal.Run{nil}, byKey: make(map[string]int64), unfinished: make(map[ledger.RunKey][]int64),
		lanes: make(map[ledger.LaneKey]*lane), due: make(map[string]*queue), claims: make(map[string]int), slots: make(map[ledger.SlotKey]*slots), gathers: make(map[ledger.GatherKey]*journal.Gather),
		caused: []*journal.Caused{nil}, causedAt: []time.Time{{}}, byObject: make(map[object][]int64),
		versions: make(map[string]version), holds: make(map[holdKey]journal.Hold), mutes: make(map[ledger.LaneKey]journal.Mute), cursors: make(map[string]string),
	}
}

// lock locks the journal, unless the context has ended.
func (j *Journal) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	return nil
}

// maxDepth is how deep data may be nested.
const maxDepth = 1000

// checkEncodable returns why data cannot be stored: JSON cannot represent it.
func checkEncodable(v any, depth int) error {
	if depth > maxDepth {
		return errors.New("it is nested too deeply")
	}
	switch v := v.(type) {
	case nil, bool, string:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("JSON has no number %v", v)
		}
	case []any:
		for _, item := range v {
			if err := checkEncodable(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkEncodable(item, depth+1); err != nil {
				return err
			}
		}
	default:
		_, err := json.Marshal(v)
		return err
	}
	return nil
}

// moment truncates a time to the microsecond, as journals store it.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Cursor returns a stored position.
func (j *Journal) Cursor(ctx context.Context, name string) (string, error) {
	if err := j.lock(ctx); err != nil {
		return "", err
	}
	defer j.mu.Unlock()
	return j.cursors[name], nil
}

// SetCursor stores a position.
func (j *Journal) SetCursor(ctx context.Context, name, value string) error {
	if err := j.lock(ctx); err != nil {
		return err
	}
	defer j.mu.Unlock()
	j.cursors[name] = value
	return nil
}

// SwapCursor stores a position if the stored one is still old.
func (j *Journal) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	if err := j.lock(ctx); err != nil {
		return false, err
	}
	defer j.mu.Unlock()
	if j.cursors[name] != old {
		return false, nil
	}
	j.cursors[name] = value
	return true, nil
}

// A holdKey identifies a hold.
type holdKey struct {
	workspace, rule, lane string
	kind                  journal.HoldKind
}

func keyOf(h journal.Hold) holdKey { return holdKey{h.Workspace, h.Rule, h.Lane, h.Kind} }

// Hold stops a rule or a workspace.
func (j *Journal) Hold(ctx context.Context, h journal.Hold) ([]journal.UnderWay, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	h.Since, h.Until = moment(h.Since), moment(h.Until)
	j.holds[keyOf(h)] = h
	var calls []journal.UnderWay
	for _, ids := range j.unfinished {
		for _, id := range ids {
			r := j.runs[id]
			if r.State != journal.Running || !h.Covers(r.Workspace, r.Rule, r.Lane) {
				continue
			}
			for _, s := range r.Steps {
				if call, ok := journal.CallUnderWay(r, s); ok {
					calls = append(calls, call)
				}
			}
		}
	}
	slices.SortFunc(calls, journal.UnderWay.Compare)
	return calls, nil
}

// Lift removes a hold, and makes the lanes due whose runs it held.
func (j *Journal) Lift(ctx context.Context, now time.Time, h journal.Hold) (bool, error) {
	if err := j.lock(ctx); err != nil {
		return false, err
	}
	defer j.mu.Unlock()
	if on, ok := j.holds[keyOf(h)]; !ok || !h.Until.IsZero() && !on.Until.Equal(h.Until) {
		return false, nil
	}
	delete(j.holds, keyOf(h))
	delete(j.slots, ledger.SlotKey{Workspace: h.Workspace, Key: h.Slots()})
	for _, ids := range j.unfinished {
		for _, id := range ids {
			if r := j.runs[id]; r.State == journal.Held && h.Covers(r.Workspace, r.Rule, r.Lane) {
				j.wake(ledger.LaneKey{Workspace: r.Workspace, Lane: r.Lane}, &ledger.Due{At: max(stored.Micros(now), 1), News: 1})
			}
		}
	}
	return true, nil
}

// Holds returns all holds.
func (j *Journal) Holds(ctx context.Context) ([]journal.Hold, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	return j.sortedHolds(), nil
}

// Mute mutes and unmutes conversations.
func (j *Journal) Mute(ctx context.Context, changes ...journal.MuteChange) error {
	return j.transact(ctx, ledger.Mute(changes))
}

// Muted returns the mute of a conversation.
func (j *Journal) Muted(ctx context.Context, workspace, lane string, at time.Time) (*journal.Mute, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	if m, ok := j.mutes[ledger.LaneKey{Workspace: workspace, Lane: lane}]; ok && m.Covers(at) {
		return &m, nil
	}
	return nil, nil
}

// Mutes returns all mutes.
func (j *Journal) Mutes(ctx context.Context, at time.Time) (mutes []journal.Mute, err error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	for _, m := range j.mutes {
		if m.Covers(at) {
			mutes = append(mutes, m)
		}
	}
	slices.SortFunc(mutes, func(a, b journal.Mute) int {
		return cmp.Or(strings.Compare(a.Workspace, b.Workspace), strings.Compare(a.Lane, b.Lane))
	})
	return mutes, nil
}

// sortedHolds returns all holds, in order.
func (j *Journal) sortedHolds() []journal.Hold {
	if len(j.holds) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Values(j.holds), journal.Hold.Compare)
}

// run returns a run by its id; nil if there is none.
func (j *Journal) run(id int64) *journal.Run {
	if id < 1 || id >= int64(len(j.runs)) {
		return nil
	}
	return j.runs[id]
}
