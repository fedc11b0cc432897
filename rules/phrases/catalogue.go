package phrases

import (
	"fmt"

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
	engineReasons, verbReasons, backfillProblems, conditions, explanations, events,
	consoleFrame, consolePages, consoleRules, consoleSimulator, consoleHealth, consoleEditor, consoleFields,
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

func lookUp(code Code) (t texts, ok bool) {
	for _, part := range catalogue {
		if t, ok = part[code]; ok {
			break
		}
	}
	return t, ok
}
