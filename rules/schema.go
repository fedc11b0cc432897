package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/vocabulary"
)

// object is a piece of a JSON Schema.
type object = map[string]any

// JSONSchema returns the JSON Schema (draft-07, which every YAML editor understands) of rule files
// with these verbs.
func JSONSchema(c *Catalog) ([]byte, error) {
	ref := func(name string) object { return object{"$ref": "#/definitions/" + name} }
	schema := object{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"title":                "Quando rules",
		"description":          "Rules of a Quando rule set: when something happens, if conditions hold, do steps.",
		"type":                 "object",
		"additionalProperties": false,
		"properties": object{
			"template":  templateSchema(),
			"blanks":    blanksSchema(),
			"vars":      object{"type": []string{"object", "null"}, "description": "constants that the file's expressions read as vars.<name>"},
			"calendars": object{"type": []string{"object", "null"}, "description": "opening hours, known to the whole rule set", "additionalProperties": ref("calendar")},
			"rules":     object{"type": []string{"array", "null"}, "description": "the rules", "items": ref("rule")},
			"tests":     object{"type": []string{"array", "null"}, "description": "tests of the rules", "items": ref("test")},
		},
		"definitions": object{
			"text":       object{"type": []string{"string", "number", "boolean"}},
			"template":   object{"type": "string", "pattern": `\{\{`},
			"expression": object{"type": []string{"string", "boolean", "number"}},
			"duration":   object{"type": "string", "pattern": `^(([0-9]+(\.[0-9]+)?(ms|[wdhms]))+|.*\{\{.*|<<.+>>)$`, "examples": []string{"90s", "15m", "1h30m", "2d"}},
			"span":       object{"type": "string", "pattern": `^(([0-9]+(\.[0-9]+)?(ms|[wdhms]))+( of .+)?|.*\{\{.*|<<.+>>( of .+)?)$`, "examples": []string{"15m", "15m of office"}},
			"count":      object{"anyOf": []object{{"type": "integer", "minimum": 1}, {"type": "string", "pattern": `\{\{|^<<.+>>$`}}},
			"event":      eventSchema(),
			"calendar":   calendarSchema(),
			"schedule":   scheduleSchema(),
			"rule":       ruleSchema(ref),
			"steps":      object{"type": "array", "minItems": 1, "items": ref("step")},
			"step":       stepSchema(c),
			"test":       testSchema(c),
		},
	}
	return json.MarshalIndent(schema, "", "  ")
}

// wordsSchema describes a text, or one for each language.
func wordsSchema(what string) object {
	text := object{"type": "string"}
	return object{"description": what, "anyOf": []object{text, {"type": "object", "additionalProperties": false, "properties": object{"en": text, "pt": text}}}}
}

func templateSchema() object {
	return object{
		"type": []string{"object", "null"}, "additionalProperties": false, "description": "what a template is for; a file with this key is filled in and never run",
		"properties": object{
			"group": object{"enum": TemplateGroups}, "icon": object{"enum": TemplateIcons},
			"title": wordsSchema("what it is called"), "sentence": wordsSchema("what its rules do"),
		},
	}
}

func blanksSchema() object {
	return object{
		"type": []string{"array", "null"}, "description": "what a person is asked for; <<name>> stands for the value in the rules",
		"items": object{
			"type": "object", "additionalProperties": false, "required": BlankKeys,
			"properties": object{
				"name": object{"type": "string", "pattern": `^[a-z][a-z0-9_]{0,39}$`}, "type": object{"enum": BlankTypes},
				"default": oneOrMany(object{"type": []string{"string", "number", "boolean"}}), "words": wordsSchema("the question"),
			},
		},
	}
}

func oneOrMany(s object) object {
	return object{"anyOf": []object{s, {"type": "array", "items": s}}}
}

// described adds what a value is for.
func described(s object, what string) object {
	s["description"] = what
	return s
}

func eventSchema() object {
	return object{"enum": append(vocabulary.EventTypes(), vocabulary.EventPatterns()...)}
}

func calendarSchema() object {
	hours := oneOrMany(object{"type": "string", "pattern": `^\d{1,2}:\d{2}\s*-\s*\d{1,2}:\d{2}$`, "examples": []string{"08:00-12:00"}})
	named := object{"type": "object", "additionalProperties": false, "required": []string{"open"}, "properties": object{"open": hours, "name": object{"type": "string", "description": "what people call the day"}}}
	return object{
		"type": "object", "additionalProperties": false, "required": []string{"timezone", "open"},
		"properties": object{
			"timezone": object{"type": "string", "description": "an IANA zone", "examples": []string{"America/Sao_Paulo"}},
			"open":     object{"type": "object", "description": "days to hours: mon-fri: [08:00-12:00, 13:30-18:00]", "additionalProperties": hours},
			"holidays": oneOrMany(object{"type": "string", "description": "a country code, a date, hours of a date, or an .ics file", "examples": append([]string{"2026-12-24", "2026-12-24 14:00-18:00", "holidays.ics"}, calendar.Countries()...)}),
			"special": object{
				"type": "object", "description": "single days to hours, before holidays and open: { 2026-12-24: [08:00-12:00], 12-31: [] }, or with a name: { open: [08:00-12:00], name: Christmas Eve }; a day without its year is of every year",
				"propertyNames": object{"pattern": `^(\d{4}-)?(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$`}, "additionalProperties": object{"anyOf": []object{hours, named}},
			},
		},
	}
}

func scheduleSchema() object {
	where := []object{}
	for _, each := range eachItems {
		where = append(where, argumentsSchema(eachFilters[each]))
	}
	return object{
		"type": "object", "additionalProperties": false,
		"properties": object{
			"every":    object{"$ref": "#/definitions/duration"},
			"cron":     object{"type": "string", "description": "minute hour day-of-month month day-of-week", "examples": []string{"0 9 * * mon-fri"}},
			"at":       oneOrMany(object{"type": "string", "examples": []string{"09:00"}}),
			"on":       oneOrMany(object{"type": "string", "examples": []string{"mon-fri", "sat", "daily"}}),
			"timezone": object{"type": "string", "description": "an IANA zone; the workspace's unless given"},
			"each":     object{"enum": eachItems, "description": "one run for each item found"},
			"where":    object{"description": "which items: the filters of the service's list", "anyOf": where},
		},
		"oneOf":        []object{{"required": []string{"every"}}, {"required": []string{"cron"}}, {"required": []string{"at"}}},
		"dependencies": object{"where": []string{"each"}, "on": []string{"at"}},
	}
}

func ruleSchema(ref func(string) object) object {
	event := ref("event")
	match := object{"anyOf": []object{event, {
		"type": "object", "additionalProperties": false, "required": []string{"event"},
		"properties": object{"event": oneOrMany(event), "if": ref("expression")},
	}}}
	share := object{"type": "string", "pattern": `^\d+(\.\d+)?\s*%$|\{\{`, "examples": []string{"10%"}}
	group := object{"type": []string{"string", "integer"}, "pattern": ruleID.String(), "description": "the name of the rules that split the keys among them"}
	kinds := map[string]object{
		"id":          {"type": []string{"string", "integer"}, "pattern": ruleID.String()},
		"name":        ref("text"),
		"description": ref("text"),
		"tags":        oneOrMany(ref("text")),
		"stage":       {"enum": ruleValues["stage"]},
		"sample": {"anyOf": []object{
			share,
			{"type": "object", "additionalProperties": false, "required": []string{"share", "of"}, "properties": object{"share": share, "of": group}},
			{"type": "object", "additionalProperties": false, "required": []string{"rest"}, "properties": object{"rest": group}},
		}},
		"when":      {"anyOf": []object{event, {"enum": []string{"manual"}}, {"type": "array", "minItems": 1, "items": object{"anyOf": []object{event, {"enum": []string{"manual"}}}}}, ref("schedule")}},
		"from":      {"enum": ruleValues["from"]},
		"claimed":   {"enum": ruleValues["claimed"]},
		"internal":  {"enum": ruleValues["internal"]},
		"gather":    {"type": "object", "additionalProperties": false, "required": []string{"quiet"}, "properties": object{"quiet": ref("duration"), "at_most": ref("duration")}},
		"if":        oneOrMany(ref("expression")),
		"by":        ref("expression"),
		"mode":      {"enum": ruleValues["mode"]},
		"limit":     {"type": "object", "additionalProperties": false, "required": []string{"times", "per"}, "properties": object{"times": ref("count"), "per": ref("duration"), "by": ref("expression")}},
		"late":      {"type": "object", "additionalProperties": false, "properties": object{"skip_after": object{"anyOf": []object{ref("duration"), {"enum": []string{"none"}}}}, "run": object{"enum": []string{"last", "all", "none"}}}},
		"max":       ref("count"),
		"cancel_on": oneOrMany(match),
		"do":        ref("steps"),
		"on_error":  ref("steps"),
	}
	properties := object{}
	for _, k := range RuleKeys {
		// Beside a $ref draft-07 ignores every other key, so the description stands around it.
		properties[k.Name] = object{"description": k.Doc, "allOf": []object{kinds[k.Name]}}
	}
	return object{"type": "object", "additionalProperties": false, "required": []string{"id", "when", "do"}, "properties": properties}
}

// stepSchema describes a step: a verb alone, or a verb with its arguments and the step's own keys.
func stepSchema(c *Catalog) object {
	properties := object{
		"id":       object{"type": "string", "pattern": identifier.String(), "description": "the name under which later steps see the result"},
		"if":       object{"description": "take the step only when this is true", "allOf": []object{{"$ref": "#/definitions/expression"}}},
		"retry":    object{"type": "object", "additionalProperties": false, "minProperties": 1, "description": "attempts in all, and for how long at most", "properties": object{"times": object{"$ref": "#/definitions/count"}, "for": object{"$ref": "#/definitions/duration"}}},
		"on_error": object{"enum": []string{"stop", "continue"}, "description": "what happens when the step has failed for good"},

		"enabled":       object{"enum": []bool{false}, "description": "false switches the step off: it is skipped"},
		"even_if_muted": object{"type": "boolean", "description": "send to a muted conversation too"},
	}
	var verbs []object
	var alone []string
	for _, s := range c.Schemas() {
		properties[s.Verb] = verbSchema(s)
		verbs = append(verbs, object{"required": []string{s.Verb}})
		if standsAlone(s) {
			alone = append(alone, s.Verb)
		}
	}
	return object{"anyOf": []object{
		{"enum": alone},
		{"type": "object", "additionalProperties": false, "properties": properties, "oneOf": verbs},
	}}
}

// standsAlone reports whether a verb needs no arguments.
func standsAlone(s *Schema) bool {
	return len(s.OneOf) == 0 && !slices.ContainsFunc(s.Args, func(a Arg) bool { return a.Required })
}

func verbSchema(s *Schema) object {
	forms := []object{}
	if main := s.arg(s.Main); main != nil && !slices.ContainsFunc(s.Args, func(a Arg) bool { return a.Required && a.Name != s.Main }) {
		forms = append(forms, argumentSchema(main))
	}
	if len(s.Args) > 0 && (s.Main == "" || (s.arg(s.Main).Kind != KindSettings && s.arg(s.Main).Kind != KindBranches)) {
		arguments := argumentsSchema(s.Args)
		if len(s.OneOf) > 0 {
			var any []object
			for _, name := range s.OneOf {
				any = append(any, object{"required": []string{name}})
			}
			arguments["anyOf"] = any
		}
		var not []object
		for _, pair := range s.Not {
			not = append(not, object{"not": object{"required": pair[:]}})
		}
		if not != nil {
			arguments["allOf"] = not
		}
		forms = append(forms, arguments)
	}
	if len(s.Args) == 0 {
		forms = append(forms, object{"type": "object", "maxProperties": 0})
	}
	if standsAlone(s) {
		forms = append(forms, object{"type": "null"})
	}
	out := object{"description": s.Summary, "anyOf": forms}
	if s.Example != "" {
		out["description"] = s.Summary + ". Example: " + s.Verb + ": " + s.Example
	}
	return out
}

func argumentsSchema(args []Arg) object {
	properties := object{}
	var required []string
	for i := range args {
		properties[args[i].Name] = object{"description": args[i].Summary, "allOf": []object{argumentSchema(&args[i])}}
		if args[i].Required {
			required = append(required, args[i].Name)
		}
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		out["required"] = required
	}
	return out
}

func argumentSchema(a *Arg) object {
	text, template := object{"$ref": "#/definitions/text"}, object{"$ref": "#/definitions/template"}
	s := text
	switch a.Kind {
	case KindNames:
		s = oneOrMany(text)
	case KindFlag:
		s = object{"anyOf": []object{{"type": "boolean"}, template}}
	case KindNumber:
		number := object{"type": "integer"}
		if a.Max > 0 {
			number["minimum"], number["maximum"] = a.Min, a.Max
		}
		s = object{"anyOf": []object{number, template}}
	case KindChoice:
		s = object{"anyOf": []object{{"enum": a.Values}, template}}
	case KindDuration:
		s = object{"$ref": "#/definitions/duration"}
	case KindFields:
		s = argumentsSchema(a.Fields)
	case KindTarget:
		target := argumentsSchema(a.Fields)
		target["anyOf"] = []object{{"required": []string{"person"}}, {"required": []string{"phone", "channel"}}, {"required": []string{"contact", "channel"}}}
		s = object{"anyOf": []object{text, target}}
	case KindData:
		s = object{}
	case KindExpression:
		s = object{"$ref": "#/definitions/expression"}
	case KindEvent:
		s = oneOrMany(object{"$ref": "#/definitions/event"})
	case KindSpan:
		s = object{"$ref": "#/definitions/span"}
	case KindSteps:
		s = object{"$ref": "#/definitions/steps"}
	case KindBranches:
		steps := object{"$ref": "#/definitions/steps"}
		s = object{"type": "array", "minItems": 1, "items": object{"anyOf": []object{
			{"type": "object", "additionalProperties": false, "required": []string{"if", "do"}, "properties": object{"if": object{"$ref": "#/definitions/expression"}, "do": steps}},
			{"type": "object", "additionalProperties": false, "required": []string{"else"}, "properties": object{"else": steps}},
		}}}
	case KindHeaders:
		s = object{"type": "object", "additionalProperties": text}
	case KindQuery:
		value := object{"anyOf": []object{text, {"type": "null"}}}
		s = object{"type": "object", "additionalProperties": oneOrMany(value)}
	case KindNumbers:
		s = oneOrMany(object{"anyOf": []object{{"type": "integer", "minimum": a.Min, "maximum": a.Max}, template}})
	case KindSettings:
		s = object{"type": "object", "minProperties": 1}
	}
	if a.Null {
		s = object{"anyOf": []object{s, {"type": "null"}}}
	}
	return s
}

func testSchema(c *Catalog) object {
	text := object{"$ref": "#/definitions/text"}
	effects, would := object{}, object{}
	for _, s := range c.Schemas() {
		summary := object{"description": strings.ToLower(s.Summary[:1]) + s.Summary[1:]}
		if hasEffect(s) {
			effects[s.Verb] = summary
		}
		if hasEffect(s) || isMuting(s) {
			would[s.Verb] = summary
		}
	}
	state := object{}
	for _, name := range givenNames {
		properties := object{}
		for _, key := range givenKeys[name] {
			properties[key] = object{}
		}
		state[name] = object{"type": "array", "items": object{"anyOf": []object{text, {"type": "object", "additionalProperties": false, "properties": properties}}}}
	}
	fault := object{}
	for _, name := range faultNames {
		fault[name] = oneOrMany(object{"enum": append(toAny(faultKinds[name]), 429)})
	}
	rate := object{"type": "string", "examples": []string{"5 per 10m"}}
	expect := func(what string, effects object) object {
		return object{"type": "array", "description": what, "items": object{"anyOf": []object{{"type": "string"}, {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false, "properties": effects}}}}
	}
	step := object{
		"expect":       expect("everything that was done since the last expect; [] is nothing", effects),
		"expect_would": expect("everything that rules in shadow would have done since the last expect_would; [] is nothing", would),
		"mutes":        object{"type": "string", "description": "the customer to whom nothing automatic is sent from now on"},
		"unmutes":      object{"type": "string", "description": "the customer to whom rules may send again"},
		"for":          object{"type": "string", "description": "how long a customer is muted; until unmuted unless given", "examples": []string{"24h"}},
		"takes":        object{"type": "string", "description": "the customer whose conversation the team member takes over"},
		"sends":        object{"type": "string", "description": "a file by its name; says beside it is the caption", "examples": []string{"photo.jpg", "offer.pdf"}},
		"labels":       described(oneOrMany(text), "labels that the team member puts on a customer's conversation"),
		"of":           object{"type": "string", "description": "the customer whose conversation gets the labels"},
		"answer": object{"type": "object", "additionalProperties": false, "required": []string{"url"}, "description": "what another system answers from here on", "properties": object{
			"url":    object{"type": "string", "description": "without a query it is for every query of that address"},
			"status": object{"type": "integer", "minimum": 200, "maximum": 599, "description": "200 unless given"},
			"json":   object{"description": "the body"},
			"text":   described(text, "a body that need not be JSON"),
			"fails":  object{"enum": answerFailures, "description": "nothing is answered: the system is unreachable, or the call arrives and times out"},
		}},
	}
	for _, key := range testStepKeys {
		if step[key] == nil {
			step[key] = object{}
		}
	}
	return object{
		"type": "object", "additionalProperties": false, "required": []string{"name", "steps"},
		"properties": object{
			"name":  text,
			"rules": described(oneOrMany(text), "the rules that run: their ids, or all for those of the whole workspace; without it those of the test's folder"),
			"start": object{"type": "string", "examples": []string{"2026-11-13T17:50:00-03:00"}},
			"given": object{"type": "object", "additionalProperties": false, "properties": state},
			"safety": object{"type": "object", "additionalProperties": false, "description": "safety bounds, as the configuration has them", "properties": object{
				"messages_per_conversation": rate, "messages": rate, "internal": oneOrMany(text),
			}},
			"faults": object{"anyOf": []object{{"enum": []string{"all"}}, {"type": "object", "additionalProperties": false, "properties": fault}}},
			"steps":  object{"type": "array", "items": object{"type": "object", "additionalProperties": false, "properties": step}},
		},
	}
}

func toAny(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}
