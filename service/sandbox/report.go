package sandbox

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func reportOperations() []*operation {
	return []*operation{
		read("GET /reports/attendance", "reports:read", (*Sandbox).report),
	}
}

// totals are the numbers of a period, or of a part of it.
type totals struct {
	Opened               int      `json:"opened"`
	Closed               int      `json:"closed"`
	FirstResponseSeconds *float64 `json:"first_response_seconds"`
	ResolutionSeconds    *float64 `json:"resolution_seconds"`

	responses, resolutions         time.Duration
	responsesCount, resolutionsCnt int
}

type namedTotals struct {
	ID   ID       `json:"id"`
	Name Optional `json:"name"`
	*totals
}

type dayTotals struct {
	Day string `json:"day"`
	*totals
}

type reportView struct {
	From string `json:"from"`
	To   string `json:"to"`
	*totals
	ByPerson []namedTotals `json:"by_person"`
	BySector []namedTotals `json:"by_sector"`
	ByDay    []dayTotals   `json:"by_day"`
}

// report counts an attendance as opened, with its first response, on the day
// it was opened, and as closed, with its resolution, on the day it was closed.
// Days are those of the company's zone, the first and the last included.
func (s *Sandbox) report(c *call) (any, error) {
	q := c.query()
	st := s.store
	zone := st.Zone()
	today := s.now().Time().In(zone)
	to := q.day("to", today, zone)
	from := q.day("from", to.AddDate(0, 0, -29), zone)
	sector, bySector := q.id("sector")
	user, byUser := q.id("user")
	if q.err == nil && to.Before(from) {
		q.fail("from must not be later than to")
	}
	if q.err != nil {
		return nil, q.err
	}
	sum := summary{all: &totals{}, person: map[ID]*totals{}, sector: map[ID]*totals{}, day: map[string]*totals{}}
	for d := from; !d.After(to); d = d.AddDate(0, 0, 1) {
		sum.day[d.Format(time.DateOnly)] = &totals{}
	}
	start, end := store.InstantOf(from), store.InstantOf(to.AddDate(0, 0, 1))
	for a := range st.AttendanceOrder.Oldest() {
		if bySector && a.SectorID != sector || byUser && a.AssigneeID != user {
			continue
		}
		if a.OpenedAt >= start && a.OpenedAt < end {
			sum.opened(a, a.OpenedAt.Time().In(zone).Format(time.DateOnly))
		}
		if a.ClosedAt != 0 && a.ClosedAt >= start && a.ClosedAt < end {
			sum.closed(a, a.ClosedAt.Time().In(zone).Format(time.DateOnly))
		}
	}
	return sum.view(st, from, to), nil
}

// day reads a date (YYYY-MM-DD).
func (q *query) day(name string, otherwise time.Time, zone *time.Location) time.Time {
	y, m, d := otherwise.Date()
	text := q.text(name)
	if text == "" {
		return time.Date(y, m, d, 0, 0, 0, 0, zone)
	}
	t, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		q.fail("%s is a date (YYYY-MM-DD), not %q", name, text)
	}
	return t
}

// summary adds attendances up, once for each total they belong to.
type summary struct {
	all    *totals
	person map[ID]*totals
	sector map[ID]*totals
	day    map[string]*totals
}

func (s *summary) parts(a *Attendance, day string) []*totals {
	return []*totals{s.all, part(s.person, a.AssigneeID), part(s.sector, a.SectorID), part(s.day, day)}
}

func part[K comparable](of map[K]*totals, key K) *totals {
	if of[key] == nil {
		of[key] = &totals{}
	}
	return of[key]
}

func (s *summary) opened(a *Attendance, day string) {
	for _, t := range s.parts(a, day) {
		t.Opened++
		if a.FirstResponseAt != 0 {
			t.responses += a.FirstResponseAt.Sub(a.OpenedAt)
			t.responsesCount++
		}
	}
}

func (s *summary) closed(a *Attendance, day string) {
	for _, t := range s.parts(a, day) {
		t.Closed++
		t.resolutions += a.ClosedAt.Sub(a.OpenedAt)
		t.resolutionsCnt++
	}
}

func (t *totals) average() *totals {
	mean := func(sum time.Duration, n int) *float64 {
		if n == 0 {
			return nil
		}
		seconds := (sum / time.Duration(n)).Seconds()
		return &seconds
	}
	t.FirstResponseSeconds = mean(t.responses, t.responsesCount)
	t.ResolutionSeconds = mean(t.resolutions, t.resolutionsCnt)
	return t
}

func (s *summary) view(st *store.Store, from, to time.Time) reportView {
	view := reportView{
		From: from.Format(time.DateOnly), To: to.Format(time.DateOnly), totals: s.all.average(),
		ByPerson: []namedTotals{}, BySector: []namedTotals{}, ByDay: []dayTotals{},
	}
	for id, t := range s.person {
		name := ""
		if p := st.Person(id); p != nil {
			name = p.Name
		}
		view.ByPerson = append(view.ByPerson, namedTotals{id, Optional(name), t.average()})
	}
	for id, t := range s.sector {
		name := ""
		if sec := st.Sector(id); sec != nil {
			name = sec.Name
		}
		view.BySector = append(view.BySector, namedTotals{id, Optional(name), t.average()})
	}
	byName := func(a, b namedTotals) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(view.ByPerson, byName)
	slices.SortFunc(view.BySector, byName)
	for _, day := range slices.Sorted(maps.Keys(s.day)) {
		view.ByDay = append(view.ByDay, dayTotals{day, s.day[day].average()})
	}
	return view
}
