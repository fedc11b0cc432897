package rules

import "slices"

// A RuleKey is one key of a rule, for the checker, the schema and the documentation.
type RuleKey struct {
	Name    string
	Default string
	Doc     string
}

// RuleKeys are the keys of a rule in their canonical order: it reads as a sentence.
var RuleKeys = []RuleKey{
	{"id", "required", "small letters, digits and dashes, at most 64; unique in the rule set, and part of every idempotency key, so renaming starts afresh"},
	{"name", "", "for people"},
	{"description", "", "for people"},
	{"tags", "", "for people: a list of words"},
	{"stage", "`live`", "`draft`: checked, never evaluated. `shadow`: evaluated and journaled, every changing step recorded as \"would have\". `live`: acts"},
	{"sample", "`100%`", "the share of keys (a stable hash of `by`) that a live rule takes; the rest run as shadow. `{share: 10%, of: greeting}` and `{rest: greeting}`: the rules of one group split the keys, each key is in exactly one"},
	{"when", "required", "an event's name, a list of them, a pattern such as `kanban.card.*`, `manual`, or a schedule"},
	{"from", "`others`", "`any` lets events that the engine itself caused start this rule too; a rule that could so start itself, alone or through others, is an error"},
	{"claimed", "`skip`", "`run` lets an event start this rule although a `wait_for` of another run took it as its answer"},
	{"internal", "`skip`", "`run` lets an event in a chat of our own start this rule: one with a person of `people`, or one that `safety.internal` of the configuration names"},
	{"gather", "off", "`{quiet, at_most}`: collects events of the same `by` until `quiet` has passed without another, at most `at_most`; the run sees them as `events` and `messages`, the last as `event`"},
	{"if", "always", "an expression, or a list that must all be true, taken in order"},
	{"by", "the lane", "an expression: what \"the same\" means for `mode`, `limit` and `gather`; the conversation, else the card, else the attendance, else the event"},
	{"mode", "`queued`", "while a run of this rule for the same `by` is unfinished, a new one: `queued` starts after it, `single` is skipped, `restart` replaces it, `parallel` runs beside it"},
	{"limit", "off", "`{times, per, by}`: at most `times` runs in any window of length `per`, whatever their steps do; one that is `queued` counts from then, not from when its turn comes"},
	{"late", "`30m` for `message.*`", "`{skip_after: 30m}` for events (`none` for never); for schedules `{run: last}` (the default), `all` or `none` for ticks missed while stopped"},
	{"max", "100", "how many unfinished runs of the same `by` there may be"},
	{"cancel_on", "none", "event names or `{event, if}`: such an event in the same lane ends an unfinished run"},
	{"do", "required", "the steps"},
	{"on_error", "none", "steps to take when a step has failed for good"},
}

// ruleValues are the only values that some keys can have.
var ruleValues = map[string][]string{
	"stage":    {"draft", "shadow", "live"},
	"from":     {"others", "any"},
	"claimed":  {"skip", "run"},
	"internal": {"skip", "run"},
	"mode":     {"queued", "single", "restart", "parallel"},
}

// Values returns the only values that the key can have, or nil.
func (k RuleKey) Values() []string { return slices.Clone(ruleValues[k.Name]) }

func ruleKeyNames() []string {
	names := make([]string, len(RuleKeys))
	for i, k := range RuleKeys {
		names[i] = k.Name
	}
	return names
}
