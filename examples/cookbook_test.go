package examples_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

var (
	recipeBlock = regexp.MustCompile("(?ms)^```(yaml|text)\n(.*?)^```$")
	recipeID    = regexp.MustCompile(`(?m)^  - id: (\S+)$`)
	saidLine    = regexp.MustCompile(`^(?:\S+:)?\s*(.*)$`)
)

// TestCookbook runs the rules of docs/cookbook.md with the stories beside it: each recipe has one,
// and what the page lets people say is said in it.
func TestCookbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	stories, err := os.ReadFile("../docs/cookbook_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var files []*rules.File
	var ids []string
	for i, block := range recipeBlock.FindAllStringSubmatch(string(page), -1) {
		switch block[1] {
		case "yaml":
			files = append(files, rules.Parse("recipe"+string(rune('a'+i))+".yaml", []byte(block[2])))
			for _, id := range recipeID.FindAllStringSubmatch(block[2], -1) {
				ids = append(ids, id[1])
			}
		case "text":
			for line := range strings.Lines(block[2]) {
				if said := saidLine.FindStringSubmatch(strings.TrimSpace(line))[1]; !strings.Contains(string(stories), said) {
					t.Errorf("%s: in no story is said: %s", ids[len(ids)-1], said)
				}
			}
		}
	}
	if len(ids) != 20 {
		t.Errorf("there are %d recipes: %v", len(ids), ids)
	}
	set, problems := rules.Compile(append(files, rules.Parse("cookbook_test.yaml", stories)), rules.Options{Catalog: builtin.Catalog()})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(set.Tests, func(test *rules.Test) bool { return slices.Contains(test.Rules, id) }) {
			t.Errorf("no story is about %s", id)
		}
	}
	tell(t, set, true)
}
