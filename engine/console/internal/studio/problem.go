package studio

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/phrases"
)

// Explain says the problems of a rule without code, and finds what mends them.
func (m *Maker) Explain(f form.Form, problems []Problem) {
	w := &writer{Maker: m, form: f}
	scope := w.scope(nil)
	say := func(kind, argument string) string {
		if kind == "condition" {
			if words := scope.Say(m.RulesLanguage(), sentence.Read(argument)); words != "" {
				return words
			}
		}
		return m.nameWords(argument)
	}
	for i := range problems {
		p := &problems[i]
		message, hint := p.found.Messages()
		if message == nil {
			continue
		}
		if text, ok := message.Plain(m.RulesLanguage(), say); ok {
			p.Plain = engine.Harmless(text)
		}
		if text, ok := hint.Plain(m.RulesLanguage(), say); ok {
			p.Advice = engine.Harmless(text)
		}
		p.Fixes = w.fixes(*p, message, hint)
	}
}

// nameWords says what a verb, an event, a fact or a key of the language is called on the page.
func (m *Maker) nameWords(name string) string {
	name = strings.Trim(name, "`\"'")
	if m.verb(name) != nil && m.Knows("do."+name) {
		label := m.T("do." + name)
		return strings.TrimRight(label[:strings.IndexAny(label+"{", "[{")], " :,")
	}
	for _, family := range []string{"when.", "fact.", "field.", "studio."} {
		if m.Knows(family + name) {
			return m.T(family + name)
		}
	}
	return strings.ReplaceAll(name, "_", " ")
}

// removable are the messages about something that mends the rule by going away.
var removable = []string{
	"gather is for events; a schedule has none to collect", "run is for the missed ticks of schedules", "skip_after is for events", "%s has no result that could be named",
}

// fixes returns the edits that the remedy of a problem stands for.
func (w *writer) fixes(p Problem, message, hint *phrases.Message) (list []Fix) {
	fix := func(label string, edits ...Edit) {
		if len(edits) > 0 {
			list = append(list, Fix{label, asJSON(edits)})
		}
	}
	switch {
	case hint.Says("add limit: { times: 1, per: 12h }"):
		fix(w.T("studio.limit"), Edit{Op: Set, Path: "/limit", Value: form.Limit{Times: "1", Per: "12h"}})
	case hint.Says("add limit: { times: 1, per: 24h }"):
		fix(w.T("fix.limit_day"), Edit{Op: Set, Path: "/limit", Value: form.Limit{Times: "1", Per: "24h"}})
	case hint.Says("add `gather` to the rule"):
		fix(w.T("fix.gather"), Edit{Op: Set, Path: "/gather", Value: usual["gather"]})
	case hint.Says("take from: any away from it"), hint.Says("take from: any away from one of them"):
		if w.form.From != "" {
			fix(w.T("fix.from"), Edit{Op: Remove, Path: "/from"})
		}
	case hint.Says("did you mean %q?"):
		wrong, ok := message.Last()
		right, near := hint.Last()
		if ok && near {
			fix(w.T("fix.use", w.nameWords(right)), w.replacing(p.Path, wrong, right)...)
		}
	case hint.Says("one of: %s") && message.Says("unknown calendar %q"):
		wrong, _ := message.Last()
		if only, ok := hint.Last(); ok && !strings.Contains(only, ", ") {
			fix(w.T("fix.use", only), w.replacing(p.Path, wrong, only)...)
		}
	case slices.ContainsFunc(removable, message.Says):
		fix(w.T("fix.remove"), w.removing(p, message)...)
	}
	return list
}

// removing returns the edit that takes away what does not belong to the rule.
func (w *writer) removing(p Problem, message *phrases.Message) []Edit {
	switch {
	case message.Says("run is for the missed ticks of schedules"):
		return []Edit{{Op: Remove, Path: "/late/run"}}
	case message.Says("skip_after is for events"):
		return []Edit{{Op: Remove, Path: "/late/skip_after"}}
	case message.Says("%s has no result that could be named"):
		return []Edit{{Op: Remove, Path: p.Path + "/id"}}
	}
	return []Edit{{Op: Remove, Path: p.Path}}
}

// replacing returns the edits that write one name for another everywhere on a card.
func (w *writer) replacing(card, wrong, right string) (list []Edit) {
	at, err := split(card)
	if err != nil || wrong == "" {
		return nil
	}
	root, err := plain(w.form)
	if err != nil {
		return nil
	}
	found, err := get(root, at)
	if err != nil {
		return nil
	}
	name := regexp.MustCompile(`(^|[^\pL\pN_.-])` + regexp.QuoteMeta(wrong) + `($|[^\pL\pN_-])`)
	texts(found, card, func(path, text string) {
		if other := name.ReplaceAllString(text, "${1}"+strings.ReplaceAll(right, "$", "$$")+"${2}"); other != text {
			list = append(list, Edit{Op: Set, Path: path, Value: other})
		}
	})
	return list
}

// texts calls a function with every text of a card, and its path. Steps inside of a step have cards
// of their own.
func texts(at any, path string, visit func(path, text string)) {
	switch v := at.(type) {
	case string:
		visit(path, v)
	case []any:
		named := hasNames(path[strings.LastIndexByte(path, '/')+1:])
		for i, item := range v {
			key := strconv.Itoa(i)
			if arg, ok := item.(map[string]any); ok && named {
				key, _ = arg["name"].(string)
			}
			texts(item, path+"/"+key, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains([]string{"do", "steps", "verb", "name", "as"}, key) {
				texts(v[key], path+"/"+key, visit)
			}
		}
	}
}
