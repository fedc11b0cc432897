package hours

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/calendar"
)

const office = `# What everybody shares.
vars: { hello: "Olá" }
calendars:
  lunch: { timezone: America/Sao_Paulo, open: { daily: [12:00-13:00] } }
  office:
    timezone: America/Sao_Paulo # the head office
    open:
      mon-fri: [8:00-12:00, 13:30-18:00] # as agreed
      sat: 09:00-13:00
    holidays: [br, 2026-12-24]
    special:
      # A short day.
      12-31: [08:00-12:00]
      2026-12-28: []
rules:
  - id: hello # greets
    when: message.received
    do: [{ send_message: Hello }]
`

func days(spans ...[]Span) (week [7][]Span) {
	copy(week[:], spans)
	return week
}

func read(t *testing.T, text string) *Sheet {
	t.Helper()
	s, mark, err := Read(text, "office")
	if err != nil || mark == "" {
		t.Fatal(err)
	}
	return s
}

func TestRead(t *testing.T) {
	workday := []Span{{"08:00", "12:00"}, {"13:30", "18:00"}}
	want := &Sheet{
		Week:     days(workday, workday, workday, workday, workday, []Span{{"09:00", "13:00"}}),
		Special:  []Day{{Date: "12-31", Spans: []Span{{"08:00", "12:00"}}}, {Date: "2026-12-28"}},
		Holidays: []string{"br", "2026-12-24"},
	}
	if diff := cmp.Diff(want, read(t, office)); diff != "" {
		t.Error(diff)
	}
}

// TestWrite shows that a file has only that changed which a person has changed, and reads back as
// what it was changed to.
func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   func(*Sheet)
		old, new string // of the text
		said     string
	}{
		{"nothing", func(*Sheet) {}, "", "", ""},
		{"one end of one day", func(s *Sheet) { s.Week[4] = []Span{{"08:00", "12:00"}, {"13:30", "17:00"}} },
			"mon-fri: [8:00-12:00, 13:30-18:00] # as agreed\n", "mon-thu: [8:00-12:00, 13:30-18:00] # as agreed\n      fri: [08:00-12:00, 13:30-17:00]\n",
			"Friday: closes at 17:00 instead of 18:00"},
		{"one end of all days", func(s *Sheet) {
			for i := range 5 {
				s.Week[i] = []Span{{"08:00", "12:00"}, {"13:30", "17:00"}}
			}
		}, "13:30-18:00]", "13:30-17:00]", "Monday to Friday: closes at 17:00 instead of 18:00"},
		{"a day that is written as one text", func(s *Sheet) { s.Week[5] = []Span{{"10:00", "13:00"}} }, "sat: 09:00", "sat: 10:00", "Saturday: opens at 10:00 instead of 09:00"},
		{"a day off", func(s *Sheet) { s.Week[5] = nil }, "      sat: 09:00-13:00\n", "", "Saturday: closed, no longer open 09:00–13:00"},
		{"another day", func(s *Sheet) { s.Week[6] = []Span{{"22:00", "02:00"}} }, "sat: 09:00-13:00\n", "sat: 09:00-13:00\n      sun: [22:00-02:00]\n", "Sunday: open 22:00–02:00, no longer closed"},
		{"a special day", func(s *Sheet) {
			s.Special = append(s.Special, Day{"2027-02-15", []Span{{"08:00", "12:00"}}, "Carnival: Monday"})
		}, "2026-12-28: []\n", "2026-12-28: []\n      2027-02-15: { open: [08:00-12:00], name: \"Carnival: Monday\" }\n", "15 Feb 2027 (Carnival: Monday): open 08:00–12:00"},
		{"a name for a special day", func(s *Sheet) { s.Special[1].Name = "Inventory" }, "2026-12-28: []", "2026-12-28: { open: [], name: Inventory }", "28 Dec 2026 (Inventory): closed"},
		{"one special day less", func(s *Sheet) { s.Special = s.Special[:1] }, "      2026-12-28: []\n", "", "28 Dec 2026: an ordinary day again"},
		{"another holiday", func(s *Sheet) { s.Holidays = append(s.Holidays, "2027-01-25") }, "2026-12-24]", "2026-12-24, 2027-01-25]", "25 Jan 2027: closed from now on"},
		{"no country", func(s *Sheet) { s.Holidays = s.Holidays[1:] }, "[br, 2026", "[2026", "Holidays of Brazil: no longer closed for that"},
		{"no holidays at all", func(s *Sheet) { s.Holidays = nil }, "    holidays: [br, 2026-12-24]\n", "", "Holidays of Brazil: no longer closed for that|24 Dec 2026: no longer closed for that"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := read(t, office)
			tt.change(want)
			got, err := Write(office, "office", want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Replace(office, tt.old, tt.new, 1), got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, read(t, got)); diff != "" {
				t.Errorf("it reads back as another: %s", diff)
			}
			if said := strings.Join(Changes(words.Languages[0], read(t, office), want), "|"); said != tt.said {
				t.Errorf("it is said to be %q, want %q", said, tt.said)
			}
		})
	}
}

// TestWriteAdds shows that parts that a calendar does not have are added, also in Windows files.
func TestWriteAdds(t *testing.T) {
	text := "calendars:\r\n  office: # ours\r\n    timezone: UTC\r\n    open: { daily: [08:00-18:00] }\r\n"
	want := read(t, text)
	want.Week[6] = nil
	want.Holidays, want.Special = []string{"pt-holidays.ics"}, []Day{{Date: "12-24", Name: "Christmas Eve"}}
	got, err := Write(text, "office", want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("calendars:\r\n  office: # ours\r\n    timezone: UTC\r\n    open: { mon-sat: [08:00-18:00] }\r\n    special:\r\n      12-24: { open: [], name: Christmas Eve }\r\n    holidays: [pt-holidays.ics]\r\n", got); diff != "" {
		t.Error(diff)
	}
}

// TestWriteRefuses shows that hours that another calendar shares are not changed by the way.
func TestWriteRefuses(t *testing.T) {
	text := "calendars:\n  office: &o\n    timezone: UTC\n    open: { daily: [08:00-18:00] }\n  other: *o\n"
	want := read(t, text)
	want.Week[6] = nil
	if got, err := Write(text, "office", want); err == nil {
		t.Errorf("it was changed:\n%s", got)
	}
}

func TestNew(t *testing.T) {
	for called, want := range map[string]string{"São Paulo": "sao-paulo", " Atendimento 24h ": "atendimento-24h", "office": "office", "a: {b}": "a-b", "東京": "", "--_": "", strings.Repeat("ab ", 40): strings.Repeat("ab-", 19) + "ab"} {
		if got := NameOf(called); got != want {
			t.Errorf("%q is called %q, want %q", called, got, want)
		}
	}
	sheet, _, err := Read(New("sao-paulo", "America/Sao_Paulo"), "sao-paulo")
	if err != nil || len(sheet.Problems(words.Languages[0])) > 0 {
		t.Error(sheet, err)
	}
}

func TestTyped(t *testing.T) {
	for from, want := range map[string]string{"8": "08:00", "8h": "08:00", "08": "08:00", "830": "08:30", "8:30": "08:30", "8h30": "08:30", " 18.15 ": "18:15", "1830": "18:30", "24": "24:00", "25": "25", "8:7": "8:7", "": "", "x": "x", "12345": "12345"} {
		if got := Typed(from, "0:00"); got != (Span{want, "24:00"}) {
			t.Errorf("%q is %v, want %s", from, got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		sheet Sheet
		want  string
	}{
		{Sheet{}, "It would never be open"},
		{Sheet{Week: days([]Span{{"08:00", "25"}})}, `Monday: "25" is not a time`},
		{Sheet{Week: days([]Span{{"08:00", ""}})}, `Monday: "" is not a time`},
		{Sheet{Week: days([]Span{{"08:00", "08:00"}})}, "Monday: it closes when it opens, at 08:00."},
		{Sheet{Week: days([]Span{{"08:00", "12:00"}, {"11:00", "13:00"}})}, "Monday: 08:00–12:00 and 11:00–13:00 overlap."},
		{Sheet{Week: days([]Span{{"08:00", "12:00"}}), Special: []Day{{Date: "2026-13-01"}}}, `"2026-13-01" is not a day`},
		{Sheet{Week: days([]Span{{"08:00", "12:00"}}), Special: []Day{{Date: "12-24"}, {Date: "12-24"}}}, "24 Dec, every year is there twice."},
		{Sheet{Week: days([]Span{{"08:00", "12:00"}, {"22:00", "02:00"}}), Special: []Day{{Date: "12-24"}}}, ""},
	} {
		if got := strings.Join(tt.sheet.Problems(words.Languages[0]), "|"); !strings.HasPrefix(got, tt.want) || got != "" && tt.want == "" {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// compiled is the office with a name for a day, as a calendar.
func compiled(t *testing.T) *calendar.Calendar {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	shift := func(from, to int) calendar.Shift {
		return calendar.Shift{Start: time.Duration(from) * time.Hour, End: time.Duration(to) * time.Hour}
	}
	c, err := calendar.New(calendar.Config{
		Location: zone, Countries: []string{"br"}, Holidays: []calendar.Date{{Year: 2026, Month: 11, Day: 17}},
		Open:    map[time.Weekday][]calendar.Shift{time.Monday: {shift(8, 12), shift(13, 18)}, time.Tuesday: {shift(8, 18)}, time.Thursday: {shift(8, 18)}, time.Friday: {shift(22, 26)}},
		Special: []calendar.SpecialDay{{Date: calendar.Date{Year: 2026, Month: 11, Day: 19}, Shifts: []calendar.Shift{shift(8, 12)}, Name: "Town fair"}, {Date: calendar.Date{Year: 2026, Month: 11, Day: 23}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWeek(t *testing.T) {
	c := compiled(t)
	now := time.Date(2026, 11, 18, 10, 30, 0, 0, c.Location())
	var got []string
	for _, r := range Week(words.Languages[0], c, Monday(now), now) {
		line := r.Name + " " + r.Date + " " + r.Hours
		if r.Note != "" {
			line += " (" + r.Note + ")"
		}
		if r.IsToday {
			line += " now"
		}
		got = append(got, line)
	}
	want := []string{
		"Monday 16 Nov 08:00–12:00 and 13:00–18:00", "Tuesday 17 Nov closed (holiday)", "Wednesday 18 Nov closed now", "Thursday 19 Nov 08:00–12:00 (Town fair)",
		"Friday 20 Nov closed (Dia Nacional de Zumbi e da Consciência Negra)", "Saturday 21 Nov closed", "Sunday 22 Nov closed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	later := Week(words.Languages[0], c, Monday(now).AddDate(0, 0, 7), now)
	if diff := cmp.Diff([]Bar{{22 * 60, 120}}, later[4].Bars); diff != "" || len(later[5].Bars) != 1 || later[5].Bars[0] != (Bar{0, 120}) {
		t.Errorf("a night is not drawn on both days: %s %v", diff, later[5].Bars)
	}
}

func TestAsk(t *testing.T) {
	c := compiled(t)
	for at, want := range map[string]string{
		"2026-11-16 10:00": "Yes, on Monday, 16 Nov it is open until 12:00.",
		"2026-11-28 01:00": "Yes, on Saturday, 28 Nov it is open until 02:00.",
		"2026-11-16 12:30": "No: on Monday, 16 Nov it is open 08:00–12:00 and 13:00–18:00.",
		"2026-11-17 10:00": "No: Tuesday, 17 Nov is a holiday.",
		"2026-11-20 23:00": "No: Friday, 20 Nov is a holiday, Dia Nacional de Zumbi e da Consciência Negra.",
		"2026-11-18 10:00": "No: on Wednesday, 18 Nov it is closed all day.",
		"2026-11-19 15:00": "No: Thursday, 19 Nov has hours of its own (Town fair), 08:00–12:00.",
		"2026-11-23 10:00": "No: it is closed on Monday, 23 Nov (special day).",
	} {
		when, err := time.ParseInLocation("2006-01-02 15:04", at, c.Location())
		if err != nil {
			t.Fatal(err)
		}
		if open, said := Ask(words.Languages[0], c, when); said != want || open != strings.HasPrefix(want, "Yes") {
			t.Errorf("%s: %q, want %q", at, said, want)
		}
	}
}

func TestStatus(t *testing.T) {
	c := compiled(t)
	for at, want := range map[string]string{
		"2026-11-16 10:00": "open until 12:00", "2026-11-16 12:30": "closed, opens 13:00", "2026-11-16 19:00": "closed, opens Thursday 08:00", "2026-11-27 23:00": "open until Saturday 02:00", "2026-11-19 13:00": "closed, opens Tuesday 08:00",
	} {
		when, err := time.ParseInLocation("2006-01-02 15:04", at, c.Location())
		if err != nil {
			t.Fatal(err)
		}
		if _, said := Status(words.Languages[0], c, when); said != want {
			t.Errorf("%s: %q, want %q", at, said, want)
		}
	}
}
