package proof

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Story is a made-up conversation: what a customer and the team do, and when it ends.
type Story struct {
	Customer string
	Labels   []string // that the customer has
	Entries  []Entry
	Until    time.Time
}

// An Entry is one thing that happens.
type Entry struct {
	Do   string // Customer, Team, Closes, Takes, Card, Moves, or Event
	At   time.Time
	Text string // what is written; of Moves the stage, of Event the event's type
}

// What can happen in a story.
const (
	Customer = "customer" // the customer writes
	Team     = "team"     // the team answers
	Closes   = "closes"   // the team closes the attendance
	Takes    = "takes"    // somebody of the team takes the conversation
	Card     = "card"     // a card is created
	Moves    = "moves"    // a card is moved to a stage
	Event    = "event"    // an event is raised as it is
)

// Doings are what can happen in a story.
var Doings = []string{Customer, Team, Closes, Takes, Card, Moves, Event}

// Clock is how a moment of a story is written, in the zone of the desk.
const Clock = "2006-01-02T15:04"

// Bounds of a story: a person waits while it runs.
const (
	maxEntries = 24
	maxText    = 2000
	maxName    = 100
	maxLabels  = 20
	maxLength  = 31 * 24 * time.Hour
)

// ErrStory is a story that no page sends.
var ErrStory = errors.New("not a story")

// storyText is a story as a page sends it, with local times.
type storyText struct {
	Customer string      `json:"customer"`
	Labels   []string    `json:"labels"`
	Entries  []entryText `json:"entries"`
	Until    string      `json:"until"`
}

type entryText struct {
	Do   string `json:"do"`
	At   string `json:"at"`
	Text string `json:"text"`
}

// ReadStory reads a story that a page sent. Its entries come in the order of time.
func ReadStory(text string, zone *time.Location) (*Story, error) {
	var sent storyText
	if err := json.Unmarshal([]byte(text), &sent); err != nil {
		return nil, ErrStory
	}
	s := &Story{Customer: strings.TrimSpace(sent.Customer), Labels: sent.Labels}
	if s.Customer == "" {
		s.Customer = usualCustomer
	}
	var err error
	if s.Until, err = time.ParseInLocation(Clock, sent.Until, zone); err != nil || len(s.Customer) > maxName || len(s.Labels) > maxLabels || len(sent.Entries) > maxEntries {
		return nil, ErrStory
	}
	for _, e := range sent.Entries {
		at, err := time.ParseInLocation(Clock, e.At, zone)
		if err != nil || len(e.Text) > maxText || !slices.Contains(Doings, e.Do) {
			return nil, ErrStory
		}
		s.Entries = append(s.Entries, Entry{Do: e.Do, At: at, Text: e.Text})
	}
	slices.SortStableFunc(s.Entries, func(a, b Entry) int { return a.At.Compare(b.At) })
	if n := len(s.Entries); n > 0 && s.Until.Before(s.Entries[n-1].At) {
		s.Until = s.Entries[n-1].At
	}
	if s.Until.Sub(s.Start()) > maxLength {
		return nil, ErrStory
	}
	return s, nil
}

// MarshalJSON writes a story as pages send it.
func (s *Story) MarshalJSON() ([]byte, error) {
	out := storyText{Customer: s.Customer, Labels: append([]string{}, s.Labels...), Entries: []entryText{}, Until: s.Until.Format(Clock)}
	for _, e := range s.Entries {
		out.Entries = append(out.Entries, entryText{e.Do, e.At.Format(Clock), e.Text})
	}
	return json.Marshal(out)
}

// Start is when the story begins.
func (s *Story) Start() time.Time {
	if len(s.Entries) == 0 {
		return s.Until
	}
	return s.Entries[0].At
}

// usualCustomer is the customer of a story that names none, and somebody of the team in all of
// them.
const (
	usualCustomer = "Marina"
	teammate      = "Bruno"
)

// Test returns the story as a test that expects nothing yet.
func (s *Story) Test(set *rules.Set) *rules.Test {
	contact := map[string]any{"name": s.Customer, "phone": "+5511988887777"}
	t := &rules.Test{Name: "made up", Start: s.Start(), Given: map[string]any{"contacts": []any{contact}}}
	if len(s.Labels) > 0 {
		labels := []any{}
		for _, name := range s.Labels {
			labels = append(labels, name)
		}
		contact["labels"] = labels
		t.Given["labels"] = labels
		t.Given["conversations"] = []any{map[string]any{"contact": s.Customer, "labels": labels}}
	}
	for _, e := range s.Entries {
		if e.Do == Card || e.Do == Moves {
			t.Given["cards"] = []any{map[string]any{"board": boardOf(set), "title": s.Customer, "contact": s.Customer}}
		}
		t.Steps = append(t.Steps, rules.TestStep{Fields: s.fields(e)})
	}
	t.Steps = append(t.Steps, rules.TestStep{Fields: map[string]any{"at": s.Until.Format(time.RFC3339)}})
	return t
}

// fields returns an entry as a step of a test.
func (s *Story) fields(e Entry) map[string]any {
	says := e.Text
	if strings.TrimSpace(says) == "" {
		says = "…"
	}
	f := map[string]any{}
	switch e.Do {
	case Customer:
		f = map[string]any{"customer": s.Customer, "says": says}
	case Team:
		f = map[string]any{"team": teammate, "to": s.Customer, "says": says}
	case Closes:
		f = map[string]any{"team": teammate, "closes": s.Customer}
	case Takes:
		f = map[string]any{"team": teammate, "takes": s.Customer}
	case Card:
		f = map[string]any{"event": vocabulary.CardCreated, "contact": s.Customer}
	case Moves:
		f = map[string]any{"team": teammate, "moves": s.Customer, "to": says}
	case Event:
		f = map[string]any{"event": e.Text, "contact": s.Customer}
	}
	f["at"] = e.At.Format(time.RFC3339)
	return f
}

// boardOf returns the board that rules name, else one that every imitation has.
func boardOf(set *rules.Set) string {
	for _, use := range set.Names() {
		if use.Kind == "board" {
			return use.Name
		}
	}
	return "Sales"
}

// lead is how long a conversation goes on before what a story is about.
const lead = 10 * time.Minute

// About returns a story in which something happens at a time: an event, or a schedule.
func About(kind string, at time.Time, text string) *Story {
	s := &Story{Customer: usualCustomer, Until: at.Add(26 * time.Hour)}
	add := func(do string, at time.Time, text string) { s.Entries = append(s.Entries, Entry{do, at, text}) }
	switch kind {
	case vocabulary.MessageReceived, vocabulary.AttendanceOpened, schedule:
		add(Customer, at, text)
	case vocabulary.MessageSent:
		add(Customer, at.Add(-lead), "…")
		add(Team, at, text)
	case vocabulary.AttendanceClosed:
		add(Customer, at.Add(-lead), text)
		add(Closes, at, "")
	case vocabulary.CardCreated:
		add(Card, at, "")
	case vocabulary.CardMoved:
		add(Moves, at, text)
	default:
		add(Customer, at.Add(-lead), text)
		add(Event, at, kind)
	}
	return s
}

// schedule is the kind of a story in which time alone starts the rule.
const schedule = "schedule"

// Beginnings returns stories to begin with, the likeliest first: what starts the rule, at times
// when the desk is open and closed, with words that its conditions ask for, by a customer without
// and with the labels that it names.
func Beginnings(set *rules.Set, r *rules.Rule, now time.Time, hello string) (list []*Story) {
	kind := vocabulary.MessageReceived
	switch {
	case r.When.Schedule != nil:
		kind = schedule
	case len(r.When.Events) > 0:
		kind = r.When.Events[0]
	}
	texts := append([]string{hello}, wordsAsked(r)...)
	if kind == vocabulary.CardMoved {
		texts = append(stagesOf(set), "Won")
	}
	labels := [][]string{nil}
	if named := LabelsOf(set); len(named) > 0 {
		labels = append(labels, named)
	}
	for _, with := range labels {
		for _, at := range moments(set, r, now) {
			for _, text := range texts[:min(len(texts), 4)] {
				s := About(kind, at, text)
				s.Labels = with
				list = append(list, s)
			}
		}
	}
	return list
}

// moments returns times to try: while the rule's calendar is open, after it closes, and now.
func moments(set *rules.Set, r *rules.Rule, now time.Time) []time.Time {
	now = now.Truncate(5 * time.Minute)
	var list []time.Time
	if c := calendarOf(set, r); c != nil {
		if open, ok := c.NextOpen(now); ok {
			list = append(list, open.Add(time.Hour).In(now.Location()))
			if end, ok := c.NextClose(open); ok {
				list = append(list, end.Add(30*time.Minute).In(now.Location()))
			}
		}
	}
	y, m, d := now.Date()
	return append(list, time.Date(y, m, d+1, 9, 0, 0, 0, now.Location()), now, time.Date(y, m, d+1, 22, 0, 0, 0, now.Location()))
}

// calendarOf returns the calendar that a rule asks, else the first one; nil if there is none.
func calendarOf(set *rules.Set, r *rules.Rule) *calendar.Calendar {
	names := slices.Sorted(maps.Keys(set.Calendars))
	for _, name := range names {
		asks := slices.ContainsFunc(r.If, func(x *rules.Expression) bool { return strings.Contains(x.Text, strconv.Quote(name)) })
		for step := range r.Steps() {
			asks = asks || step.Span.Calendar == name
		}
		if asks {
			return set.Calendars[name]
		}
	}
	if len(names) == 0 {
		return nil
	}
	return set.Calendars[names[0]]
}

// OnDayOff moves a story to the next day on which the rule's calendar is closed: a holiday, or else
// any such day.
func (s *Story) OnDayOff(set *rules.Set, r *rules.Rule) {
	c := calendarOf(set, r)
	if c == nil {
		return
	}
	closed, off := 0, 0 // days from now
	for n := 1; n <= 366 && off == 0; n++ {
		at := s.Start().AddDate(0, 0, n)
		y, m, d := at.Date()
		midnight := time.Date(y, m, d, 0, 0, 0, 0, at.Location())
		if len(c.Openings(midnight, midnight.AddDate(0, 0, 1))) > 0 {
			continue
		}
		closed = cmp.Or(closed, n)
		if _, holiday := c.Holiday(at); holiday {
			off = n
		}
	}
	days := cmp.Or(off, closed)
	for i := range s.Entries {
		s.Entries[i].At = s.Entries[i].At.AddDate(0, 0, days)
	}
	s.Until = s.Until.AddDate(0, 0, days)
}

var inQuotes = regexp.MustCompile(`"((?:[^"\\]|\\.)+)"`)

// wordsAsked returns words that the conditions on a message ask for.
func wordsAsked(r *rules.Rule) (list []string) {
	for _, x := range r.If {
		if !strings.Contains(x.Text, "text") && !strings.Contains(x.Text, "says") {
			continue
		}
		for _, m := range inQuotes.FindAllStringSubmatch(x.Text, -1) {
			list = append(list, strings.ReplaceAll(m[1], `\"`, `"`))
		}
	}
	return list
}

func stagesOf(set *rules.Set) (list []string) {
	for _, use := range set.Names() {
		if use.Kind == "stage" && !slices.Contains(list, use.Name) {
			list = append(list, use.Name)
		}
	}
	return list
}

// LabelsOf returns the labels that rules name, each once.
func LabelsOf(set *rules.Set) (list []string) {
	for _, use := range set.Names() {
		if use.Kind == "label" && !slices.Contains(list, use.Name) {
			list = append(list, use.Name)
		}
	}
	return list
}

// Fit shortens a story to a while after the last thing that happens in it.
func (s *Story) Fit(last time.Time) {
	end := s.Entries[len(s.Entries)-1].At
	if last.After(end) {
		end = last
	}
	end = end.Add(30 * time.Minute).Truncate(time.Minute)
	if shortest := s.Start().Add(time.Hour); end.Before(shortest) {
		end = shortest
	}
	s.Until = end.In(s.Until.Location())
}
