package console

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var (
	formatVerb = regexp.MustCompile(`%[a-z]`)
	usedKey    = regexp.MustCompile(`(?:\bt|\.t|\bn|problem\([^,]+,)[ (]\s*"([a-z_]+(?:\.[a-z_A-Z]+)+)"`)
	madeKey    = regexp.MustCompile(`"([a-z]+(?:\.[a-z_]+)*\.)"`) // the beginning of a key that is put together
)

// TestMessages shows that every text of the pages is there in both languages, and says the same things.
func TestMessages(t *testing.T) {
	all := map[string][2]string{}
	for _, part := range messages {
		maps.Copy(all, part)
	}
	for key, m := range all {
		for _, l := range languages {
			if strings.TrimSpace(m[l.at]) == "" {
				t.Errorf("%s is missing in %s", key, l.Name)
			}
		}
		if en, pt := formatVerb.FindAllString(m[0], -1), formatVerb.FindAllString(m[1], -1); !slices.Equal(en, pt) {
			t.Errorf("%s has %v in English and %v in Portuguese", key, en, pt)
		}
	}
	used, made := keysInSources(t)
	for key := range used {
		if _, ok := all[key]; !ok && all[key+".one"] == [2]string{} {
			t.Errorf("there is no message %s", key)
		}
	}
	for key := range all {
		whole := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".many")
		if !used[key] && !used[whole] && !slices.ContainsFunc(made, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			t.Errorf("nobody uses %s", key)
		}
	}
}

// keysInSources returns the keys that pages and code name, and the beginnings of those that they put together.
func keysInSources(t *testing.T) (map[string]bool, []string) {
	t.Helper()
	used, made := map[string]bool{}, []string{}
	for _, pattern := range []string{"*.go", "templates/*.html"} {
		for _, name := range must(filepath.Glob(pattern)) {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "messages") {
				continue
			}
			text := string(must(os.ReadFile(name)))
			for _, m := range usedKey.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
			for _, m := range madeKey.FindAllStringSubmatch(text, -1) {
				made = append(made, m[1])
			}
			// Keys that are chosen before they are said.
			for _, m := range regexp.MustCompile(`"((?:standing|button|error|unasked|need|said)\.[a-z_.]*[a-z_])"`).FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
	}
	return used, made
}

// TestFamilies shows that everything the engine and the language can say has words in both languages.
func TestFamilies(t *testing.T) {
	var keys []string
	for _, verb := range builtin.Catalog().Verbs() {
		keys = append(keys, "verb."+verb)
	}
	for _, name := range eventTypes() {
		keys = append(keys, "event."+name)
	}
	for _, name := range rules.EventNames() {
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
	for _, o := range []journal.Outcome{journal.Fired, journal.False, journal.Failed, journal.Late, journal.Limited, journal.Skipped, journal.Gathered, journal.Own, journal.Paused, journal.Looped} {
		keys = append(keys, "outcome."+string(o))
	}
	for _, k := range []journal.HoldKind{journal.HoldPerson, journal.HoldSafety, journal.HoldRate, journal.HoldKey} {
		keys = append(keys, "hold.kind."+string(k), "rules.held."+string(k))
	}
	for _, k := range []CheckKind{CheckService, CheckKey, CheckClock, CheckWebhook, CheckSubscription, CheckScopes} {
		keys = append(keys, "check."+string(k), "need.check."+string(k))
	}
	for _, m := range []rules.Mode{rules.Single, rules.Restart, rules.Parallel} {
		keys = append(keys, "rule.mode."+string(m))
	}
	for _, name := range append(ends, menu...) {
		if slices.Contains(menu, name) {
			keys = append(keys, "nav."+name)
		} else {
			keys = append(keys, "end."+name)
		}
	}
	for _, key := range keys {
		if !languages[0].knows(key) {
			t.Errorf("there is no message %s", key)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	for header, want := range map[string]string{
		"": "en", "pt-BR,pt;q=0.9,en;q=0.8": "pt", "en-US,en;q=0.9,pt;q=0.8": "en", "de, pt;q=0.5, en;q=0.4": "pt", "fr": "en", "pt;q=x": "en",
	} {
		r := must(http.NewRequest("GET", "/", nil))
		r.Header.Set("Accept-Language", header)
		if got := languageOf(r); got != want {
			t.Errorf("%q: %s", header, got)
		}
		r.AddCookie(&http.Cookie{Name: languageCookie, Value: "pt"})
		if got := languageOf(r); got != "pt" {
			t.Errorf("%q with a cookie: %s", header, got)
		}
	}
}
