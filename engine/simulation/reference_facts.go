package simulation

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
)

// ---- Facts and conditions.

// facts are what expressions see. Until the run's first wait or call a fact is taken from the event
// where it carries it, else fetched once; behind each of them it is fetched afresh.
type facts struct {
	e        *occurrence
	gathered []*occurrence
	slept    bool

	talk      *talkState
	talkKnown bool

	visit      *visitState
	visitKnown bool
	visitID    string // the attendance concerned, once known

	card      *cardState
	cardKnown bool
	cardID    string // at hand
	cardless  bool   // none was found or created

	read     bool // messages are those that were read
	messages []said
}

// facts returns those of an event.
func (o *oracle) facts(e *occurrence) *facts {
	f := &facts{e: e}
	if e.visit != nil {
		f.visitID = e.visit.id
	}
	if e.card != nil {
		f.cardID = e.card.id
	}
	return f
}

// noCard makes no card be at hand.
func (f *facts) noCard() { f.card, f.cardKnown, f.cardID, f.cardless = nil, true, "", true }

// refetch makes facts be fetched afresh.
func (f *facts) refetch() { f.talkKnown, f.visitKnown, f.cardKnown = false, false, false }

// lookBack is how many messages of a conversation are looked at, from the newest on.
const lookBack = 1000

// newest returns these messages, oldest first.
func (t *talkState) newest() []said {
	if t == nil {
		return nil
	}
	return t.said[max(0, len(t.said)-lookBack):]
}

func (o *oracle) talkFact(f *facts) *talkState {
	if !f.talkKnown {
		f.talkKnown, f.talk = true, f.e.talk
		if now := o.talks[f.e.Customer]; f.slept || f.talk == nil {
			if f.talk = nil; now != nil {
				then := *now
				f.talk = &then
			}
		}
	}
	return f.talk
}

// visitAtHand is the attendance concerned, else the open one.
func (o *oracle) visitAtHand(f *facts) *visitState {
	for _, v := range o.visits {
		if v.id == f.visitID {
			return v
		}
	}
	if t := o.talks[f.e.Customer]; t != nil {
		return o.visitOf(t.id)
	}
	return nil
}

// visitFact is the attendance. Looked up: the one that was open at the first read stays the one
// concerned, also when it is closed.
func (o *oracle) visitFact(f *facts) *visitState {
	if !f.visitKnown {
		f.visitKnown, f.visit = true, f.e.visit
		if now := o.visitAtHand(f); f.slept || f.visit == nil {
			if f.visit = nil; now != nil {
				then := *now
				f.visit, f.visitID = &then, now.id
			}
		}
	}
	return f.visit
}

func (o *oracle) cardFact(f *facts) *cardState {
	if !f.cardKnown {
		f.cardKnown, f.card = true, f.e.card
		if f.slept || f.card == nil {
			f.card = nil
			for _, c := range o.cards {
				if c.id == f.cardID {
					then := *c
					f.card = &then
				}
			}
		}
	}
	return f.card
}

// texts returns the messages: what was gathered, or read, else the event's own.
func (f *facts) texts() (list []said) {
	if f.read {
		return f.messages
	}
	events := f.gathered
	if len(events) == 0 {
		events = []*occurrence{f.e}
	}
	for _, e := range events {
		if e.message != nil {
			list = append(list, *e.message)
		}
	}
	return list
}

// asksFor reports whether a condition names a fact.
func (c *Cond) asksFor(fact string) bool {
	if c == nil {
		return false
	}
	of := map[string]string{CondAttendanceOpen: "attendance", CondAnswered: "attendance", CondBusiness: "attendance", CondAssigned: "conversation", CondSector: "conversation", CondStage: "card"}
	return of[c.Kind] == fact || slices.ContainsFunc(c.Of, func(part Cond) bool { return part.asksFor(fact) })
}

// holds evaluates a condition; none is true. It is not ok if it fails: it reads a field of a
// missing fact. Looked up: all facts that an expression names are fetched before it is evaluated.
func (o *oracle) holds(c *Cond, f *facts, results map[string]*occurrence) (yes, ok bool) {
	if c.asksFor("attendance") {
		o.visitFact(f)
	}
	if c.asksFor("conversation") {
		o.talkFact(f)
	}
	if c.asksFor("card") {
		o.cardFact(f)
	}
	if c == nil {
		return true, true
	}
	yes, ok = o.evaluate(c, f, results)
	return yes != c.Not && ok, ok
}

func (o *oracle) evaluate(c *Cond, f *facts, results map[string]*occurrence) (yes, ok bool) {
	t := o.talks[f.e.Customer]
	switch c.Kind {
	case CondAny, CondAll: // left to right, with short circuit
		for i := range c.Of {
			if yes, ok = o.holds(&c.Of[i], f, results); !ok || yes == (c.Kind == CondAny) {
				return yes, ok
			}
		}
		return c.Kind == CondAll, true
	case CondSays:
		list := f.texts()
		if len(f.gathered) == 0 && f.e.message != nil {
			list = []said{*f.e.message}
		}
		return slices.ContainsFunc(list, func(m said) bool { return strings.Contains(words(m.text), words(c.Text)) }), true
	case CondTextIs:
		return f.e.message != nil && f.e.message.text == c.Text, f.e.message != nil
	case CondByTeam:
		return f.e.message != nil && f.e.message.by == "team", f.e.message != nil
	case CondTypeIs:
		return f.e.Type == c.Text, true
	case CondMany:
		return len(f.texts()) >= c.N, true
	case CondOpen:
		return isOpen(c.Text, o.now, o.zone), true
	case CondHasLabel:
		fact := o.talkFact(f)
		return fact != nil && slices.Contains(fact.labels, c.Text), true
	case CondAssigned:
		fact := o.talkFact(f)
		return fact != nil && fact.assignee != "", fact != nil
	case CondSector:
		fact := o.talkFact(f)
		return fact != nil && fact.sector == c.Text, fact != nil
	case CondHumanActive:
		newest := t.newest()
		return slices.ContainsFunc(newest, func(m said) bool { return m.by == "team" && !m.at.Before(o.now.Add(-c.For)) }) ||
			len(newest) == lookBack && !newest[0].at.Before(o.now.Add(-c.For)), true
	case CondWaiting:
		since := o.now
		for _, m := range t.newest() {
			switch {
			case m.by == "team":
				since = o.now
			case m.by == "customer" && m.at.Before(since):
				since = m.at
			}
		}
		return o.now.Sub(since) > c.For, true
	case CondCount:
		n := 0
		for _, e := range o.lanes[f.e.lane].all {
			if e.Type == c.Text && !e.At.Before(o.now.Add(-c.For)) {
				n++
			}
		}
		return n >= c.N, true
	case CondAttendanceOpen:
		fact := o.visitFact(f)
		return fact != nil && fact.open, fact != nil
	case CondAnswered:
		fact := o.visitFact(f)
		return fact != nil && fact.answered, fact != nil
	case CondBusiness:
		fact := o.visitFact(f)
		return fact != nil && openBetween(c.Text, fact.opened, o.now, o.zone) > c.For, fact != nil
	case CondStage:
		fact := o.cardFact(f)
		return fact != nil && fact.stage == c.Text, fact != nil
	case CondNoAnswer:
		return results[c.Text] == nil, true
	case CondAnswerIs:
		id, text, _ := strings.Cut(c.Text, "=")
		e := results[id]
		return e != nil && e.message != nil && e.message.text == text, true
	}
	panic("the reference does not know the condition " + c.Kind)
}

// words returns the words of a text in small letters, a blank before, between and behind them.
func words(text string) string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return " " + strings.Join(list, " ") + " "
}

// ---- Calendars.

// openings yields when a calendar is open, from the day before a time on.
func openings(calendar string, from time.Time, zone *time.Location) iter.Seq2[time.Time, time.Time] {
	const minute, lastDay = time.Minute, 400
	return func(yield func(start, end time.Time) bool) {
		y, m, d := from.In(zone).Date()
		for n := -1; n < lastDay; n++ {
			midnight := time.Date(y, m, d+n, 0, 0, 0, 0, zone)
			var shifts [][2]int // in minutes
			switch day := midnight.Weekday(); {
			case calendar == "night":
				shifts = [][2]int{{22 * 60, 30 * 60}}
			case midnight.Format(time.DateOnly) == "2026-11-20" || day == time.Sunday:
			case day == time.Saturday:
				shifts = [][2]int{{9 * 60, 13 * 60}}
			default:
				shifts = [][2]int{{8 * 60, 12 * 60}, {13*60 + 30, 18 * 60}}
			}
			for _, s := range shifts {
				if !yield(midnight.Add(time.Duration(s[0])*minute), midnight.Add(time.Duration(s[1])*minute)) {
					return
				}
			}
		}
	}
}

func isOpen(calendar string, at time.Time, zone *time.Location) bool {
	for start, end := range openings(calendar, at, zone) {
		if start.After(at) {
			return false
		}
		if at.Before(end) {
			return true
		}
	}
	return false
}

// nextOpening is when a calendar opens next; while it is open, when it does after it has closed.
func nextOpening(calendar string, after time.Time, zone *time.Location) time.Time {
	for start := range openings(calendar, after, zone) {
		if start.After(after) {
			return start
		}
	}
	return after
}

// openingTime is when a calendar has been open for so long since a time.
func openingTime(calendar string, from time.Time, length time.Duration, zone *time.Location) time.Time {
	if length == 0 {
		return from
	}
	for start, end := range openings(calendar, from, zone) {
		if start.Before(from) {
			start = from
		}
		switch open := end.Sub(start); {
		case open <= 0:
		case length <= open:
			return start.Add(length)
		default:
			length -= open
		}
	}
	return from
}

// openBetween is how long a calendar is open between two times.
func openBetween(calendar string, from, to time.Time, zone *time.Location) (open time.Duration) {
	for start, end := range openings(calendar, from, zone) {
		if start.After(to) {
			break
		}
		if start.Before(from) {
			start = from
		}
		if end.After(to) {
			end = to
		}
		open += max(0, end.Sub(start))
	}
	return open
}
