package sandbox

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// smallCompany is what a sandbox starts with.
//
//go:embed company.json
var smallCompany []byte

// parts are the parts of a state document, by name.
type parts map[string]json.RawMessage

// sections are the parts in the order they are read: each may name objects of
// those before it.
var sections = []struct {
	name string
	read func(*loader, json.RawMessage) error
}{
	{"company", (*loader).company},
	{"attendance_rules", (*loader).rules},
	{"rate_limit", func(l *loader, src json.RawMessage) error { return strict(src, &l.s.options.RateLimit) }},
	{"kanban_events", func(l *loader, src json.RawMessage) error { return strict(src, &l.s.options.KanbanEvents) }},
	{"channels", each((*loader).channel)},
	{"labels", each((*loader).label)},
	{"sectors", each((*loader).sector)},
	{"people", each((*loader).person)},
	{"boards", each((*loader).board)},
	{"keys", each((*loader).key)},
	{"contacts", each((*loader).contact)},
	{"conversations", each((*loader).conversation)},
	{"media", each((*loader).media)},
	{"messages", each((*loader).message)},
	{"attendances", each((*loader).attendance)},
	{"assignments", each((*loader).assignment)},
	{"cards", each((*loader).card)},
	{"webhooks", each((*loader).webhook)},
	{"deliveries", each((*loader).delivery)},
	{"reservations", each((*loader).reservation)},
	{"effects", func(l *loader, src json.RawMessage) error { return strict(src, &l.st.Effects) }},
	{"faults", each((*loader).fault)},
}

// splitDocument takes a document apart and refuses parts that do not exist.
func splitDocument(doc []byte) (parts, error) {
	if doc = bytes.TrimSpace(doc); len(doc) == 0 || doc[0] != '{' {
		return nil, store.Invalid("the state is not a JSON object")
	}
	if !json.Valid(doc) {
		var broken any
		return nil, store.Invalid("the state is not JSON: %v", json.Unmarshal(doc, &broken))
	}
	p := parts(membersOf(doc))
	names := []string{"now"}
	for _, section := range sections {
		names = append(names, section.name)
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(names, name) {
			return nil, store.Invalid("the state has no part %q%s", name, store.DidYouMean(name, names))
		}
	}
	return p, nil
}

// load replaces the state with the document, and fills parts that it lacks from the default
// company.
func (s *Sandbox) load(doc []byte, company bool) error {
	given, err := splitDocument(doc)
	if err != nil {
		return err
	}
	large := len(doc) > 32<<20
	if err := s.replace(given, company); err != nil {
		return err
	}
	if large {
		debug.FreeOSMemory() // reading used several times the memory that is kept
	}
	return nil
}

// replace installs a new store, or leaves everything unchanged on error.
func (s *Sandbox) replace(given parts, company bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	options, clock := s.options, s.clock
	l := &loader{s: s, st: store.New()}
	if company {
		defaults, _ := splitDocument(smallCompany)
		l.defaults = defaults
	}
	waiting := s.agenda
	s.agenda = agenda{} // loading schedules the new state's entries
	faults := s.faults
	s.faults = nil
	if err := l.load(given); err != nil {
		s.agenda, s.faults, s.options, s.clock = waiting, faults, options, clock
		s.wake()
		return err
	}
	if s.store != nil {
		for _, hook := range s.store.Webhooks {
			s.abandon(hook)
		}
	}
	if _, ok := given["keys"]; !ok {
		l.keepKeys()
	}
	s.store = l.st
	s.wake()
	return nil
}

// loader reads the parts of a document into a store.
type loader struct {
	s        *Sandbox
	st       *store.Store
	defaults parts
	adding   bool // to a store that is in use
	lenient  bool // the default company may refer to parts that were replaced
	cards    bool // the document has cards

	contacts      byName[Contact]
	conversations byName[Conversation]

	members []members     // of the sectors that were read
	opened  []*Attendance // that were read
}

// members are the people of a sector, by name or id, until they are read.
type members struct {
	sector *Sector
	names  []string
}

func (l *loader) load(given parts) error {
	if now, ok := given["now"]; ok {
		var t Instant
		if err := strict(now, &t); err != nil {
			return store.Invalid("now: %v", err)
		}
		l.s.clock.set(t.Time())
	}
	_, l.cards = given["cards"]
	for _, section := range sections {
		src, ok := given[section.name]
		if l.lenient = !ok; !ok {
			src, ok = l.defaults[section.name]
		}
		if !ok {
			continue
		}
		if err := section.read(l, src); err != nil {
			return store.Invalid("%s: %v", section.name, err)
		}
	}
	return l.complete()
}

// keepKeys copies the keys of the old store, or issues the first one.
func (l *loader) keepKeys() {
	if l.s.store != nil {
		for _, key := range l.s.store.Keys {
			l.st.AddKey(key)
		}
		return
	}
	l.st.AddKey(&Key{ID: l.s.ids.ID(), Name: "Sandbox", APIKey: l.s.ids.Token(keyPrefix), Scopes: slices.Clone(Scopes)})
}

// complete sets what depends on other parts.
func (l *loader) complete() error {
	if l.st.TenantID.IsZero() {
		l.st.TenantID = l.s.ids.ID()
	}
	for _, m := range l.members {
		for _, name := range m.names {
			p, err := l.st.FindPerson(name)
			if err != nil {
				return store.Invalid("sectors: %s: %v", m.sector.Name, err)
			}
			if !slices.Contains(p.SectorIDs, m.sector.ID) {
				p.SectorIDs = append(slices.Clone(p.SectorIDs), m.sector.ID)
			}
		}
	}
	board := l.st.BoardNamed(attendancesBoard)
	if l.cards || board == nil || len(board.Stages) == 0 {
		return nil
	}
	for _, a := range l.opened { // by hand: with the card each would have
		conv := l.st.Conversations[a.ConversationID]
		stage := board.Stages[0]
		if done := board.StageNamed(doneStage); a.Status == store.StatusClosed && done != nil {
			stage = done
		}
		a.Card = &Card{BoardID: board.ID, StageID: stage.ID, Title: a.Protocol + " " + conv.Name,
			ContactID: a.ContactID, ConversationID: conv.ID, AttendanceID: a.ID}
		l.fillCard(a.Card, stage)
		l.st.PutCard(a.Card, nil)
	}
	return nil
}

// strict reads JSON whose members must all be known.
func strict(src []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the end")
	}
	return nil
}

// each reads a list part, item by item.
func each[T any](read func(*loader, *T) error) func(*loader, json.RawMessage) error {
	return func(l *loader, src json.RawMessage) error {
		if src = bytes.TrimSpace(src); src[0] != '[' {
			return errors.New("must be a list")
		}
		n := 0
		for raw := range inside(src) {
			n++
			item := new(T)
			if strict(raw, item) != nil { // by names, perhaps
				resolved, err := l.resolve(raw)
				if err == nil {
					item = new(T)
					err = strict(resolved, item)
				}
				if err != nil {
					return fmt.Errorf("item %d: %w", n, err)
				}
			}
			if err := read(l, item); err != nil {
				return fmt.Errorf("item %d: %w", n, err)
			}
		}
		return nil
	}
}
