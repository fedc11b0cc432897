package calendar

import (
	"strings"
	"testing"
	"time"
)

func TestSpecialDays(t *testing.T) {
	shifts := func(list ...string) (out []Shift) {
		for _, s := range list {
			shift, err := ParseShift(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, shift)
		}
		return out
	}
	special := func(date string, list ...string) SpecialDay {
		d, err := ParseSpecialDate(date)
		if err != nil {
			t.Fatal(err)
		}
		return SpecialDay{Date: d, Shifts: shifts(list...)}
	}
	c, err := New(Config{
		Location:  mustZone(t, "America/Sao_Paulo"),
		Open:      map[time.Weekday][]Shift{time.Monday: shifts("08:00-18:00"), time.Thursday: shifts("08:00-18:00"), time.Friday: shifts("08:00-18:00")},
		Countries: []string{"br"},
		Holidays:  []Date{{2026, 12, 24}},
		Special: []SpecialDay{
			special("2026-12-24", "08:00-12:00"), // a holiday
			special("12-25", "22:00-02:00"),      // a holiday of the country, over midnight
			special("12-31", "08:00-12:00"), special("2027-12-31"),
			special("02-29", "10:00-11:00"),
			{Date: Date{0, 12, 26}, Name: "Inventory"}, {Date: Date{2027, 12, 24}, Shifts: shifts("08:00-12:00"), Name: "Christmas Eve"},
		},
		Closed: []ClosedHours{{Date{2026, 12, 24}, shifts("09:00-10:00")[0]}, {Date{2026, 12, 21}, shifts("12:00-13:00")[0]}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ day, want, holiday string }{
		{"2026-12-21", "08:00-12:00 13:00-18:00", ""},
		{"2026-12-24", "08:00-12:00", ""},
		{"2026-12-25", "22:00-00:00", ""},
		{"2026-12-26", "00:00-02:00", "Inventory"},
		{"2026-12-31", "08:00-12:00", ""},
		{"2027-12-31", "", "2027-12-31"},
		{"2028-02-29", "10:00-11:00", ""},
		{"2029-12-31", "08:00-12:00", ""}, // a Monday
		{"2027-01-01", "", "Ano Novo"},
	} {
		midnight, err := time.ParseInLocation(time.DateOnly, tt.day, c.Location())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, open := range c.Openings(midnight, midnight.AddDate(0, 0, 1)) {
			got = append(got, open.From.Format("15:04")+"-"+open.To.Format("15:04"))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("on %s it is open %v, want %s", tt.day, got, tt.want)
		}
		if name, _ := c.Holiday(midnight.Add(12 * time.Hour)); !strings.Contains(name, tt.holiday) || name != "" && tt.holiday == "" {
			t.Errorf("the holiday of %s is %q, want %q", tt.day, name, tt.holiday)
		}
	}
	for day, want := range map[string]string{"2026-12-24": "2026-12-24", "2027-12-24": "Christmas Eve", "2029-12-26": "Inventory", "2026-12-21": ""} {
		at, err := time.ParseInLocation(time.DateOnly, day, c.Location())
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := c.Special(at); name != want || ok != (want != "") {
			t.Errorf("the special day of %s is %q, %v", day, name, ok)
		}
	}
}

func TestParseSpecialDateRefuses(t *testing.T) {
	for _, s := range []string{"2026-13-01", "31-12", "12/31", "2026-02-29", "02-30", "0000-01-01", "2026-1-1", "1-1", "12-31 ", "", "2026-12-24T00:00:00Z"} {
		if d, err := ParseSpecialDate(s); err == nil || !strings.Contains(err.Error(), "write year-month-day, for example 2026-12-24, or month-day for every year, for example 12-24") {
			t.Errorf("ParseSpecialDate(%q) = %s, %v", s, d, err)
		}
	}
}
