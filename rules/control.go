package rules

// controlVerbs are the verbs of the language itself: they steer a run and touch nothing outside of it.
var controlVerbs = []Schema{
	{
		Verb: "wait", Main: "for", Summary: "Wait; the run sleeps in the journal and survives a restart",
		Args: []Arg{
			{Name: "for", Kind: KindSpan, Summary: "how long, `15m`, or in opening hours, `15m of office`"},
			{Name: "until", Kind: KindWhen, Summary: "a time, mostly an expression such as `{{ next_open(\"office\") }}`"},
		},
		OneOf: []string{"for", "until"}, Not: [][2]string{{"for", "until"}},
		Example: "15m of office",
	},
	{
		Verb: "wait_for", Main: "event", Summary: "Wait for an event of the same lane; the result is the event, or nil when the time is over",
		Args: []Arg{
			{Name: "event", Kind: KindEvent, Required: true, Summary: "the event's name, or a list of names"},
			{Name: "if", Kind: KindExpression, Summary: "which of these events counts; `event` and `message` are the arriving ones"},
			{Name: "timeout", Kind: KindSpan, Required: true, Summary: "how long at most, `24h` or `4h of office`"},
		},
		Result:  EventType,
		Example: "{ event: message.received, timeout: 24h }",
	},
	{
		Verb: "stop_if", Main: "if", Summary: "End the run when the expression is true",
		Args:    []Arg{{Name: "if", Kind: KindExpression, Required: true, Summary: "the condition"}},
		Example: "attendance.status != \"open\"",
	},
	{
		Verb: "stop", Main: "reason", Summary: "End the run",
		Args:    []Arg{{Name: "reason", Kind: KindText, Summary: "why, for the people who read the run"}},
		Example: "Nothing left to do",
	},
	{
		Verb: "choose", Main: "branches", Summary: "Take the steps of the first branch whose condition is true",
		Args:    []Arg{{Name: "branches", Kind: KindBranches, Required: true, Summary: "a list of `{if, do}`, and at last `{else: [steps]}`"}},
		Example: "[{ if: says(\"invoice\"), do: [{ set_sector: Finance }] }, { else: [{ set_sector: Support }] }]",
	},
	{
		Verb: "for_each", Summary: "Take the steps once for each item of a list",
		Args: []Arg{
			{Name: "in", Kind: KindExpression, Required: true, Summary: "an expression that gives a list"},
			{Name: "as", Kind: KindText, Summary: "the item's name in the steps, `item` unless given"},
			{Name: "do", Kind: KindSteps, Required: true, Summary: "the steps"},
			{Name: "max", Kind: KindNumber, Summary: "how many items at most, 100 unless given; a longer list fails the step"},
		},
		Example: "{ in: messages, as: m, do: [{ log: \"{{ m.text }}\" }] }",
	},
	{
		Verb: "set", Main: "values", Summary: "Give names to values for the steps that follow",
		Args:    []Arg{{Name: "values", Kind: KindSettings, Required: true, Summary: "names to values"}},
		Example: "{ greeting: \"Hello {{ contact.name }}\" }",
	},
	{
		Verb: "log", Main: "text", Summary: "Write a line into the run's trace",
		Args:    []Arg{{Name: "text", Kind: KindText, Required: true, Summary: "the line"}},
		Example: "\"{{ contact.name }} is waiting\"",
	},
}
