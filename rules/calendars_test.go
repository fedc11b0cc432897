package rules_test

import (
	"strings"
	"testing"
	"time"

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

// TestSourceKeepsHoursOfDays shows that a rule as a file of its own has the same hours: those of
// single days, with and without quotes, and those that an .ics file closes.
func TestSourceKeepsHoursOfDays(t *testing.T) {
	const file = `calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-18:00] }
    holidays: [days.ics, 2026-12-24, 2026-12-21 12:00-13:00]
    special: { 2026-12-24: [08:00-12:00], "2026-12-25": 10:00-11:00, 12-30: [], "12-31": [22:00-02:00], 2026-12-31: [] }
rules:
  - { id: r, when: manual, if: open("office"), do: [mark_read] }
`
	options := rules.Options{Catalog: builtin.Catalog(), ReadFile: func(_, _ string) ([]byte, error) {
		return []byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261222T180000Z\nDTEND:20261222T190000Z\nEND:VEVENT\nEND:VCALENDAR\n"), nil
	}}
	set, problems := rules.Compile([]*rules.File{rules.Parse("a.yaml", []byte(file))}, options)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	alone, problems := rules.Compile([]*rules.File{rules.Parse("b.yaml", []byte(set.Rules[0].Source()))}, rules.Options{Catalog: builtin.Catalog()})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	formatted, problems := rules.Format("a.yaml", []byte(file))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	again, problems := rules.Compile([]*rules.File{rules.Parse("a.yaml", formatted)}, options)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, s := range map[string]*rules.Set{"the set": set, "the rule alone": alone, "the formatted file": again} {
		office := s.Rules[0].Calendar("office")
		for day, want := range map[string]string{
			"2026-12-21": "08:00-12:00 13:00-18:00", "2026-12-22": "08:00-15:00 16:00-18:00", "2026-12-24": "08:00-12:00",
			"2026-12-25": "10:00-11:00", "2026-12-30": "", "2026-12-31": "", "2027-12-31": "22:00-00:00",
		} {
			from, err := time.ParseInLocation(time.DateOnly, day, office.Location())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, open := range office.Openings(from, from.AddDate(0, 0, 1)) {
				got = append(got, open.From.Format("15:04")+"-"+open.To.Format("15:04"))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s is open %v on %s, want %s", name, got, day, want)
			}
		}
	}
}
