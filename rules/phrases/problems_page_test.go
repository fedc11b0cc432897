package phrases

import (
	"slices"
	"strings"
	"testing"
)

// TestPageProblems shows that what pages say belongs to a message that there is, has the same
// arguments in both languages, and no code.
func TestPageProblems(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all sources")
	}
	said := saidOfProblems(t)
	for format, words := range pageProblems {
		if said[string(format)] == "" && format != "%s, %s" { // which is nothing but arguments
			t.Errorf("nothing says %q", format)
		}
		var arguments [2][]string
		for l, text := range words {
			arguments[l] = pageArgument.FindAllString(text, -1)
			slices.Sort(arguments[l])
			if bare := pageArgument.ReplaceAllString(text, ""); strings.ContainsAny(bare, "{}()`=_%") {
				t.Errorf("%q is said with code: %s", format, text)
			}
		}
		if !slices.Equal(arguments[0], arguments[1]) {
			t.Errorf("%q: %v in English, %v in Portuguese", format, arguments[0], arguments[1])
		}
	}
}
