package forget

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Trail is what a journal holds of a person: the rows about them, and the terms that identify
// them.
type Trail struct {
	keeper    stored.Keeper
	workspace string
	given     []string // lanes that are the person's
	id        *identity

	lanes  map[laneKey]bool // that are the person's alone
	groups map[laneKey]bool // that others share
	events map[int64]bool
	runs   map[int64]bool
	open   map[int64]bool  // runs that are not finished
	sent   map[string]bool // ids of messages that runs about the person sent
	known  map[int64]bool  // lanes known by the person's name
	texts  map[string]bool // that the person wrote

	shared []string // names that others have too
	terms  *terms
}

type laneKey struct{ workspace, lane string }

// ErrUnknown means that a journal has nothing of a person.
var ErrUnknown = errors.New("the journal has nothing of this person")

// messageReceived is the type of events that the other side causes.
const messageReceived = vocabulary.MessageReceived

// rounds bounds the passes over a journal: what one pass finds may identify more rows in the next.
const rounds = 8

// Find searches a journal for a person.
func Find(ctx context.Context, k stored.Keeper, p Person) (*Trail, error) {
	p = p.learned()
	if p.Contact == "" && len(p.Contacts)+len(p.Lanes) == 0 && len(journal.Digits(p.Phone)) < phoneEnd {
		return nil, fmt.Errorf("a person is named by a contact's id, or by a phone with at least %d digits", phoneEnd)
	}
	t := &Trail{
		keeper: k, workspace: p.Workspace, given: p.Lanes, id: newIdentity(p), lanes: map[laneKey]bool{}, groups: map[laneKey]bool{}, events: map[int64]bool{}, runs: map[int64]bool{},
		open: map[int64]bool{}, sent: map[string]bool{}, known: map[int64]bool{}, texts: map[string]bool{},
	}
	if p.Known != nil {
		maps.Copy(t.texts, p.Known.texts)
		maps.Copy(t.sent, p.Known.sent)
	}
	for range rounds {
		before := t.size()
		for _, read := range []func(context.Context) error{t.readEvents, t.readRuns, t.readSteps, t.readCaused, t.readKnown} {
			if err := read(ctx); err != nil {
				return nil, fmt.Errorf("look for the person: %w", err)
			}
		}
		if t.size() == before {
			break
		}
	}
	if err := t.settleTerms(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Trail) size() int {
	return t.id.size() + len(t.lanes) + len(t.groups) + len(t.events) + len(t.runs) + len(t.sent) + len(t.known)
}

// Empty reports whether the journal has nothing about the person.
func (t *Trail) Empty() bool { return len(t.events)+len(t.runs)+len(t.known) == 0 }

// Contacts are the ids that the service has for the person.
func (t *Trail) Contacts() []string { return slices.Sorted(maps.Keys(t.id.contacts)) }

// Lanes are the lanes that are the person's alone.
func (t *Trail) Lanes() []string {
	var list []string
	for l := range t.lanes {
		list = append(list, l.lane)
	}
	slices.Sort(list)
	return list
}

// Open are the runs about the person that are not finished.
func (t *Trail) Open() []int64 { return slices.Sorted(maps.Keys(t.open)) }

// Size counts what was found.
func (t *Trail) Size() (events, runs, texts int) { return len(t.events), len(t.runs), len(t.texts) }

// elsewhere reports whether something is another workspace's.
func (t *Trail) elsewhere(workspace any) bool { return t.workspace != "" && workspace != t.workspace }

// ownable reports whether a lane can be one person's: what happens in it concerns one conversation,
// attendance or card.
func ownable(lane string) bool {
	return strings.HasPrefix(lane, "conversation:") || strings.HasPrefix(lane, "attendance:") || strings.HasPrefix(lane, "card:") || strings.HasPrefix(lane, "contact:")
}

var (
	eventsTable = stored.Named("events")
	runsTable   = stored.Named("runs")
	stepsTable  = stored.Named("steps")
	causedTable = stored.Named("caused")
	knownTable  = stored.Named("known")
)

// fields gives the values of a row by the names of their columns.
func fields(t *stored.Table, row []any) func(string) any {
	return func(name string) any { return row[t.Index(name)] }
}

func text(v any) string { s, _ := v.(string); return s }

func (t *Trail) readEvents(ctx context.Context) error {
	return stored.EachRow(ctx, t.keeper, eventsTable, func(row []any) error {
		f := fields(eventsTable, row)
		if t.elsewhere(f("workspace")) {
			return nil
		}
		seq, lane := f("seq").(int64), laneKey{text(f("workspace")), text(f("lane"))}
		mine := t.lanes[lane] || slices.Contains(t.given, lane.lane)
		data, answers := text(f("data")), text(f("answers"))
		if !mine && !t.id.mayKnow(data) && !t.id.mayKnow(answers) {
			return nil
		}
		content, told := decode(data), decode(answers)
		if isGroup(content) || isGroup(told) {
			mine, t.groups[lane] = false, true
			delete(t.lanes, lane)
		}
		received := f("type") == messageReceived
		if !mine && !t.id.tells(content, "", received) && !t.id.tells(told, "", false) {
			return nil
		}
		t.events[seq] = true
		if ownable(lane.lane) && !t.groups[lane] {
			t.lanes[lane], mine = true, true
		}
		t.id.learn(content, "", mine, received)
		t.id.learn(told, "", mine, false)
		if received {
			t.write(content, "")
		}
		return nil
	})
}

// isGroup reports whether an event's conversation is a group.
func isGroup(v any) bool {
	m, _ := v.(map[string]any)
	for name, below := range m {
		inner, ok := below.(map[string]any)
		if ok && (name == "conversation" || name == "chat") && inner["kind"] == "group" || ok && isGroup(inner) {
			return true
		}
	}
	return false
}

// write adds what the person wrote.
func (t *Trail) write(v any, under string) {
	switch v := v.(type) {
	case string:
		if slices.Contains(t.id.words.Said, under) && strings.TrimSpace(v) != "" {
			t.texts[v] = true
		}
	case map[string]any:
		for name, below := range v {
			t.write(below, name)
		}
	case []any:
		for _, below := range v {
			t.write(below, under)
		}
	}
}

func (t *Trail) readRuns(ctx context.Context) error {
	return stored.EachRow(ctx, t.keeper, runsTable, func(row []any) error {
		f := fields(runsTable, row)
		if t.elsewhere(f("workspace")) {
			return nil
		}
		id, home := f("id").(int64), laneKey{text(f("workspace")), text(f("home"))}
		about, _ := decode(f("about")).(map[string]any)
		if !t.runs[id] && !t.lanes[home] && !t.events[f("event").(int64)] && !t.id.contacts[word(about["contact"])] {
			return nil
		}
		t.runs[id] = true
		if finished, _ := f("finished").(bool); finished {
			delete(t.open, id)
		} else {
			t.open[id] = true
		}
		return nil
	})
}

// readSteps finds runs that learnt of the person on their way.
func (t *Trail) readSteps(ctx context.Context) error {
	return stored.EachRow(ctx, t.keeper, stepsTable, func(row []any) error {
		f := fields(stepsTable, row)
		run, record := f("run").(int64), text(f("record"))
		if t.workspace != "" || t.runs[run] || !t.id.mayKnow(record) { // with a workspace given, the runs themselves are enough
			return nil
		}
		content, _ := decode(record).(map[string]any)
		answers, _ := content["answers"].(map[string]any)
		if contact, _ := answers["contact"].(map[string]any); contact != nil && t.id.owns(contact, "contact", false) {
			t.runs[run] = true
		}
		return nil
	})
}

func (t *Trail) readCaused(ctx context.Context) error {
	return stored.EachRow(ctx, t.keeper, causedTable, func(row []any) error {
		f := fields(causedTable, row)
		if t.runs[f("run").(int64)] && f("event") == vocabulary.MessageSent {
			t.sent[text(f("object"))] = true
		}
		return nil
	})
}

func (t *Trail) readKnown(ctx context.Context) error {
	return stored.EachRow(ctx, t.keeper, knownTable, func(row []any) error {
		f := fields(knownTable, row)
		lane := laneKey{text(f("workspace")), text(f("lane"))}
		if t.elsewhere(f("workspace")) || t.groups[lane] {
			return nil
		}
		k, err := knownOf(f("mentions"))
		if err != nil {
			return err
		}
		if !t.lanes[lane] && !slices.ContainsFunc(k[journal.MentionPhone], func(p journal.KnownText) bool { return t.id.hasPhone(p.Text) }) {
			return nil
		}
		t.known[f("id").(int64)] = true
		if ownable(lane.lane) {
			t.lanes[lane] = true
		}
		for _, p := range k[journal.MentionPhone] {
			t.id.phone(p.Text)
		}
		for _, n := range k[journal.MentionName] {
			t.id.names[n.Text] = true
		}
		return nil
	})
}

func knownOf(v any) (journal.Known, error) {
	s := text(v)
	var k journal.Known
	err := stored.Decode(&s, &k)
	return k, err
}

// settleTerms separates the terms that are the person's alone: a name that others have too is
// removed only from the person's own rows.
func (t *Trail) settleTerms(ctx context.Context) error {
	others := map[string]bool{}
	own := func(name string) bool { return !others[name] }
	look := func(names ...string) {
		for name := range t.id.names {
			for _, other := range names {
				others[name] = others[name] || isIn(name, other)
			}
		}
	}
	err := stored.EachRow(ctx, t.keeper, knownTable, func(row []any) error {
		f := fields(knownTable, row)
		if t.known[f("id").(int64)] {
			return nil
		}
		k, err := knownOf(f("mentions"))
		for _, n := range k[journal.MentionName] {
			look(n.Text)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = stored.EachRow(ctx, t.keeper, eventsTable, func(row []any) error {
		f := fields(eventsTable, row)
		if t.events[f("seq").(int64)] || !t.mayName(text(f("data"))) {
			return nil
		}
		data, _ := decode(f("data")).(map[string]any)
		for _, m := range journal.Mentions(data) {
			if m.Kind == journal.MentionName {
				look(m.Text)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The service's names are those of the team, of sectors and of labels.
	err = stored.EachRow(ctx, t.keeper, stored.Named("cursors"), func(row []any) error {
		eachText(decode(row[1]), func(s string) { look(s) })
		return nil
	})
	t.shared = nil
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.id.names)) {
		if own(name) {
			names = append(names, name)
		} else {
			t.shared = append(t.shared, name)
		}
	}
	t.terms = newTerms(slices.Sorted(maps.Keys(t.id.phones)), slices.Sorted(maps.Keys(t.id.written)), names, slices.Sorted(maps.Keys(t.texts)), t.sent, &t.id.words)
	return err
}

// mayName is a cheap test whether a text may contain one of the names.
func (t *Trail) mayName(s string) bool {
	for name := range t.id.names {
		if first, _, _ := strings.Cut(name, " "); strings.Contains(strings.ToLower(s), strings.ToLower(first)) {
			return true
		}
	}
	return false
}

// eachText calls a function for every text in a value.
func eachText(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case map[string]any:
		for name, below := range v {
			do(name)
			eachText(below, do)
		}
	case []any:
		for _, below := range v {
			eachText(below, do)
		}
	}
}

// Event reports whether an event is about the person, by its sequence number.
func (t *Trail) Event(seq int64) bool { return t.events[seq] }

// Run reports whether a run is about the person.
func (t *Trail) Run(id int64) bool { return t.runs[id] }
