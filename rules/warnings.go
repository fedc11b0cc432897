package rules

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// warnings reports what is allowed and probably not meant.
func (c *compiler) warnings(n *source.Node) {
	r := c.rule
	if c.sends != nil && r.Limit == nil {
		if often, hint := r.sendsOften(); often != "" {
			c.warn(c.sends, hint, "the rule sends %s, without a limit", often)
		}
	}
	if r.Gather != nil && r.When.Schedule != nil {
		c.report(n.Get("gather"), "", "gather is for events; a schedule has none to collect")
	}
	if v := n.Get("cancel_on"); v != nil && r.hearsNothing() {
		c.warn(v, hearsNothingHint, "cancel_on never ends a run of this rule: what customers do does not reach the runs of %s", r.started())
	}
	for _, key := range []string{"if", "do", "on_error"} {
		if v := n.Get(key); v != nil {
			c.warnOfSecrets(v, "", false)
		}
	}
}

// sendsOften says to what the rule writes again and again; nothing where its conditions or its steps may prevent that.
func (r *Rule) sendsOften() (often, hint string) {
	switch s := r.When.Schedule; {
	case (r.Mode == Single || r.Mode == Restart) && r.waitsLong():
	case r.hearsOften() != "":
		return r.hearsOften(), "add limit: { times: 1, per: 12h }"
	case s != nil && s.Each != "" && s.often() && !r.changes():
		return "to the same " + s.Each + " again at every tick", "add limit: { times: 1, per: 24h }"
	}
	return "", ""
}

// hearsOften says to what of its events the rule writes, of the first that comes often and that its
// conditions let through.
func (r *Rule) hearsOften() string {
	for _, e := range vocabulary.Events() {
		through := !r.changes()
		if e.About == vocabulary.Message {
			through = !readsContent(r.If)
		}
		if e.Often != "" && through && slices.Contains(r.When.Events, e.Type) {
			return e.Often
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

// changes reports whether the rule does more than to write: what it changes may keep it from firing again.
func (r *Rule) changes() bool {
	for s := range r.Steps() {
		if slices.ContainsFunc(s.Schema.Scopes, func(scope string) bool { return strings.HasSuffix(scope, "write") }) {
			return true
		}
	}
	return false
}

// waitsLong reports whether a run lasts so long that it keeps others from writing: an hour, or until some time.
func (r *Rule) waitsLong() bool {
	for s := range r.Steps() {
		if s.Verb == "wait" && (s.Span.Length >= time.Hour || s.Condition != nil) {
			return true
		}
	}
	return false
}

// readsContent reports whether a condition looks at what the message says.
func readsContent(conditions []*Expression) bool {
	return slices.ContainsFunc(conditions, func(x *Expression) bool {
		return slices.Contains(x.calls, "says") || strings.Contains(x.Text, "message.text") || strings.Contains(x.Text, "messages")
	})
}

// hearsNothing reports whether the runs of the rule are in lanes of their own, in which no event of the service ever comes.
func (r *Rule) hearsNothing() bool {
	s := r.When.Schedule
	return s != nil && (s.Each == "" || s.Each == "contacts")
}

func (r *Rule) started() string {
	if r.When.Schedule.Each == "" {
		return "a schedule"
	}
	return "a schedule over " + r.When.Schedule.Each
}

const hearsNothingHint = "make it two rules: the schedule, and one on the event"

// nilKey warns of a key that is missing for some: the rule does not run for them at all.
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
			c.warn(n, "give another key for them, as in "+strings.TrimSpace(x.Text)+" ?? contact.phone", "the rule does not run where %s is nil", strings.TrimSpace(x.Text))
		}
	}
}

var plainField = regexp.MustCompile(`^\s*\w+\.\w+\s*$`)

// warnOfSecrets warns of texts that look like secrets: a rule is shown to people, and recorded with every run.
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
	look := secretLook{n.Line, n.Column, headers && redact.IsSecretHeader(name) || redact.IsSecretName(name), name == "url" || name == "http_request"}
	if c.looked[look] {
		return
	}
	c.looked[look] = true
	if !redact.LooksSecret(n.Value, look.named, look.address) {
		return
	}
	hint := "take it out, and let `http_request.headers` of the configuration send it"
	if name == "url" || name == "http_request" {
		hint = "where that system takes it as a header too, let `http_request.headers` of the configuration send it"
	}
	p := n.At(source.Warning, "this looks like a secret, and whoever may see the rules or the journal can read it", hint)
	p.Text = "" // what a pipeline prints is read by more people than the file
	c.add(p)
}

// A secretLook identifies a check of one value in the role that its name gives it.
type secretLook struct {
	line, column   int
	named, address bool
}
