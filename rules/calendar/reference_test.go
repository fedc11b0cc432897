package calendar

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	cases = flag.Int("cases", 20_000, "how many cases to compare with the reference")
	seed  = flag.Uint64("seed", 1, "the seed of the cases")
)

// reference is a calendar that implements only its definition: it steps from minute to minute and
// reads the wall clock.
type reference struct {
	cfg  Config
	base time.Time // a whole minute
	open []bool    // by minutes since base
}

func newReference(cfg Config, start time.Time, minutes int) *reference {
	r := &reference{cfg: cfg, base: start.Truncate(time.Minute)}
	for i := range minutes {
		r.open = append(r.open, r.isOpen(r.base.Add(time.Duration(i)*time.Minute)))
	}
	return r
}

func (r *reference) isOpen(t time.Time) bool {
	local := t.In(r.cfg.Location)
	y, m, d := local.Date()
	hour, minute, _ := local.Clock()
	clock := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	return r.inShift(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), clock) ||
		r.inShift(time.Date(y, m, d-1, 0, 0, 0, 0, time.UTC), clock+24*time.Hour)
}

// inShift reports whether a shift that starts on a date is open at a time after its midnight.
func (r *reference) inShift(date time.Time, clock time.Duration) bool {
	y, m, d := date.Date()
	covers := func(s Shift) bool { return s.Start <= clock && clock < s.End }
	for _, day := range []Date{{y, m, d}, {0, m, d}} {
		for _, special := range r.cfg.Special {
			if special.Date == day {
				return slices.ContainsFunc(special.Shifts, covers)
			}
		}
	}
	if slices.Contains(r.cfg.Holidays, Date{y, m, d}) || !slices.ContainsFunc(r.cfg.Open[date.Weekday()], covers) {
		return false
	}
	at := date.Add(clock)
	return !slices.ContainsFunc(r.cfg.Closed, func(h ClosedHours) bool {
		midnight := time.Date(h.Date.Year, h.Date.Month, h.Date.Day, 0, 0, 0, 0, time.UTC)
		return !at.Before(midnight.Add(h.Hours.Start)) && at.Before(midnight.Add(h.Hours.End))
	})
}

// turn returns the first minute after the one of base in which the calendar has turned to open, or
// to closed.
func (r *reference) turn(toOpen bool) (time.Time, bool) {
	for i := 1; i < len(r.open); i++ {
		if r.open[i] == toOpen && r.open[i-1] != toOpen {
			return r.base.Add(time.Duration(i) * time.Minute), true
		}
	}
	return time.Time{}, false
}

func (r *reference) between(from, to time.Time) time.Duration {
	var sum time.Duration
	for i, open := range r.open {
		begin := r.base.Add(time.Duration(i) * time.Minute)
		end := begin.Add(time.Minute)
		if !begin.Before(to) {
			break
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		if open && begin.Before(end) {
			sum += end.Sub(begin)
		}
	}
	return sum
}

func (r *reference) add(from time.Time, d time.Duration) (time.Time, bool) {
	if d == 0 {
		return from, true
	}
	for i, open := range r.open {
		begin := r.base.Add(time.Duration(i) * time.Minute)
		end := begin.Add(time.Minute)
		if begin.Before(from) {
			begin = from
		}
		if !open {
			continue
		}
		if d <= end.Sub(begin) {
			return begin.Add(d), true
		}
		d -= end.Sub(begin)
	}
	return time.Time{}, false
}

var zones = []string{
	"UTC", "America/Sao_Paulo", "America/New_York", "America/St_Johns", "America/Santiago", "America/Havana", "Europe/London",
	"Europe/Dublin", "Atlantic/Azores", "Africa/Casablanca", "Asia/Beirut", "Asia/Tehran", "Asia/Gaza", "Asia/Kathmandu",
	"Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll",
}

// pivots returns the hours around which a zone is worth asking about: those after which its offset
// changes, and the ends of leap years.
func pivots(loc *time.Location) []time.Time {
	list := []time.Time{time.Date(2024, 12, 31, 12, 0, 0, 0, time.UTC), time.Date(2040, 12, 31, 12, 0, 0, 0, time.UTC)}
	t := time.Date(2009, 1, 1, 0, 0, 0, 0, loc)
	_, offset := t.Zone()
	for ; t.Year() < 2042; t = t.Add(time.Hour) {
		if _, next := t.Zone(); next != offset {
			list = append(list, t)
			offset = next
		}
	}
	return list
}

func randomConfig(r *rand.Rand, loc *time.Location, around time.Time) Config {
	cfg := Config{Location: loc, Open: map[time.Weekday][]Shift{}}
	for len(cfg.Open) == 0 {
		for weekday := time.Sunday; weekday <= time.Saturday; weekday++ {
			for range r.IntN(4) {
				cfg.Open[weekday] = append(cfg.Open[weekday], randomShift(r))
			}
		}
	}
	for range r.IntN(3) {
		y, m, d := around.AddDate(0, 0, r.IntN(9)-4).Date()
		cfg.Holidays = append(cfg.Holidays, Date{y, m, d})
	}
	for range r.IntN(4) {
		y, m, d := around.AddDate(0, 0, r.IntN(9)-4).Date()
		cfg.Closed = append(cfg.Closed, ClosedHours{Date{y, m, d}, randomShift(r)})
	}
	for range r.IntN(4) {
		y, m, d := around.AddDate(0, 0, r.IntN(9)-4).Date()
		special := SpecialDay{Date: Date{y, m, d}}
		if r.IntN(2) == 0 {
			special.Date.Year = 0
		}
		for range r.IntN(3) {
			special.Shifts = append(special.Shifts, randomShift(r))
		}
		if !slices.ContainsFunc(cfg.Special, func(s SpecialDay) bool { return s.Date == special.Date }) {
			cfg.Special = append(cfg.Special, special)
		}
	}
	return cfg
}

func randomShift(r *rand.Rand) Shift {
	minutes := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Minute }
	switch r.IntN(8) {
	case 0:
		return Shift{0, 24 * time.Hour}
	case 1: // short ones at the hours where clocks are changed
		start := minutes(4 * 60)
		return Shift{start, start + time.Minute + minutes(60)}
	case 2:
		start := 20*time.Hour + minutes(4*60)
		return Shift{start, start + time.Minute + minutes(10*60)}
	default:
		start := minutes(24 * 60)
		return Shift{start, min(start+time.Minute+minutes(12*60), 48*time.Hour)}
	}
}

func TestCalendarAgreesWithReference(t *testing.T) {
	count := *cases
	if testing.Short() {
		count /= 50
	}
	t.Logf("%d cases, -seed=%d", count, *seed)
	r := rand.New(rand.NewPCG(*seed, 0))
	around := map[*time.Location][]time.Time{}
	locations := make([]*time.Location, len(zones))
	for i, name := range zones {
		locations[i] = mustZone(t, name)
		around[locations[i]] = pivots(locations[i])
	}
	for done := 0; done < count; {
		loc := locations[r.IntN(len(locations))]
		pivot := around[loc][r.IntN(len(around[loc]))]
		cfg := randomConfig(r, loc, pivot.In(loc))
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 25 {
			start := pivot.Add(time.Duration(r.Int64N(int64(4*day))) - 2*day)
			switch r.IntN(3) {
			case 0:
				start = start.Truncate(time.Minute)
			case 1:
				start = start.Truncate(time.Second)
			}
			window := 30 + r.IntN(240)
			if r.IntN(50) == 0 {
				window = 4000
			}
			compare(t, r, c, newReference(cfg, start, window), start)
			if t.Failed() {
				t.Fatalf("zone %s, start %s\nopen %v\nholidays %v\nspecial %v\nclosed %v", loc, start.In(loc), cfg.Open, cfg.Holidays, cfg.Special, cfg.Closed)
			}
			done++
		}
	}
}

// compare holds the calendar's answers about start to the reference's. What the reference does not
// see within its window, the calendar must not see there either.
func compare(t *testing.T, r *rand.Rand, c *Calendar, want *reference, start time.Time) {
	t.Helper()
	seen := want.base.Add(time.Duration(len(want.open)) * time.Minute)
	agree := func(what string, got time.Time, ok bool, want time.Time, wantOK bool) {
		t.Helper()
		switch {
		case wantOK && !ok:
			t.Errorf("%s finds nothing, want %s", what, want)
		case wantOK && !got.Equal(want):
			t.Errorf("%s = %s, want %s", what, got, want.In(got.Location()))
		case !wantOK && ok && got.Before(seen):
			t.Errorf("%s = %s, want nothing before %s", what, got, seen)
		}
	}

	if got := c.Open(start); got != want.open[0] {
		t.Errorf("Open = %v, want %v", got, want.open[0])
	}
	got, ok := c.NextOpen(start)
	wantTime, wantOK := want.turn(true)
	agree("NextOpen", got, ok, wantTime, wantOK)

	got, ok = c.NextClose(start)
	wantTime, wantOK = want.turn(false)
	agree("NextClose", got, ok, wantTime, wantOK)

	to := start.Add(time.Duration(r.Int64N(int64(seen.Sub(start)))))
	elapsed := want.between(start, to)
	if got := c.Between(start, to); got != elapsed {
		t.Errorf("Between(start, %s) = %s, want %s", to, got, elapsed)
	}
	if got := c.Between(to, start); got != -elapsed {
		t.Errorf("Between(%s, start) = %s, want %s", to, got, -elapsed)
	}

	// Half of the durations are whole minutes, so that the end of a shift is hit exactly.
	d := time.Duration(r.Int64N(int64(len(want.open)))) * time.Minute / 2
	if r.IntN(2) == 0 {
		d = elapsed
	}
	got, err := c.Add(start, d)
	wantTime, wantOK = want.add(start, d)
	agree("Add "+d.String(), got, err == nil, wantTime, wantOK)
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
