package console

import (
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// TestFamilies shows that everything the engine and the language can say has words in both
// languages.
func TestFamilies(t *testing.T) {
	var keys []string
	for _, verb := range builtin.Catalog().Verbs() {
		keys = append(keys, "verb."+verb)
	}
	for _, name := range eventTypes() {
		keys = append(keys, "event."+name)
	}
	for _, name := range vocabulary.EventTypes() {
		keys = append(keys, "when."+name)
	}
	for _, each := range rules.EachItems() {
		keys = append(keys, "each."+each.Name)
	}
	for _, s := range runStates {
		keys = append(keys, "state."+string(s))
		for _, what := range asksOf(s) {
			keys = append(keys, "button."+string(what), "asked."+string(what), "audit."+string(what))
		}
	}
	for _, s := range []journal.StepState{journal.StepOpen, journal.StepWaiting, journal.StepDone, journal.StepSkipped, journal.StepSuperseded, journal.StepWould, journal.StepFailed, journal.StepUncertain} {
		keys = append(keys, "step."+string(s))
	}
	for _, o := range []journal.Outcome{journal.Fired, journal.False, journal.Failed, journal.Late, journal.Limited, journal.Skipped, journal.Gathered, journal.Own, journal.Paused, journal.Looped, journal.Claimed, journal.Internal} {
		keys = append(keys, "outcome."+string(o))
	}
	for _, k := range []journal.HoldKind{journal.HoldPerson, journal.HoldSafety, journal.HoldRate, journal.HoldKey} {
		keys = append(keys, "hold.kind."+string(k), "rules.held."+string(k))
	}
	for _, k := range []CheckKind{CheckService, CheckKey, CheckClock, CheckWebhook, CheckSubscription, CheckScopes, CheckJournal} {
		keys = append(keys, "check."+string(k), "need.check."+string(k))
	}
	for _, k := range []CheckKind{CheckSends, CheckReads, CheckOthers} {
		keys = append(keys, "check."+string(k), "need.outage."+string(k))
	}
	for _, name := range picture.Ends {
		keys = append(keys, "end."+name)
	}
	for _, group := range menu {
		if group.Name != "" {
			keys = append(keys, "layout.group."+group.Name)
		}
		for _, one := range group.Places {
			keys = append(keys, "nav."+one.Name)
		}
	}
	for _, key := range keys {
		if !words.Languages[0].Knows(key) {
			t.Errorf("there is no message %s", key)
		}
	}
}
