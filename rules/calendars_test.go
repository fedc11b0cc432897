package rules_test

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

// TestCalendarsOfSeveralFiles shows that files which are used together may repeat a calendar, but
// not contradict each other.
func TestCalendarsOfSeveralFiles(t *testing.T) {
	const same = "calendars:\n  office: { timezone: America/Sao_Paulo, open: { mon-fri: [08:00-18:00] } }\n"
	other := strings.Replace(same, "18:00", "17:00", 1)
	check := func(second string) rules.Problems {
		_, problems := rules.Compile([]*rules.File{
			rules.Parse("a.yaml", []byte(same)), rules.Parse("b.yaml", []byte(second+"rules:\n  - { id: r, when: manual, if: open(\"office\"), do: [mark_read] }\n")),
		}, rules.Options{Catalog: builtin.Catalog()})
		return problems
	}
	if problems := check(same); len(problems) > 0 {
		t.Error(problems)
	}
	if problems := check(other); len(problems) != 1 || problems[0].Error() != `b.yaml:2:3: there are two calendars "office", and they differ (the first is in a.yaml:2)` {
		t.Error(problems)
	}
}
