package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// TestPhrases shows that everything that is told of events, rules and runs is there in each language, with the same things in it.
func TestPhrases(t *testing.T) {
	verb := regexp.MustCompile(`%[a-z]`)
	var sources strings.Builder
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "phrases.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	code := sources.String()
	made := map[string]bool{"true": true, "false": true}
	for _, o := range []journal.Outcome{journal.Late, journal.Own, journal.Looped} {
		made[string(o)] = true
	}
	for _, o := range []journal.Outcome{journal.Fired, journal.False, journal.Failed, journal.Late, journal.Limited, journal.Skipped, journal.Own, journal.Paused, journal.Looped} {
		made["outcome."+string(o)] = true
	}
	for _, s := range []journal.State{journal.Queued, journal.Running, journal.Waiting, journal.Held, journal.Uncertain, journal.Done, journal.Stopped, journal.Cancelled, journal.FailedRun} {
		made["state."+string(s)] = true
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:x\.t|f\.missing|phrases\.Say)\((?:[a-zA-Z.]+, )?"([a-z_.]+)"`).FindAllStringSubmatch(code, -1) {
		if !strings.HasSuffix(m[1], ".") {
			used[m[1]] = true
		}
	}
	for key, text := range phrases {
		if text[rules.English] == "" || text[rules.Portuguese] == "" {
			t.Errorf("%s is missing in a language", key)
		}
		if !slices.Equal(verb.FindAllString(text[0], -1), verb.FindAllString(text[1], -1)) {
			t.Errorf("%s says other things in another language: %q", key, text)
		}
		if !used[key] && !made[key] {
			t.Errorf("nobody uses %s", key)
		}
	}
	for _, keys := range []map[string]bool{used, made} {
		for key := range keys {
			if _, ok := phrases[key]; !ok {
				t.Errorf("there is no phrase %s", key)
			}
		}
	}
}
