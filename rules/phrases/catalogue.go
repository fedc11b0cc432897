package phrases

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/quandohq/quando/rules/vocabulary"
)

// texts are a text in English and in Brazilian Portuguese, in the format of package fmt.
type texts [languages]string

func (t texts) with(l Language, args []any) string {
	if len(args) == 0 {
		return t[l]
	}
	return fmt.Sprintf(t[l], args...)
}

// A table is a part of the catalogue.
type table map[Code]texts

// catalogue is every text, by theme. A code is in one of the tables only.
var catalogue = [...]table{
	engineReasons, verbReasons, serviceReasons, plainService, backfillProblems, conditions, explanations, events, verbs, verbArguments,
	consoleFrame, consoleSearch, consolePages, consoleList, consoleRules, consoleRulePage, consoleSimulator, consoleHours, countries, consoleHealth, consoleEditor, consoleFields, consoleTexts, consoleStory, consoleAssistants,
	sentences, sentencesPast, sayings, sentenceValues, sentenceNames, steps, studio, blocks, proof, alerts,
	consoleActivity, consoleToday,
}

// events are what each event is called, and what happens when it starts a rule.
var events = func() table {
	t := table{}
	for _, typ := range vocabulary.AllEventTypes() {
		e := vocabulary.EventOf(typ)
		t["event."+Code(typ)] = e.Name
		if e.When[English] != "" {
			t["when."+Code(typ)] = e.When
		}
	}
	return t
}()

// byCode is the whole catalogue: a page looks up thousands of texts.
var byCode = sync.OnceValue(func() table {
	all := table{}
	for _, part := range catalogue {
		maps.Copy(all, part)
	}
	return all
})

func lookUp(code Code) (t texts, ok bool) {
	t, ok = byCode()[code]
	return t, ok
}

// slot is an argument that has a name, or what is left out without one.
var slot = regexp.MustCompile(`\[[^]]*\]|\{[^}]*\}`)

// Fill returns a text of the catalogue whose arguments have names. {person|sector} is the first of
// these that has a value, and {sector|=none} says none without one. What stands in brackets is left
// out where no argument in it has a value.
func Fill(l Language, code Code, value func(name string) string) string {
	text, _ := fill(Say(l, code), value)
	return text
}

func fill(text string, value func(name string) string) (out string, filled bool) {
	out = slot.ReplaceAllStringFunc(text, func(part string) string {
		inside := part[1 : len(part)-1]
		if part[0] == '[' {
			if inner, ok := fill(inside, value); ok {
				return inner
			}
			return ""
		}
		for name := range strings.SplitSeq(inside, "|") {
			if own, ok := strings.CutPrefix(name, "="); ok {
				return own
			}
			if v := value(name); v != "" {
				filled = true
				return v
			}
		}
		return ""
	})
	return out, filled
}
