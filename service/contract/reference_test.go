package contract_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/service"
)

// A test that the reference's table names for the client is one of this package, and every
// operation has its row.
func TestReference(t *testing.T) {
	src := string(must(os.ReadFile("../../docs/reference.md"))(t))
	named := map[string]bool{}
	row := regexp.MustCompile(`^\| *(\d+) *\|`)
	for line := range strings.Lines(src) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if !row.MatchString(line) || len(cells) != 7 {
			continue
		}
		test := strings.Trim(strings.TrimSpace(cells[5]), "`")
		if test == "—" {
			continue
		}
		operation, ok := strings.CutPrefix(test, "TestOperations/")
		if !ok || !slices.ContainsFunc(proofs(), func(p proof) bool { return p.name == operation }) {
			t.Errorf("row %s names %q, which does not exist", strings.TrimSpace(cells[1]), test)
		}
		named[operation] = true
	}
	profile := service.DefaultProfile()
	for _, o := range profile.Operations() {
		if !named[o.String()] {
			t.Errorf("no row names the test of %s", o)
		}
	}
}
