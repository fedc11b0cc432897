package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/quandohq/quando/rules/internal/suspect"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// warnings reports what is allowed and probably not meant.
func (c *compiler) warnings(n *source.Node) {
	r := c.rule
	if c.sends != nil && r.Limit == nil {
		if often, hint := r.sendsOften(); often != nil {
			c.warn(c.sends, hint, "the rule sends %s, without a limit", often)
		}
	}
	if r.Gather != nil && r.When.Schedule != nil {
		c.report(n.Get("gather"), nil, "gather is for events; a schedule has none to collect")
	}
	if v := n.Get("cancel_on"); v != nil && r.hearsNothing() {
		c.warn(v, hearsNothingHint(), "cancel_on never ends a run of this rule: what customers do does not reach the runs of %s", r.started())
	}
	for _, key := range []string{"if", "do", "on_error"} {
		if v := n.Get(key); v != nil {
			c.warnOfSecrets(v, "", false)
		}
	}
}

// sendsOften returns the events on which the rule may send too often, or nothing if its conditions
// or steps may prevent that.
func (r *Rule) sendsOften() (often, hint *phrases.Message) {
	switch s := r.When.Schedule; {
	case (r.Mode == Single || r.Mode == Restart) && r.waitsLong():
	case r.hearsOften() != "":
		return r.hearsOften().Message(), say("add limit: { times: 1, per: 12h }")
	case s != nil && s.Each != "" && s.often() && !r.changes():
		return say("to the same %s again at every tick", s.Each), say("add limit: { times: 1, per: 24h }")
	}
	return nil, nil
}

// hearsOften returns the first of the rule's events that is frequent and that its conditions let
// through.
func (r *Rule) hearsOften() phrases.Word {
	for _, e := range vocabulary.Events() {
		through := !r.changes()
		if e.About == vocabulary.Message {
			through = !readsContent(r.If)
		}
		if e.Often != "" && through && slices.Contains(r.When.Events, e.Type) {
			return phrases.Word(e.Often)
		}
	}
	return ""
}

// often reports whether the schedule ticks several times on some day.
func (s *Schedule) often() bool {
	if s.Every > 0 {
		return s.Every < 24*time.Hour
	}
	first := s.Next(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	second := s.Next(first, time.UTC)
	third := s.Next(second, time.UTC)
	return second.Sub(first) < 12*time.Hour || third.Sub(second) < 12*time.Hour
}

// changes reports whether the rule does more than to write: what it changes may keep it from firing
// again.
func (r *Rule) changes() bool {
	for s := range r.Steps() {
		if slices.ContainsFunc(s.Schema.Scopes, func(scope string) bool { return strings.HasSuffix(scope, "write") }) {
			return true
		}
	}
	return false
}

// waitsLong reports whether a run lasts so long that it keeps others from writing: an hour, or
// until some time.
func (r *Rule) waitsLong() bool {
	for s := range r.Steps() {
		if s.Verb == "wait" && (s.Span.Length >= time.Hour || s.Condition != nil) {
			return true
		}
	}
	return false
}

// readsContent reports whether a condition reads the text of the message.
func readsContent(conditions []*Expression) bool {
	return slices.ContainsFunc(conditions, func(x *Expression) bool {
		return slices.Contains(x.calls, "says") || slices.Contains(x.calls, "says_like") || strings.Contains(x.Text, "message.text") || strings.Contains(x.Text, "messages")
	})
}

// hearsNothing reports whether the runs of the rule have lanes of their own, which get no events of
// the service.
func (r *Rule) hearsNothing() bool {
	s := r.When.Schedule
	return s != nil && (s.Each == "" || s.Each == "contacts")
}

func (r *Rule) started() *phrases.Message {
	if r.When.Schedule.Each == "" {
		return say("a schedule")
	}
	return say("a schedule over %s", r.When.Schedule.Each)
}

func hearsNothingHint() *phrases.Message {
	return say("make it two rules: the schedule, and one on the event")
}

// mayLackConversation reports whether what starts the rule need not have a conversation, as a card
// may have none.
func (r *Rule) mayLackConversation() bool {
	if s := r.When.Schedule; s != nil {
		return s.Each == "cards"
	}
	return slices.ContainsFunc(r.When.Events, func(typ string) bool { return vocabulary.ObjectOf(typ) == vocabulary.Card })
}

// needsConversation warns, once for a rule, of a step that fails if the card has no conversation.
func (c *compiler) needsConversation(verb *source.Node, schema *Schema) {
	if c.known || !c.rule.mayLackConversation() {
		return
	}
	c.known = true
	c.warn(verb, say("add conversation != nil to `if`, or say which with %s", backticked(schema.Unless)),
		"%s works on a conversation, and a card need not have one: then the step fails", schema.Verb)
}

var (
	conversationField = regexp.MustCompile(`\bconversation\.`)
	conversationKnown = regexp.MustCompile(`\bconversation(?:_id)?\s*[!=]=\s*nil\b`)
	deniedLabel       = regexp.MustCompile(`(?:!|\bnot)\s*has_label\(`)
)

// noteConversation notes that an expression makes sure that there is a conversation, and warns of
// one that fails if the card has none.
func (c *compiler) noteConversation(x *Expression, n *source.Node, offset int) {
	if c.known || c.rule == nil || !c.rule.mayLackConversation() {
		return
	}
	hasLabel := slices.Contains(x.calls, "has_label") && !deniedLabel.MatchString(x.Text)
	if c.known = hasLabel || conversationKnown.MatchString(x.Text); c.known {
		return
	}
	if at := conversationField.FindStringIndex(x.Text); at != nil && slices.Contains(x.needs, vocabulary.Conversation) {
		c.known = true
		c.add(n.AtOffset(offset+at[0], source.Warning, say("a card need not have a conversation: where it has none, this fails"),
			say("write conversation != nil before it, or %s?.%s", x.Text[at[0]:at[1]-1], firstWord(x.Text[at[1]:]))))
	}
}

func firstWord(s string) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) }); end >= 0 {
		return s[:end]
	}
	return s
}

// nilKey warns of a key that is missing for some: the rule never runs for them.
func (c *compiler) nilKey(n *source.Node, x *Expression) {
	if !plainField.MatchString(x.Text) {
		return
	}
	fact, name, _ := strings.Cut(strings.TrimSpace(x.Text), ".")
	t := factType(fact)
	if t == nil {
		return
	}
	for _, f := range t.fields {
		if f.Name == name && strings.HasSuffix(f.Doc, "or nil") {
			c.warn(n, say("give another key for them, as in %s ?? contact.phone", strings.TrimSpace(x.Text)), "the rule does not run where %s is nil", strings.TrimSpace(x.Text))
		}
	}
}

var plainField = regexp.MustCompile(`^\s*\w+\.\w+\s*$`)

// warnOfSecrets warns of texts that look like secrets: a rule is shown to people, and recorded with
// every run.
func (c *compiler) warnOfSecrets(n *source.Node, name string, headers bool) {
	for _, item := range n.Items {
		c.warnOfSecrets(item, name, headers)
	}
	for _, p := range n.Pairs {
		c.warnOfSecrets(p.Value, p.Key.Value, name == "headers")
	}
	if n.Kind != source.Scalar {
		return
	}
	// Each value is checked once for each role, however many aliases refer to it.
	look := secretLook{n.Line, n.Column, headers && redact.IsSecretHeader(name) || redact.IsSecretName(name), name == "url" || name == vocabulary.HTTPRequest}
	if c.looked[look] {
		return
	}
	c.looked[look] = true
	if !redact.LooksSecret(n.Value, look.named, look.address) {
		return
	}
	hint := say("take it out, and let `http_request.headers` of the configuration send it")
	if name == "url" || name == vocabulary.HTTPRequest {
		hint = say("where that system takes it as a header too, let `http_request.headers` of the configuration send it")
	}
	p := n.At(source.Warning, say("this looks like a secret, and whoever may see the rules or the journal can read it"), hint)
	p.Text = "" // more people read a pipeline's output than the file
	c.add(p)
}

// A secretLook identifies a check of one value in the role that its name gives it.
type secretLook struct {
	line, column   int
	named, address bool
}

// only returns the values that facts can have in some events. Own says whether messages sent by
// rules are among them.
func only(events []string, own bool) map[string][]any {
	if len(events) == 0 {
		return nil
	}
	only := make(map[string][]any)
	for _, e := range events {
		only["event.type"] = append(only["event.type"], e)
	}
	// Rules on several events may need to test a message's sender.
	if e := vocabulary.EventOf(events[0]); e != nil && !slices.ContainsFunc(events, func(other string) bool { return other != e.Type }) {
		for _, by := range e.By {
			if own || by != vocabulary.ByEngine {
				only["message.by"] = append(only["message.by"], by)
			}
		}
	}
	return only
}

// A condition is an expression with its position, and the possible values of the facts it reads.
type condition struct {
	x    *Expression
	node *source.Node
	only map[string][]any
}

// sound warns of a condition that is never true, or always, and of the consequence.
func (c *compiler) sound(k condition, never, always phrases.Word) {
	if k.x != nil {
		c.soundTogether([]condition{k}, never, always)
	}
}

// soundTogether does the same for a list of conditions that must all be true.
func (c *compiler) soundTogether(list []condition, never, always phrases.Word) {
	ways := []suspect.Way{{}}
	for _, k := range list {
		if ways = suspect.BothWays(ways, k.x.ways); len(ways) == 0 {
			break
		}
		if found := suspect.Clash(ways, k.only); found != nil {
			c.doubt(k, found, never)
			break
		}
	}
	for _, k := range list {
		// A redundant condition, such as the sender of a received message, does no harm.
		if found := suspect.Clash(k.x.otherwise, nil); found != nil && strings.TrimSpace(k.x.Text) != "true" {
			var hint *phrases.Message
			if len(found) > 1 {
				hint = say("did you mean and?")
			}
			c.add(k.node.AtOffset(k.offset(), source.Warning, say("%s is always true, %s", k.x.Text, always), hint))
		}
		k.x.ways, k.x.otherwise = nil, nil
	}
}

// offset returns where the expression stands in its node.
func (k condition) offset() int { return max(0, strings.Index(k.node.Value, k.x.Text)) }

// doubt warns of claims that are never so together. The last of them stands in the condition.
func (c *compiler) doubt(k condition, found suspect.Way, consequence phrases.Word) {
	last := found[len(found)-1]
	var hint *phrases.Message
	message := say("%s is never true", last.Text)
	switch values := k.only[last.Subject]; {
	case len(found) > 1:
		texts := make([]string, len(found))
		for i := range found {
			texts[i] = found[i].Text
		}
		message, hint = say("%s are never true together", phrases.And(texts)), say("did you mean or?")
	case len(values) > 0:
		message = say("%s is never true: here it is always %s", last.Text, oneOf(values))
		if slices.Contains(last.Values, "engine") {
			hint = say("from: any lets what rules send start this one")
		}
	case strings.TrimSpace(k.x.Text) == "false":
		hint = say("stage: draft switches a rule off")
	}
	c.add(k.node.AtOffset(k.offset()+last.At, source.Warning, say("%s, %s", message, consequence), hint))
}

func oneOf(values []any) phrases.List {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%q", v)
	}
	return phrases.Or(words)
}
