package calendar

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// holidaysIn returns the holidays of a country in a year, as "01-02".
func holidaysIn(t *testing.T, country string, year int) []string {
	t.Helper()
	list, err := listHolidays([]string{country}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var days []string
	for _, h := range slices.Concat(list...) {
		if d := time.Unix(h.day*secondsPerDay, 0).UTC(); d.Year() == year {
			days = append(days, d.Format("01-02"))
		}
	}
	return days
}

func TestHolidaysOfBrazil(t *testing.T) {
	tests := []struct {
		year int
		want string
	}{
		{2023, "01-01 04-07 04-21 05-01 09-07 10-12 11-02 11-15 12-25"},
		{2024, "01-01 03-29 04-21 05-01 09-07 10-12 11-02 11-15 11-20 12-25"},
		{2025, "01-01 04-18 04-21 05-01 09-07 10-12 11-02 11-15 11-20 12-25"},
		{2026, "01-01 04-03 04-21 05-01 09-07 10-12 11-02 11-15 11-20 12-25"},
		{2027, "01-01 03-26 04-21 05-01 09-07 10-12 11-02 11-15 11-20 12-25"},
		{2028, "01-01 04-14 04-21 05-01 09-07 10-12 11-02 11-15 11-20 12-25"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(strings.Fields(tt.want), holidaysIn(t, "br", tt.year)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", tt.year, diff)
		}
	}
}

func TestGoodFridayOfArgentinaIsAFriday(t *testing.T) {
	days := holidaysIn(t, "ar", 2027)
	if !slices.Contains(days, "03-26") || slices.Contains(days, "03-25") {
		t.Errorf("holidays of 2027 are %v, want 26 March and not 25 March among them", days)
	}
}

func TestMovedHolidaysCloseBothDays(t *testing.T) {
	tests := []struct {
		name, country string
		year          int
		want          []string
	}{
		{"a Saturday moved back", "us", 2026, []string{"07-03", "07-04"}},
		{"a Saturday moved back into the year before", "us", 2021, []string{"12-31"}},
		{"into the last year that is known", "us", 2100, []string{"12-31"}},
		{"Christmas on a Saturday and Boxing Day", "gb", 2021, []string{"12-25", "12-26", "12-27", "12-28"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := holidaysIn(t, tt.country, tt.year)
			for _, day := range tt.want {
				if !slices.Contains(got, day) {
					t.Errorf("%s is missing in %v", day, got)
				}
			}
		})
	}
}

// A holiday is on the same date wherever the program runs, also where clocks go forward at midnight
// of that very date.
func TestHolidaysDoNotDependOnTheMachinesZone(t *testing.T) {
	const zone = "America/Sao_Paulo" // where 2017-10-15 and 2018-11-04 had no midnight
	if os.Getenv("TZ") != zone {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "TZ="+zone)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("with TZ=%s: %v\n%s", zone, err, out)
		}
		return
	}
	if days := holidaysIn(t, "mw", 2017); !slices.Contains(days, "10-15") || slices.Contains(days, "10-14") {
		t.Errorf("Malawi's Mother's Day, 15 October 2017, is missing or a day early in %v", days)
	}
	if days := holidaysIn(t, "mw", 2017); !slices.Contains(days, "10-16") {
		t.Errorf("15 October 2017 is a Sunday, so 16 October is a holiday too; got %v", days)
	}
}

func TestHoliday(t *testing.T) {
	c, err := New(Config{
		Location:  mustZone(t, "America/Sao_Paulo"),
		Open:      map[time.Weekday][]Shift{time.Thursday: {{22 * time.Hour, 26 * time.Hour}}},
		Holidays:  []Date{{2026, 12, 24}, {2026, 12, 25}, {2150, 1, 1}},
		Countries: []string{"BR"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, at, want string
	}{
		{"by country, and listed too", "2026-12-25T12:00:00-03:00", "Natal"},
		{"listed", "2026-12-24T12:00:00-03:00", "2026-12-24"},
		{"listed beyond the years of countries", "2150-01-01T12:00:00-03:00", "2150-01-01"},
		{"the date is the local one", "2026-12-26T02:59:59Z", "Natal"},
		{"no more", "2026-12-26T03:00:00Z", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := c.Holiday(when(t, tt.at)); got != tt.want || ok != (tt.want != "") {
				t.Errorf("Holiday = %q, %v, want %q", got, ok, tt.want)
			}
		})
	}
	// Thursday 19 November runs on into the holiday of the 20th.
	if now := when(t, "2026-11-20T01:00:00-03:00"); !c.Open(now) {
		t.Error("the shift of the day before is closed by a holiday after midnight")
	}
}

func TestCountries(t *testing.T) {
	list := Countries()
	if !slices.IsSorted(list) || !slices.Contains(list, "br") || !slices.Contains(list, "pl") {
		t.Errorf("Countries = %v", list)
	}
	for _, code := range list {
		if !IsCountry(code) || !IsCountry(strings.ToUpper(code)) {
			t.Errorf("IsCountry(%q) is false", code)
		}
		if days := holidaysIn(t, code, 2026); len(days) < 7 || !slices.Contains(days, "12-25") && !slices.Contains([]string{"jp", "ru"}, code) {
			t.Errorf("%s has the holidays %v", code, days)
		}
	}
	if IsCountry("xx") || IsCountry("") {
		t.Error("IsCountry takes what is no country")
	}
}
