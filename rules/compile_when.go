package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// eachItems are what a schedule's each can go through, with the filters of the list operation that
// finds them.
var (
	eachItems   = []string{"attendances", "conversations", "contacts", "cards"}
	eachFilters = map[string][]Arg{
		"attendances": {
			{Name: "status", Kind: KindChoice, Values: []string{"open", "closed"}, Summary: "the status"},
			{Name: "assignee", Kind: KindName, Refers: "person", Summary: "a person, or `none`"},
			{Name: "sector", Kind: KindName, Refers: "sector", Summary: "a sector"},
			{Name: "conversation", Kind: KindText, Summary: "a conversation's id"},
			{Name: "protocol", Kind: KindText, Summary: "a protocol number"},
			{Name: "from", Kind: KindWhen, Summary: "opened from"},
			{Name: "to", Kind: KindWhen, Summary: "opened before"},
		},
		"conversations": {
			{Name: "q", Kind: KindText, Summary: "name, phone or part of the last message"},
			{Name: "archived", Kind: KindFlag, Summary: "archived ones, or the others"},
			{Name: "unread", Kind: KindFlag, Summary: "only unread ones"},
			{Name: "kind", Kind: KindChoice, Values: []string{"direct", "group"}, Summary: "the kind"},
			{Name: "channel", Kind: KindName, Refers: "channel", Summary: "a WhatsApp number"},
			{Name: "assignee", Kind: KindName, Refers: "person", Summary: "a person, `none` or `me`"},
			{Name: "sector", Kind: KindName, Refers: "sector", Summary: "a sector"},
			{Name: "label", Kind: KindName, Refers: "label", Summary: "a label"},
		},
		"contacts": {
			{Name: "q", Kind: KindText, Summary: "name or phone"},
			{Name: "label", Kind: KindName, Refers: "label", Summary: "a label"},
			{Name: "channel", Kind: KindName, Refers: "channel", Summary: "a WhatsApp number"},
		},
		"cards": {
			{Name: "board", Kind: KindName, Refers: "board", Summary: "a board"},
			{Name: "q", Kind: KindText, Longest: 100, Summary: "a text, at most 100 characters"},
			{Name: "priority", Kind: KindChoice, Values: vocabulary.Priorities, Summary: "the priority"},
			{Name: "label", Kind: KindName, Refers: "label", Summary: "a label"},
			{Name: "due", Kind: KindChoice, Values: []string{"any", "today", "week", "overdue", "none"}, Summary: "by due date"},
			{Name: "tz", Kind: KindZone, Summary: "the zone of the due dates"},
			{Name: "status", Kind: KindText, Summary: "`all`, `open` or another status of the service"},
		},
	}
	eachScopes = map[string]string{
		"attendances": "attendances:read", "conversations": "conversations:read", "contacts": "contacts:read", "cards": "read",
	}
)

// ruleTrigger compiles `when` and `gather`, and returns what the rule's expressions can see.
func (c *compiler) ruleTrigger(n *source.Node) *environment {
	r := c.rule
	when := c.required(n, "a rule", "when")
	// The expressions of a rule whose trigger is wrong are checked as if everything could start it.
	sources := []string{"manual"}
	if when != nil {
		if names := eventKeys(when); names != nil {
			c.report(when, say("write a list: [%s]", strings.Join(names, ", ")), "several events stand in [ ], not in { }")
			sources = names
		} else if when.Kind == source.Mapping {
			r.When.Schedule = c.schedule(when)
			if each := when.Get("each"); each == nil {
				sources = nil
			} else if r.When.Schedule.Each != "" {
				sources = []string{r.When.Schedule.Each}
			}
		} else if names := c.triggerNames(when); len(names) > 0 {
			sources = names
		}
	}
	if v := n.Get("gather"); v != nil {
		r.Gather = c.gather(v)
	}
	env := c.environment(sources, r.Gather != nil)
	if r.When.Schedule != nil {
		c.where(when)
	}
	return env
}

// eventKeys returns the events of a mapping that has nothing but their names, or nil.
func eventKeys(n *source.Node) (names []string) {
	for _, p := range n.Pairs {
		if p.Value.Kind != source.Null || !slices.Contains(eventNames, p.Key.Value) {
			return nil
		}
		names = append(names, p.Key.Value)
	}
	return names
}

// triggerNames reads one event's name or a list of them.
func (c *compiler) triggerNames(n *source.Node) []string {
	var names []string
	for _, item := range oneOrMore(n) {
		switch {
		case item.Kind == source.Scalar && item.Value == vocabulary.Manual:
			c.rule.When.Manual = true
			names = append(names, vocabulary.Manual)
		case item.Kind == source.Mapping:
			c.report(item, say("make it a rule of its own"), "a schedule cannot stand in a list of events")
		default:
			events := c.eventNames(item)
			for _, e := range events {
				if slices.Contains(c.rule.When.Events, e) {
					c.report(item, nil, "the event %s is named twice", e)
				}
			}
			c.rule.When.Events = append(c.rule.When.Events, events...)
			names = append(names, events...)
		}
	}
	if n.Kind == source.List && len(n.Items) == 0 {
		c.report(n, nil, "when names no event")
	}
	return names
}

// eventNames reads an event's name, or a pattern such as kanban.card.* that stands for several.
func (c *compiler) eventNames(n *source.Node) []string {
	s, ok := c.text(n, "an event")
	if !ok {
		return nil
	}
	if slices.Contains(eventNames, s) {
		return []string{s}
	}
	if prefix, ok := strings.CutSuffix(s, "*"); ok && strings.HasSuffix(prefix, ".") {
		var names []string
		for _, e := range eventNames {
			if strings.HasPrefix(e, prefix) {
				names = append(names, e)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	c.report(n, eventHint(s, append(slices.Clone(eventNames), "kanban.card.*", vocabulary.Manual)), "unknown event %q", s)
	return nil
}

func (c *compiler) eventList(n *source.Node) []string {
	c.notEmpty(n, "event", nil)
	var names []string
	for _, item := range oneOrMore(n) {
		names = append(names, c.eventNames(item)...)
	}
	return names
}

const scheduleExample = "as in { every: 5m }, { cron: \"0 9 * * mon-fri\" } or { at: \"09:00\", on: mon-fri }"

var scheduleKeys = []string{"every", "cron", "at", "on", "timezone", "each", "where"}

func (c *compiler) schedule(n *source.Node) *Schedule {
	s := &Schedule{}
	c.mapping(n, "a schedule", scheduleKeys...)
	var kinds []string
	for _, kind := range []string{"every", "cron", "at"} {
		if n.Get(kind) != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 || len(kinds) == 0 && !hasUnknown(n, scheduleKeys) {
		c.report(n, phrases.Word(scheduleExample).Message(), "a schedule needs one of every, cron and at; here is %s", phrases.And(kinds))
	}
	loc := time.UTC
	if v := n.Get("timezone"); v != nil {
		if zone := c.zone(v); zone != nil {
			loc, s.Timezone = zone, v.Value
		}
	}
	if v := n.Get("every"); v != nil {
		c.every(v, s)
		if zone := n.Get("timezone"); zone != nil {
			c.report(zone, say("use at: or cron: for local times"), "every ticks at whole multiples in UTC and takes no timezone")
		}
	}
	if v := n.Get("cron"); v != nil {
		c.cron(v, s, loc)
	}
	if v := n.Get("at"); v != nil {
		c.at(v, s)
	}
	if v := n.Get("on"); v != nil {
		c.on(n, v, s)
	}
	if v := n.Get("each"); v != nil {
		if each, ok := c.choice(v, "each", eachItems); ok {
			s.Each = each
			c.rule.Scopes = union(c.rule.Scopes, []string{eachScopes[each]})
		}
	} else if v := n.Get("where"); v != nil {
		c.report(v, nil, "where needs each: it filters the items")
	}
	return s
}

func (c *compiler) every(n *source.Node, s *Schedule) {
	d, ok := c.duration(n, "every")
	if !ok {
		return
	}
	if d < time.Second || d%time.Second != 0 {
		c.report(n, nil, "every must be whole seconds, at least 1s, not %q", n.Value)
		return
	}
	if d%(24*time.Hour) == 0 {
		c.warn(n, say("write at: \"09:00\", with on: mon where it is once a week"), "every %s ticks at midnight in UTC, which is another time of day in most places", duration.Format(d))
	}
	s.Every = d
}

func (c *compiler) cron(n *source.Node, s *Schedule, loc *time.Location) {
	text, ok := c.static(n, "cron")
	if !ok {
		return
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		c.report(n, say("minute hour day-of-month month day-of-week, as in 0 9 * * mon-fri"), "a cron needs 5 fields, not %d", len(fields))
		return
	}
	// The zone has a key of its own, and the parser panics unless a space follows TZ=.
	if strings.Contains(fields[0], "=") {
		c.report(n, say("write timezone: beside cron:"), "a cron names no time zone")
		return
	}
	text = strings.Join(fields, " ")
	spec, err := cron.ParseStandard(text)
	if err != nil {
		c.report(n, say("minute hour day-of-month month day-of-week"), "not a cron: %v", err)
		return
	}
	s.spec, _ = spec.(*cron.SpecSchedule) // what five fields always give
	if s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), loc).IsZero() {
		c.report(n, say("look at the day and the month"), "the cron never comes true")
		return
	}
	if day, weekday := fields[2], fields[4]; !strings.HasPrefix(day, "*") && !strings.HasPrefix(weekday, "*") && day != "?" && weekday != "?" {
		c.warn(n, say("put * in one of the two, and the other into `if`"), "the cron runs when the day of the month or the day of the week fits, not when both do")
	}
	s.Cron = text
}

func (c *compiler) at(n *source.Node, s *Schedule) {
	c.notEmpty(n, "at", nil)
	for _, item := range oneOrMore(n) {
		text, ok := c.static(item, "at")
		if !ok {
			continue
		}
		t, err := calendar.ParseTimeOfDay(text)
		if err == nil && t >= 24*time.Hour {
			c.report(item, say("midnight is 00:00"), "%q is not a time of day", text)
			continue
		}
		if err != nil {
			c.report(item, say("in quotes, as in \"09:00\""), "%v", err)
			continue
		}
		if slices.Contains(s.At, t) {
			c.report(item, nil, "the time %s is named twice", text)
		}
		s.At = append(s.At, t)
	}
}

func (c *compiler) on(schedule, n *source.Node, s *Schedule) {
	if schedule.Get("at") == nil {
		c.report(n, say("a cron names its own days"), "on goes with at")
	}
	c.notEmpty(n, "on", say("leave it out for every day"))
	for _, item := range oneOrMore(n) {
		text, ok := c.text(item, "on")
		if !ok {
			continue
		}
		days, err := calendar.ParseDays(text)
		if err != nil {
			c.report(item, nil, "%v", err)
			continue
		}
		for _, d := range days {
			if !slices.Contains(s.On, d) {
				s.On = append(s.On, d)
			}
		}
	}
}

// where compiles the filters of a schedule's each. They are worked out at every tick.
func (c *compiler) where(n *source.Node) {
	s, w := c.rule.When.Schedule, n.Get("where")
	if w == nil || s.Each == "" {
		return
	}
	args := eachFilters[s.Each]
	if !c.mapping(w, "where", argNames(args)...) {
		return
	}
	tick, mentioned := c.environment(nil, false), len(c.rule.names)
	for _, p := range w.Pairs {
		for _, a := range args {
			if a.Name == p.Key.Value {
				if v := c.argument(p.Value, &a, tick); v != nil {
					s.Where = append(s.Where, Setting{a.Name, v})
				}
			}
		}
	}
	c.mentionedBeside(mentioned, args)
}

// An Each is what a schedule can go through, for the documentation and for editors.
type Each struct {
	Name    string
	Filters []Arg
	Facts   []string // that come with an item
}

// EachItems returns what a schedule can go through.
func EachItems() []Each {
	out := make([]Each, len(eachItems))
	for i, name := range eachItems {
		out[i] = Each{name, eachFilters[name], factsOf(name)}
	}
	return out
}
