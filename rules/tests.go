package rules

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Test is a scenario with customers and the team, and the effects that it expects of the rules.
type Test struct {
	Name   string
	Rules  []string // the ids of those that run; empty is those of its folder
	All    bool     // all rules of the workspace run
	Start  time.Time
	Given  map[string]any // the sandbox's state
	Steps  []TestStep
	Faults []string // deliver twice, crash every_step …
	Safety TestSafety
	File   string
	Line   int
}

// TestSafety are the safety bounds of a test; zero values are those of its workspace.
type TestSafety struct {
	PerConversation, Messages duration.Rate
	Internal                  []string // phones and ids of conversations that are not counted; nil is not said
}

// A TestStep is one action, or one check of the effects.
type TestStep struct {
	Line     int
	Fields   map[string]any // all but expect and expect_would; labels is a list, the others are as testStep reads them
	Expected []ExpectedEffect
	Expects  bool // also when nothing is expected

	// Would is what rules in shadow would have done.
	Would        []ExpectedEffect
	ExpectsWould bool // also when nothing is expected
}

// An ExpectedEffect is an effect on the service that must have happened.
type ExpectedEffect struct {
	Verb string
	Args map[string]any // those that matter; a mapping {contains: …} or {matches: …} is a matcher
	Line int
}

var (
	testKeys     = []string{"name", "rules", "start", "given", "safety", "steps", "faults"}
	testStepKeys = []string{
		"customer", "team", "says", "sends", "to", "closes", "moves", "takes", "labels", "of", "mutes", "unmutes", "for", "event", "contact", "data", "late", "at", "fault", "answer", "expect", "expect_would",
	}
	// teamDeeds are what a team member does in a step; a file that is sent may have a text.
	teamDeeds = []string{"says", "sends", "closes", "moves", "takes", "labels", "mutes", "unmutes"}
	givenKeys = map[string][]string{
		"contacts":      {"id", "name", "phone", "company", "city", "labels", "blocked", "channel"},
		"conversations": {"id", "contact", "channel", "kind", "name", "labels", "assignee", "sector", "archived", "pinned", "muted"},
		"attendances":   {"id", "contact", "status", "assignee", "sector", "opened_at", "first_response_at", "closed_at"},
		"cards":         {"id", "board", "stage", "title", "description", "priority", "labels", "due", "contact", "conversation"},
		"boards":        {"id", "name", "stages", "archived"},
		"labels":        {"id", "name", "color"},
		"sectors":       {"id", "name", "members"},
		"people":        {"id", "name", "role", "presence", "sectors", "phone", "channel"},
		"channels":      {"id", "name", "phone", "private"},
	}
	givenNames = []string{"contacts", "conversations", "attendances", "cards", "boards", "labels", "sectors", "people", "channels"}
	faultKinds = map[string][]string{
		"deliver": {"twice", "reordered", "late"},
		"crash":   {"every_step"},
		"service": {"503_before", "503_after", "429", "conflict"},
	}
	faultNames = []string{"deliver", "crash", "service"}
	faultKeys  = []string{"operation", "kind", "status", "retry_after", "delay", "share", "count"}
	answerKeys = []string{"url", "status", "json", "text", "fails"}
	// answerFailures are how another system fails to answer: the call never gets there, or it gets
	// there and nothing comes back.
	answerFailures = []string{"unreachable", "timeout"}
	testMoment     = regexp.MustCompile(`^(?:(\S+) )?(\d{1,2}:\d{2})$`)
)

func (c *compiler) compileTest(n *source.Node, ids map[string]*source.Node) {
	if n.Kind != source.Mapping {
		c.report(n, say("begin it with name: …"), "a test must be a mapping, not %s", n.Kind)
		return
	}
	t := &Test{File: c.file.Name, Line: n.Line}
	before := len(c.problems)
	c.mapping(n, "a test", testKeys...)
	if v := c.required(n, "a test", "name"); v != nil {
		t.Name, _ = c.text(v, "name")
		if slices.ContainsFunc(c.set.Tests, func(o *Test) bool { return o.Name == t.Name && o.File == t.File }) {
			c.report(v, say("choose another"), "there are two tests with this name")
		}
	}
	if v := n.Get("rules"); v != nil {
		c.testRules(t, v, ids)
	}
	if v := n.Get("start"); v != nil {
		t.Start = c.testTime(v)
	}
	if v := n.Get("given"); v != nil {
		t.Given = c.testState(v)
	}
	if v := n.Get("safety"); v != nil {
		t.Safety = c.testSafety(v)
	}
	if v := n.Get("faults"); v != nil {
		t.Faults = c.faults(v)
	}
	if v := c.required(n, "a test", "steps"); v != nil {
		if v.Kind != source.List {
			c.report(v, say("put a dash in front of each step"), "steps must be a list, not %s", v.Kind)
		}
		for _, item := range v.Items {
			t.Steps = append(t.Steps, c.testStep(item))
		}
		if !slices.ContainsFunc(t.Steps, func(s TestStep) bool { return s.Expects || s.ExpectsWould }) && !c.problems[before:].HasErrors() {
			c.report(v, say("add expect: [] where nothing may happen"), "the test expects nothing, so it cannot fail")
		}
	}
	if !c.problems[before:].HasErrors() {
		c.set.Tests = append(c.set.Tests, t)
	}
}

// testRules reads which rules run: their ids, or all of the workspace.
func (c *compiler) testRules(t *Test, n *source.Node, ids map[string]*source.Node) {
	if t.All = isAll(n); t.All {
		return
	}
	for _, item := range oneOrMore(n) {
		id, ok := c.text(item, "a rule's id")
		if ok && ids[id] == nil {
			hint := source.DidYouMean(id, mapKeys(ids))
			if id == "all" || id == "*" {
				hint = say("for all rules of the workspace write rules: all")
			}
			c.report(item, hint, "there is no rule %q", id)
		}
		t.Rules = append(t.Rules, id)
	}
}

// testSafety reads safety bounds, as the configuration has them.
func (c *compiler) testSafety(n *source.Node) (s TestSafety) {
	if !c.mapping(n, "safety", "messages_per_conversation", "messages", "internal") {
		return s
	}
	for name, to := range map[string]*duration.Rate{"messages_per_conversation": &s.PerConversation, "messages": &s.Messages} {
		v := n.Get(name)
		if v == nil {
			continue
		}
		text, ok := c.text(v, phrases.Word(name))
		if !ok {
			continue
		}
		var err error
		if *to, err = duration.ParseRate(text); err != nil {
			c.report(v, say("as in %s", "5 per 10m"), "%v", err)
		}
	}
	if v := n.Get("internal"); v != nil {
		s.Internal = []string{}
		for _, item := range oneOrMore(v) {
			if chat, ok := c.text(item, "a phone or a conversation's id"); ok {
				s.Internal = append(s.Internal, chat)
			}
		}
	}
	return s
}

func mapKeys(m map[string]*source.Node) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

func (c *compiler) testTime(n *source.Node) time.Time {
	s, ok := c.text(n, "start")
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		c.report(n, say("with its offset, as in 2026-11-13T17:50:00-03:00"), "%q is not a time", s)
	}
	return t
}

// testState checks the outline of the sandbox's state.
func (c *compiler) testState(n *source.Node) map[string]any {
	if !c.mapping(n, "given", givenNames...) {
		return nil
	}
	for _, p := range n.Pairs {
		keys, known := givenKeys[p.Key.Value]
		if !known {
			continue
		}
		if p.Value.Kind != source.List {
			c.report(p.Value, say("put a dash in front of each"), "%s must be a list, not %s", p.Key.Value, p.Value.Kind)
			continue
		}
		for _, item := range p.Value.Items {
			// A name alone is enough for an object that needs no more: labels: [vip].
			if item.Kind != source.Scalar {
				c.mapping(item, phrases.Word("an item of "+p.Key.Value), keys...)
			}
		}
	}
	c.cardConversations(n)
	out, _ := n.Any().(map[string]any)
	return out
}

// cardConversations checks that the conversation of each card is that of a contact of the test.
func (c *compiler) cardConversations(given *source.Node) {
	var names []string
	if contacts := given.Get("contacts"); contacts != nil {
		for _, item := range contacts.Items {
			if item.Kind == source.Scalar {
				names = append(names, item.Value)
				continue
			}
			for _, key := range []string{"name", "phone", "id"} {
				if v := item.Get(key); v != nil {
					names = append(names, v.Value)
				}
			}
		}
	}
	cards := given.Get("cards")
	if cards == nil {
		return
	}
	for _, item := range cards.Items {
		v := item.Get("conversation")
		if v == nil {
			continue
		}
		name, ok := c.text(v, "conversation")
		if ok && !slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) }) {
			c.report(v, cmp.Or(source.DidYouMean(name, names), say("list the customer under contacts, and name the customer here")), "given has no contact %q whose conversation the card could belong to", name)
		}
	}
}

// AllFaults returns every fault with which a test can be repeated, as "deliver twice".
func AllFaults() (out []string) {
	for _, name := range faultNames {
		for _, kind := range faultKinds[name] {
			out = append(out, name+" "+kind)
		}
	}
	return out
}

// faults reads the faults with which a test is repeated, as "deliver twice".
func (c *compiler) faults(n *source.Node) []string {
	var out []string
	if n.Kind == source.Scalar && n.Value == "all" {
		return AllFaults()
	}
	if !c.mapping(n, "faults", faultNames...) {
		return nil
	}
	for _, p := range n.Pairs {
		kinds, known := faultKinds[p.Key.Value]
		if !known {
			continue
		}
		for _, item := range oneOrMore(p.Value) {
			if kind, ok := c.choice(item, phrases.Word(p.Key.Value), kinds); ok {
				out = append(out, p.Key.Value+" "+kind)
			}
		}
	}
	return out
}

func (c *compiler) testStep(n *source.Node) TestStep {
	s := TestStep{Line: n.Line, Fields: make(map[string]any)}
	if !c.mapping(n, "a test's step", testStepKeys...) {
		return s
	}
	for _, p := range n.Pairs {
		switch key := p.Key.Value; key {
		case "expect":
			s.Expects = true
			s.Expected = c.expected(p.Value, key)
		case "expect_would":
			s.ExpectsWould = true
			s.Would = c.expected(p.Value, key)
		case "labels":
			s.Fields[key] = c.testLabels(p.Value)
		case "sends":
			if text, ok := c.text(p.Value, phrases.Word(key)); ok {
				c.testFile(p.Value, text)
				s.Fields[key] = text
			}
		case "at":
			if text, ok := c.text(p.Value, "at"); ok {
				c.testAt(p.Value, text)
				s.Fields[key] = text
			}
		case "late", "for":
			if text, ok := c.text(p.Value, phrases.Word(key)); ok {
				c.duration(p.Value, phrases.Word(key))
				s.Fields[key] = text
			}
		case "event":
			if names := c.eventNames(p.Value); len(names) == 1 {
				s.Fields[key] = names[0]
			} else if len(names) > 1 {
				c.report(p.Value, say("name one of them"), "a step raises one event, not %d", len(names))
			}
		case "answer":
			if c.mapping(p.Value, "answer", answerKeys...) {
				c.answer(p.Value)
				s.Fields[key] = p.Value.Any()
			}
		case "data":
			s.Fields[key] = p.Value.Any()
		case "fault":
			if c.mapping(p.Value, "fault", faultKeys...) {
				c.fault(p.Value)
				s.Fields[key] = p.Value.Any()
			}
		default:
			if text, ok := c.text(p.Value, phrases.Word(key)); ok {
				s.Fields[key] = text
			}
		}
	}
	c.testActors(n)
	return s
}

// testLabels reads the labels that a team member puts on a conversation.
func (c *compiler) testLabels(n *source.Node) []any {
	var labels []any
	for _, item := range oneOrMore(n) {
		if label, ok := c.text(item, "a label"); ok {
			labels = append(labels, label)
		}
	}
	if n.Kind == source.List && len(n.Items) == 0 {
		c.report(n, say("as in %s", "labels: [vip]"), "no label is named")
	}
	return labels
}

// testFile checks the name of a file that is sent: its ending says what it is.
func (c *compiler) testFile(n *source.Node, name string) {
	switch {
	case strings.ContainsAny(name, `/\`):
		c.report(n, say("write its name alone, as in photo.jpg: a test sends no real file"), "%q is a path, not the name of a file", name)
	case len(path.Ext(name)) < 2:
		c.report(n, say("as in photo.jpg, voice.ogg, clip.mp4 or offer.pdf"), "%q has no ending that says whether it is a picture, a sound, a film or a document", name)
	}
}

// testActors reports a step whose keys do not fit together.
func (c *compiler) testActors(n *source.Node) {
	has := func(key string) bool { return n.Get(key) != nil }
	writes := has("says") || has("sends")
	deeds := slices.DeleteFunc(slices.Clone(teamDeeds), func(key string) bool { return !has(key) || key == "says" && has("sends") })
	switch {
	case has("customer") && has("team"):
		c.report(n, nil, "a step has a customer or a team member, not both")
	case has("customer") && slices.ContainsFunc(deeds, func(key string) bool { return key != "says" && key != "sends" }):
		c.report(n, nil, "a customer says or sends something; only the team closes, moves, takes, labels and mutes")
	case has("customer") && !writes:
		c.report(n, say("as in { customer: Ana, says: \"hello\" } or { customer: Ana, sends: photo.jpg }"), "the customer must say or send something")
	case has("team") && len(deeds) == 0:
		c.report(n, say("says, sends, closes, moves, takes, labels, mutes or unmutes"), "the team member must do something")
	case has("team") && len(deeds) > 1:
		c.report(n, say("make it %s steps", strconv.Itoa(len(deeds))), "a step is one thing that a team member does, not %s", phrases.And(deeds))
	case has("team") && writes && !has("to"):
		c.report(n, say("to: the customer's name"), "the team member must say or send it to somebody")
	case has("moves") && !has("to"):
		c.report(n, say("to: the stage"), "the card must be moved to a stage")
	case has("labels") && !has("of"):
		c.report(n, say("of: the customer's name"), "the labels must be put on somebody's conversation")
	case has("of") && !has("labels"):
		c.report(n, say("as in %s", "{ team: Bruno, labels: [vip], of: Marina }"), "of goes with labels")
	case has("for") && !has("mutes"):
		c.report(n, say("as in %s", "{ team: Bruno, mutes: Marina, for: 24h }"), "for goes with mutes")
	case (has("contact") || has("data")) && !has("event"):
		c.report(n, say("add event:"), "contact and data go with an event")
	case has("late") && !has("customer") && !has("team") && !has("event"):
		c.report(n, say("add customer:, team: or event:"), "nothing happens that could be heard of late")
	case has("to") && !(has("team") && (writes || has("moves"))):
		c.report(n, nil, "to goes with what a team member says, sends or moves")
	case len(deeds) > 0 && !has("customer") && !has("team"):
		c.report(n, say("add customer: or team:"), "nobody is named who does it")
	case len(n.Pairs) == 0:
		c.report(n, nil, "the step is empty")
	}
}

// fault checks the fields of a fault.
func (c *compiler) fault(n *source.Node) {
	if v := c.required(n, "fault", "operation"); v != nil {
		if method, path, ok := strings.Cut(v.Value, " "); v.Value != "*" && (!ok || !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method) || !strings.HasPrefix(path, "/")) {
			c.report(v, say("as in POST /conversations/{id}/messages, or * for any"), "%q is not an operation of the service", v.Value)
		}
	}
	if v := c.required(n, "fault", "kind"); v != nil {
		c.choice(v, "kind", []string{"status_before", "status_after", "drop_before", "drop_after", "delay"})
	}
	if v := n.Get("status"); v != nil {
		c.number(v, "status", 599)
	}
	if v := n.Get("count"); v != nil {
		c.number(v, "count", 1000000)
	}
	if v := n.Get("delay"); v != nil {
		c.duration(v, "delay")
	}
	if v := n.Get("share"); v != nil {
		if share, err := strconv.ParseFloat(v.Value, 64); err != nil || !(share > 0 && share <= 1) {
			c.report(v, say("as in %s", "0.3"), "share must be above 0 and up to 1, not %q", v.Value)
		}
	}
}

// answer checks the answer of another system.
func (c *compiler) answer(n *source.Node) {
	if v := c.required(n, "answer", "url"); v != nil {
		c.text(v, "url")
	}
	if v := n.Get("status"); v != nil {
		if status, ok := c.number(v, "status", 599); ok && status < 200 {
			c.report(v, say("as in 200 or 503"), "status must be at least 200, not %d", status)
		}
	}
	if v := n.Get("text"); v != nil {
		c.text(v, "text")
		if n.Get("json") != nil {
			c.report(v, say("leave one of them out"), "an answer is json or text, not both")
		}
	}
	if v := n.Get("fails"); v != nil {
		c.choice(v, "fails", answerFailures)
		for _, key := range []string{"status", "json", "text"} {
			if other := n.Get(key); other != nil {
				c.report(other, say("leave it out"), "a system that fails answers nothing, so it has no %s", key)
			}
		}
	}
}

// testAt checks a moment: a time, "sat 09:06", or "+15m".
func (c *compiler) testAt(n *source.Node, text string) {
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return
	}
	if len(text) > 1 && text[0] == '+' {
		if _, err := duration.Parse(text[1:]); err == nil {
			return
		}
	} else if m := testMoment.FindStringSubmatch(text); m != nil {
		_, err := calendar.ParseTimeOfDay(m[2])
		if m[1] != "" && err == nil {
			var days []time.Weekday
			if days, err = calendar.ParseDays(m[1]); len(days) != 1 {
				err = fmt.Errorf("%q is not one day", m[1])
			}
		}
		if err == nil {
			return
		}
	}
	c.report(n, say("a time, sat 09:06, or +15m"), "%q is not a moment", text)
}
