package actions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/redact"
)

// ArgumentWords formats an argument for people: lists and mappings without brackets, nil as an
// empty text.
func ArgumentWords(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = ArgumentWords(v[i])
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+" "+ArgumentWords(v[name]))
		}
		return strings.Join(parts, ", ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// An Effect is what a verb did, or would do.
type Effect struct {
	Verb string
	Who  string         // the customer, the card or the other system; empty if it is not known
	Args map[string]any // of the step
}

// Would says what a verb would do, "transfer Marina to Support", and what it quotes, such as the
// text of a message.
func (e Effect) Would(l phrases.Language) (words, quoted string) { return e.say(l, ".would") }

// Did says what a verb did, or would have done: "transferred Marina to Support".
func (e Effect) Did(l phrases.Language) (words, quoted string) { return e.say(l, ".did") }

// Brief is Did without the name, for a reader who has it already: "transferred to Support". It is
// empty if the quoted text says it all.
func (e Effect) Brief(l phrases.Language) (words, quoted string) {
	words, quoted = e.say(l, ".brief")
	if quoted != "" && !phrases.Knows("verb."+phrases.Code(e.Verb)+".brief") {
		words = ""
	}
	return words, quoted
}

func (e Effect) say(l phrases.Language, form phrases.Code) (words, quoted string) {
	args, _ := redact.Value(e.Args).(map[string]any)
	value := func(name string) string {
		switch name {
		case "who":
			return cmp.Or(e.Who, phrases.Say(l, "verb.somebody"))
		case "verb":
			return e.Verb
		case "arguments":
			return namedArguments(l, args)
		}
		if target, ok := args[name].(map[string]any); ok && len(target) == 1 && target["person"] != nil {
			return ArgumentWords(target["person"])
		}
		return ArgumentWords(args[name])
	}
	verb := "verb." + phrases.Code(e.Verb)
	if phrases.Knows(verb + ".quotes") {
		quoted = phrases.Fill(l, verb+".quotes", value)
	}
	if !phrases.Knows(verb + form) {
		verb = "verb.other"
	}
	return phrases.Fill(l, verb+form, value), quoted
}

// namedArguments says the arguments of a verb by the names that people know them by.
func namedArguments(l phrases.Language, args map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		said := name
		if code := phrases.Code("field." + name); phrases.Knows(code) {
			said = strings.ToLower(phrases.Say(l, code))
		}
		parts = append(parts, said+" "+ArgumentWords(args[name]))
	}
	return strings.Join(parts, ", ")
}
