package plain_test

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/rules/plain"
)

// Numbers that are as small as numbers can be take a hundred times as long to read as others. A
// document that is full of them is refused, and one may have as many as any that is meant may have.
func TestSmallNumbers(t *testing.T) {
	list := func(number string, n int) string { return "[" + strings.Repeat(number+",", n) + number + "]" }
	for _, small := range []string{"5e-324", "2E-308", "-1e-325", "0.01e-320"} {
		if _, err := plain.Decode(list(small, 2000)); err == nil || !strings.Contains(err.Error(), "numbers as small as") {
			t.Errorf("2,000 of %s: %v", small, err)
		}
		if _, err := plain.Decode(list(small, 500)); err != nil {
			t.Errorf("500 of %s: %v", small, err)
		}
	}
	for _, other := range []string{"1e+300", "1e-300", "0e-400"} {
		if _, err := plain.Decode(list(other, 50_000)); err != nil {
			t.Errorf("50,000 of %s: %v", other, err)
		}
	}
}
