package calendar

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func FuzzParseShift(f *testing.F) {
	for _, s := range []string{"08:00-12:00", "22:00-02:00", "00:00-24:00", "9:00-18:00", "00:00-00:00", "24:00-25:00", " 8:00 - 9:61", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shift, err := ParseShift(s)
		if err != nil {
			return
		}
		if err := shift.check(); err != nil {
			t.Errorf("ParseShift(%q) = %v: %v", s, shift, err)
		}
		if length := shift.End - shift.Start; length > 24*time.Hour {
			t.Errorf("ParseShift(%q) lasts %s", s, length)
		}
	})
}

func FuzzParseICS(f *testing.F) {
	f.Add([]byte(vevent("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261226", "RRULE:FREQ=YEARLY;COUNT=3", "EXDATE:20271224")))
	f.Add([]byte(vevent("UID:a", "DTSTART;TZID=\"a:b\":20261224T090000Z", "DURATION:P1DT2H3M4S", "RDATE:20270101,20270102", "STATUS:CANCELLED")))
	f.Add([]byte(ics("BEGIN:VEVENT\nUID:a\nDTSTART:00010101\nRRULE:FREQ=YEARLY;INTERVAL=9;UNTIL=21000101\nEND:VEVENT",
		"BEGIN:VEVENT\nUID:a\nRECURRENCE-ID:20271224\nDTSTART:2027", " 1223\nEND:VEVENT")))
	f.Add([]byte(vevent("UID:a", "DTSTART:00010101T000001Z", "DTEND;TZID=Asia/Kathmandu:00010103T090000", "RRULE:FREQ=YEARLY;UNTIL=20991231T000000Z", "EXDATE:20270101T000001Z")))
	zone := mustZone(f, "America/Sao_Paulo")
	f.Fuzz(func(t *testing.T, src []byte) {
		dates, hours, err := ParseICS(src, zone)
		if err != nil {
			return
		}
		if len(dates) > maxICSDates {
			t.Errorf("%d dates", len(dates))
		}
		if !slices.IsSortedFunc(dates, Date.Compare) || len(slices.Compact(slices.Clone(dates))) != len(dates) {
			t.Errorf("not in order or not each once: %v", dates)
		}
		for _, d := range dates {
			if !d.exists() {
				t.Errorf("%s does not exist", d)
			}
		}
		for _, h := range hours {
			if again, err := ParseClosedHours(h.String()); err != nil || again != h {
				t.Errorf("%s is read as %s, %v", h, again, err)
			}
		}
		open := map[time.Weekday][]Shift{time.Monday: {{0, time.Hour}}}
		if _, err := New(Config{Location: zone, Open: open, Holidays: dates, Closed: hours}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzCalendar holds calendars to what must be so whatever the hours: the shape of one is drawn
// from a seed.
func FuzzCalendar(f *testing.F) {
	f.Add(uint64(1), uint8(0), int64(1_800_000_000), uint32(0), int64(15*time.Minute), int64(3600))
	f.Add(uint64(2), uint8(2), int64(1_861_900_000), uint32(1), int64(40*time.Hour), int64(86400*30)) // the end of a leap year
	f.Add(uint64(3), uint8(15), int64(1_325_239_200), uint32(999_999_999), int64(time.Nanosecond), int64(-86400))
	f.Add(uint64(4), uint8(14), int64(-1<<63), uint32(5), int64(1<<62), int64(1<<62))
	f.Add(uint64(5), uint8(6), int64(1<<63-1), uint32(5), int64(-1), int64(-1<<62))
	f.Add(uint64(5), uint8(6), int64(1<<63-46), uint32(2), int64(-1), int64(-1<<62)) // once a walk without an end
	f.Fuzz(func(t *testing.T, seed uint64, zone uint8, unix int64, nanos uint32, d, later int64) {
		r := rand.New(rand.NewPCG(seed, 0))
		from := time.Unix(unix, int64(nanos%1e9))
		cfg := randomConfig(r, mustZone(t, zones[int(zone)%len(zones)]), from.UTC())
		cfg.Holidays = slices.DeleteFunc(cfg.Holidays, func(d Date) bool { return !d.exists() })
		cfg.Closed = slices.DeleteFunc(cfg.Closed, func(h ClosedHours) bool { return !h.Date.exists() })
		cfg.Special = slices.DeleteFunc(cfg.Special, func(s SpecialDay) bool { return s.Date.Year != 0 && !s.Date.exists() })
		if seed%3 == 0 {
			cfg.Countries = []string{"br"}
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}

		if next, ok := c.NextOpen(from); ok && (!c.Open(next) || c.Open(next.Add(-1)) || !next.After(from)) {
			t.Errorf("NextOpen(%s) = %s is not an opening after it", from, next)
		}
		if next, ok := c.NextClose(from); ok && (c.Open(next) || !c.Open(next.Add(-1)) || !next.After(from)) {
			t.Errorf("NextClose(%s) = %s is not a closing after it", from, next)
		}

		// Beyond these years, times and their differences no longer fit their types: there only a panic
		// or a hang is wrong.
		sane := unix > -1<<40 && unix < 1<<40 && later > -1<<32 && later < 1<<32
		to := from.Add(time.Duration(later) * time.Second / 2)
		middle := from.Add(to.Sub(from) / 3)
		whole, first, rest := c.Between(from, to), c.Between(from, middle), c.Between(middle, to)
		if sane && whole != first+rest {
			t.Errorf("Between(%s, %s) = %s, but its parts are %s and %s", from, to, whole, first, rest)
		}

		after, err := c.Add(from, time.Duration(d))
		if err != nil || !sane {
			return
		}
		if got := c.Between(from, after); got != time.Duration(d) {
			t.Errorf("Between(%s, Add(%s)) = %s", from, time.Duration(d), got)
		}
		if d > 0 && c.Between(from, after.Add(-1)) == time.Duration(d) {
			t.Errorf("Add(%s, %s) = %s is not the earliest", from, time.Duration(d), after)
		}
	})
}
