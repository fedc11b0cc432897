package sentence

import (
	"strings"
	"sync"

	"github.com/quandohq/quando/rules/phrases"
)

// A saying is a sentence, or a value, that people say otherwise than its parts. The blanks of its
// expression are those of its words.
type saying struct {
	name       string // of its words
	expression string
}

// sayings are looked at in this order.
var sayings = []saying{
	{"event.type", `event.type == {event}`},
	{"event.old", `event.age > {duration}`},
	{"event.fresh", `event.age < {duration}`},
	{"message.there", `message != nil`},
	{"message.customer", `message.by == "customer"`},
	{"message.team", `message.by == "team"`},
	{"message.engine", `message.by == "engine"`},
	{"message.file", `message.media_id != nil`},
	{"message.reply", `message.reply_to_external_id != nil`},
	{"message.number", `number(message.text) != nil`},
	{"message.is", `message.text == {text}`},
	{"conversation.there", `conversation != nil`},
	{"conversation.direct", `conversation.kind == "direct"`},
	{"conversation.group", `conversation.kind == "group"`},
	{"conversation.taken", `conversation.assignee != nil`},
	{"conversation.taken", `conversation.assignee_name != nil`},
	{"conversation.person", `conversation.assignee_name == {person}`},
	{"conversation.placed", `conversation.sector != nil`},
	{"conversation.placed", `conversation.sector_name != nil`},
	{"conversation.sector", `conversation.sector_name == {sector}`},
	{"conversation.channel", `conversation.channel_name == {channel}`},
	{"conversation.label", `{label} in conversation.labels`},
	{"conversation.labels", `any(conversation.labels, # in {labels})`},
	{"conversation.archived", `conversation.archived`},
	{"conversation.pinned", `conversation.pinned`},
	{"conversation.muted", `conversation.muted`},
	{"conversation.unread", `conversation.unread`},
	{"contact.there", `contact != nil`},
	{"contact.label", `{label} in contact.labels`},
	{"contact.labels", `any(contact.labels, # in {labels})`},
	{"contact.blocked", `contact.blocked`},
	{"attendance.there", `attendance != nil`},
	{"attendance.open", `attendance.status == "open"`},
	{"attendance.shut", `attendance.status == "closed"`},
	{"attendance.answered", `attendance.first_response != nil`},
	{"attendance.ended", `attendance.closed_at != nil`},
	{"attendance.taken", `attendance.assignee != nil`},
	{"attendance.taken", `attendance.assignee_name != nil`},
	{"attendance.person", `attendance.assignee_name == {person}`},
	{"attendance.placed", `attendance.sector != nil`},
	{"attendance.placed", `attendance.sector_name != nil`},
	{"attendance.sector", `attendance.sector_name == {sector}`},
	{"attendance.hours", `business_time({calendar}, attendance.opened_at, now()) > {duration}`},
	{"attendance.long", `now() - attendance.opened_at > {duration}`},
	{"card.there", `card != nil`},
	{"card.board", `card.board_name == {board}`},
	{"card.stage", `card.stage_name == {stage}`},
	{"card.stages", `card.stage_name in {stages}`},
	{"card.from", `card.from_stage_name == {stage}`},
	{"card.overdue", `card.due < now()`},
	{"card.due", `card.due != nil`},
	{"card.customer", `card.contact_id != nil`},
	{"waits.not_at_all", `customer_waiting() == duration("0s")`},
	{"waits.at_all", `customer_waiting() > duration("0s")`},
	{"waits.longer", `customer_waiting() > {duration}`},
	{"waits.least", `customer_waiting() >= {duration}`},
	{"waits.less", `customer_waiting() < {duration}`},
	{"count.some", `count_events({event}, {duration}) > 0`},
	{"count.none", `count_events({event}, {duration}) == 0`},
	{"count.more", `count_events({event}, {duration}) > {number}`},
	{"count.least", `count_events({event}, {duration}) >= {number}`},
	{"count.less", `count_events({event}, {duration}) < {number}`},
	{"opens.later", `next_open({calendar}) - now() > {duration}`},
	{"opens.soon", `next_open({calendar}) - now() < {duration}`},
	{"closes.later", `next_close({calendar}) - now() > {duration}`},
	{"closes.soon", `next_close({calendar}) - now() < {duration}`},
	{"past.more", `now() - {time} > {duration}`},
	{"past.less", `now() - {time} < {duration}`},
	{"clock.from", `now().Format("15:04") >= {clock}`},
	{"clock.after", `now().Format("15:04") > {clock}`},
	{"clock.until", `now().Format("15:04") < {clock}`},
	{"clock.to", `now().Format("15:04") <= {clock}`},
	{"hour.from", `now().Hour() >= {hour}`},
	{"hour.until", `now().Hour() < {hour}`},
	{"weekday.is", `now().Weekday().String() == {weekday}`},
	{"weekday.in", `now().Weekday().String() in {weekdays}`},
	{"number.in", `number({text}) != nil`},
	{"part.in", `extract({text}, {pattern}) != nil`},
	{"value.empty", `{value} == ""`},
}

// called are the values among them.
var called = []saying{
	{"today", `day(now(), 0)`},
	{"today", `day(now())`},
	{"yesterday", `day(now(), -1)`},
	{"tomorrow", `day(now(), 1)`},
	{"day", `day(now(), {number})`},
	{"date", `day({time}, 0)`},
	{"last", `now().AddDate(0, 0, -1)`},
	{"later", `now().AddDate(0, 0, {number})`},
	{"open_hours", `business_time({calendar}, attendance.opened_at, now())`},
	{"open_time", `now() - attendance.opened_at`},
	{"now_clock", `now().Format("15:04")`},
	{"now_day", `now().Weekday().String()`},
	{"now_hour", `now().Hour()`},
	{"until_open", `next_open({calendar}) - now()`},
	{"until_close", `next_close({calendar}) - now()`},
	{"weekday_time.pt", `weekday_time({time}, "pt")`},
	{"weekday_time.en", `weekday_time({time}, "en")`},
	{"day_time.pt", `day_time({time}, "pt")`},
	{"day_time.en", `day_time({time}, "en")`},
	{"time_until.pt", `time_until({time}, "pt")`},
	{"time_until.en", `time_until({time}, "en")`},
	{"first_name", `first(split(trim(contact.name ?? ""), " "))`},
	{"in_sector", `count({list}, #.sector_name == {sector})`},
	{"no_sector", `count({list}, #.sector_name == nil)`},
	{"messages", `len(messages)`},
	{"events", `len(events)`},
}

// A readSaying is a saying with its expression as it is read.
type readSaying struct {
	saying
	code      phrases.Code
	condition Condition
	value     Term
}

// readSayings returns the sayings of conditions, in their order, and those of a sentence or of a
// value by its key.
var readSayings = sync.OnceValues(func() (list []readSaying, byKey [2]map[string][]readSaying) {
	byKey = [2]map[string][]readSaying{{}, {}}
	for _, s := range sayings {
		c := Read(withBlanks(s.expression))
		if c.Sentence == "one_of" && strings.HasPrefix(s.expression, "{") { // what fills it is written out
			c = Condition{Sentence: "has", Not: c.Not, Blanks: map[string]Term{"item": c.Blanks["x"], "list": c.Blanks["list"]}}
		}
		r := readSaying{saying: s, code: phrases.Code("saying." + s.name), condition: c}
		list = append(list, r)
		byKey[0][c.Sentence] = append(byKey[0][c.Sentence], r)
	}
	for _, s := range called {
		t := ReadValue(withBlanks(s.expression))
		byKey[1][t.Value] = append(byKey[1][t.Value], readSaying{saying: s, code: phrases.Code("called." + s.name), value: t})
	}
	return list, byKey
})

// withBlanks returns an expression with names for its blanks.
func withBlanks(expression string) string {
	return blankName.ReplaceAllString(expression, blankPrefix+"$1")
}

// sayingsOf returns the sayings that a sentence, or a value, of a key may be.
func sayingsOf(which int, key string) []readSaying {
	_, byKey := readSayings()
	return byKey[which][key]
}

// A slot is a blank of some words, with the term that fills it and where that stands.
type slot struct {
	name string
	term Term
	at   string // the names of the blanks that lead to it, such as x.calendar
}

// fitsCondition reports whether a condition is what another with blanks says, whether or not it is
// the contrary, and returns what fills the blanks.
func (w wording) fitsCondition(p, c Condition, at string) (slots []slot, ok bool) {
	if p.Sentence != c.Sentence {
		return nil, false
	}
	for _, name := range blankNames(p.Blanks) {
		more, ok := w.fits(p.Blanks[name], c.Blanks[name], at+name)
		if !ok {
			return nil, false
		}
		slots = append(slots, more...)
	}
	return slots, true
}

func (w wording) fits(p, t Term, at string) (slots []slot, ok bool) {
	if name, blank := strings.CutPrefix(p.Text, blankPrefix); blank && p.Kind == Name {
		return []slot{{name, t, at}}, true
	}
	switch {
	case p.Kind != t.Kind || len(p.List) != len(t.List) || p.Value != t.Value:
		return nil, false
	case p.Kind == Name && w.plainName(p.Text) != w.plainName(t.Text), p.Kind != Name && p.Text != t.Text:
		return nil, false
	}
	for i := range p.List {
		more, ok := w.fits(p.List[i], t.List[i], at)
		if !ok {
			return nil, false
		}
		slots = append(slots, more...)
	}
	for _, name := range blankNames(p.Blanks) {
		more, ok := w.fits(p.Blanks[name], t.Blanks[name], at+"."+name)
		if !ok {
			return nil, false
		}
		slots = append(slots, more...)
	}
	if p.Condition != nil {
		more, ok := w.fitsCondition(*p.Condition, *t.Condition, at+".condition.")
		if !ok || p.Condition.Not != t.Condition.Not {
			return nil, false
		}
		slots = append(slots, more...)
	}
	return slots, true
}

// plainName returns the name of the same value by which sayings know it.
func (w wording) plainName(path string) string {
	path = strings.ReplaceAll(path, "?.", ".")
	if rest, ok := strings.CutPrefix(path, "#."); ok && w.item != "" {
		return w.item + "." + rest
	}
	for _, fact := range []string{"message.", "attendance.", "card."} {
		if rest, ok := strings.CutPrefix(path, "event."+fact); ok {
			return fact + rest
		}
	}
	return path
}
