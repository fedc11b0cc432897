package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

// journal keeps events by their ids and cursors by their names, as the real one does.
type journal struct {
	mu      sync.Mutex
	ids     []string // in the order of recording
	events  map[string]rules.Event
	given   int
	cursors map[string]string
	fail    error
}

func newJournal() *journal {
	return &journal{events: make(map[string]rules.Event), cursors: make(map[string]string)}
}

func (j *journal) accept(_ context.Context, events ...rules.Event) ([]bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return nil, j.fail
	}
	fresh := make([]bool, len(events))
	for i, e := range events {
		j.given++
		if _, known := j.events[e.ID]; !known {
			fresh[i], j.events[e.ID], j.ids = true, e, append(j.ids, e.ID)
		}
	}
	return fresh, nil
}

func (j *journal) Cursor(_ context.Context, name string) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cursors[name], j.fail
}

func (j *journal) SetCursor(_ context.Context, name, value string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail == nil {
		j.cursors[name] = value
	}
	return j.fail
}

// take returns what was recorded since it was last called.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	ids := j.ids
	j.ids = nil
	return ids
}

// ruleSet compiles rules, each written as its id and the rest of it.
func ruleSet(t testing.TB, list ...string) *rules.Set {
	t.Helper()
	text := "rules:\n"
	for _, r := range list {
		id, rest, _ := strings.Cut(r, " ")
		text += fmt.Sprintf("  - { id: %s, %s, do: [{ log: x }] }\n", id, rest)
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("r.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// source is a source under test, with a clock that is moved by hand.
type source struct {
	*Source
	t       testing.TB
	journal *journal
	log     bytes.Buffer
}

// start returns a source as a process that starts with what the journal holds.
func start(t testing.TB, j *journal, list ...string) *source {
	t.Helper()
	s := &source{t: t, journal: j}
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	if s.Source, err = New(Options{Workspace: "default", Location: zone, Cursors: j, Logger: slog.New(slog.NewTextHandler(&s.log, nil))}); err != nil {
		t.Fatal(err)
	}
	s.SetRules(ruleSet(t, list...))
	return s
}

// at ticks at a time and returns what was recorded.
func (s *source) at(text string) []string {
	s.t.Helper()
	if _, err := s.Tick(s.t.Context(), instant(s.t, text), s.journal.accept); err != nil {
		s.t.Fatal(err)
	}
	return s.journal.take()
}

func (s *source) want(at string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.at(at)); diff != "" {
		s.t.Errorf("at %s (-want +got)\n%s", at, diff)
	}
}

func TestTickIsAnEvent(t *testing.T) {
	j := newJournal()
	s := start(t, j, "sweep when: { every: 5m }")
	next, err := s.Tick(t.Context(), instant(t, "2026-11-13T12:03:00Z"), j.accept)
	if err != nil || !next.Equal(instant(t, "2026-11-13T12:05:00Z")) {
		t.Fatalf("%v %v", next, err)
	}
	now := instant(t, "2026-11-13T12:05:00.004Z")
	next, err = s.Tick(t.Context(), now, j.accept)
	if err != nil || !next.Equal(instant(t, "2026-11-13T12:10:00Z")) {
		t.Fatalf("%v %v", next, err)
	}
	want := rules.Event{
		Workspace: "default", ID: "sweep/2026-11-13T12:05:00Z", Type: "schedule", Rule: "sweep", Lane: "schedule:sweep",
		CreatedAt: instant(t, "2026-11-13T12:05:00Z"), ReceivedAt: now, Data: map[string]any{},
	}
	if diff := cmp.Diff(map[string]rules.Event{want.ID: want}, j.events); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNothingScheduled(t *testing.T) {
	s := start(t, newJournal(), "a when: message.received", "b when: { every: 1m }, stage: draft")
	next, err := s.Tick(t.Context(), instant(t, "2026-11-13T12:03:00Z"), s.journal.accept)
	if err != nil || !next.IsZero() {
		t.Errorf("%v %v", next, err)
	}
	s.want("2026-11-13T12:30:00Z")
}

// TestMissed shows what happens to ticks that came while the process was stopped or suspended.
func TestMissed(t *testing.T) {
	tests := []struct {
		name, rule string
		want       []string
	}{
		{"the last, by default", "r when: { every: 1h }", []string{"r/2026-11-13T15:00:00Z"}},
		{"last", "r when: { every: 1h }, late: { run: last }", []string{"r/2026-11-13T15:00:00Z"}},
		{"all", "r when: { every: 1h }, late: { run: all }", []string{"r/2026-11-13T13:00:00Z", "r/2026-11-13T14:00:00Z", "r/2026-11-13T15:00:00Z"}},
		{"none", "r when: { every: 1h }, late: { run: none }", nil},
		{"by local time", `r when: { at: ["10:30", "11:30", "12:30"] }, late: { run: all }`, []string{"r/2026-11-13T13:30:00Z", "r/2026-11-13T14:30:00Z"}},
		{"nothing was missed", `r when: { at: "18:00" }, late: { run: all }`, nil},
	}
	const stopped, started = "2026-11-13T12:30:00Z", "2026-11-13T15:10:00Z"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := newJournal()
			start(t, j, tt.rule).want(stopped)
			start(t, j, tt.rule).want(started, tt.want...)

			asleep := start(t, newJournal(), tt.rule)
			asleep.want(stopped)
			asleep.want(started, tt.want...)
		})
	}
}

// TestOnTime shows that what comes due while the source is running is never missed, whatever late
// says.
func TestOnTime(t *testing.T) {
	for _, late := range []string{"last", "all", "none"} {
		s := start(t, newJournal(), "r when: { every: 10s }, late: { run: "+late+" }")
		s.want("2026-11-13T12:00:01Z")
		s.want("2026-11-13T12:00:10Z", "r/2026-11-13T12:00:10Z")
		s.want("2026-11-13T12:00:12Z")
		s.want("2026-11-13T12:00:31Z", "r/2026-11-13T12:00:20Z", "r/2026-11-13T12:00:30Z")
		s.want("2026-11-13T12:00:31Z")
	}
}

// TestHardlyOver shows that a restart within a minute neither misses the tick nor repeats it.
func TestHardlyOver(t *testing.T) {
	const rule = "r when: { every: 1h }, late: { run: none }"
	j := newJournal()
	start(t, j, rule).want("2026-11-13T12:30:00Z")
	start(t, j, rule).want("2026-11-13T13:00:59Z", "r/2026-11-13T13:00:00Z")
	start(t, j, rule).want("2026-11-13T13:00:59Z")
	start(t, j, rule).want("2026-11-13T14:01:01Z")
}

// TestMissedForYears shows that a schedule that was down for years catches up within bounds, and
// logs that.
func TestMissedForYears(t *testing.T) {
	j := newJournal()
	list := []string{"all when: { every: 1s }, late: { run: all }", "last when: { every: 1s }", `yearly when: { cron: "0 0 29 2 *", timezone: UTC }, late: { run: all }`}
	start(t, j, list...).want("2011-01-01T00:00:00Z")
	s := start(t, j, list...)
	got := s.at("2026-11-13T12:00:00Z")
	if len(got) != maxMissed+1+4 {
		t.Fatalf("%d ticks", len(got))
	}
	if got[0] != "yearly/2012-02-29T00:00:00Z" || got[3] != "yearly/2024-02-29T00:00:00Z" || got[4] != "all/2026-11-13T11:43:21Z" ||
		got[len(got)-2] != "all/2026-11-13T12:00:00Z" || got[len(got)-1] != "last/2026-11-13T12:00:00Z" {
		t.Errorf("%v … %v", got[:5], got[len(got)-2:])
	}
	if log := s.log.String(); strings.Count(log, "more ticks were missed") != 1 || !strings.Contains(log, "rule=all made_up=1000 since=2011-01-01") {
		t.Error(log)
	}
}

// TestSummerTime goes through changes of the clocks second by second of the schedule's own
// choosing: every day has its tick, once.
func TestSummerTime(t *testing.T) {
	tests := []struct {
		name, when, from string
		want             []string
	}{
		{"São Paulo skips midnight", `{ at: "00:00", timezone: America/Sao_Paulo }`, "2018-11-03T00:00:00Z",
			[]string{"2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}},
		{"São Paulo repeats 23:30", `{ at: "23:30", timezone: America/Sao_Paulo }`, "2018-02-17T00:00:00Z",
			[]string{"2018-02-17T01:30:00Z", "2018-02-18T01:30:00Z", "2018-02-19T02:30:00Z"}},
		{"Berlin skips 02:30", `{ at: "02:30", timezone: Europe/Berlin }`, "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"Berlin repeats 02:30", `{ cron: "30 2 * * *", timezone: Europe/Berlin }`, "2026-10-23T12:00:00Z",
			[]string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"New York skips 02:30", `{ cron: "30 2 * * *", timezone: America/New_York }`, "2026-03-06T12:00:00Z",
			[]string{"2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		{"New York repeats 01:30", `{ at: "01:30", timezone: America/New_York }`, "2026-10-30T12:00:00Z",
			[]string{"2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, newJournal(), "r when: "+tt.when)
			var want []string
			for _, at := range tt.want {
				want = append(want, "r/"+at)
			}
			begin := instant(t, tt.from)
			var got []string
			for now := begin; now.Before(begin.Add(72 * time.Hour)); now = now.Add(time.Minute) {
				got = append(got, s.at(now.Format(time.RFC3339))...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if s.journal.given != len(want) {
				t.Errorf("the sink was given %d", s.journal.given)
			}
		})
	}
}

// TestDiskFull shows that ticks that cannot be recorded are offered again until they are.
func TestDiskFull(t *testing.T) {
	j := newJournal()
	s := start(t, j, "r when: { every: 1m }, late: { run: none }", "q when: { every: 1h }")
	s.want("2026-11-13T12:00:30Z")
	j.fail = errors.New("disk full")
	for _, at := range []string{"2026-11-13T12:01:00Z", "2026-11-13T12:01:30Z", "2026-11-13T12:02:00Z"} {
		next, err := s.Tick(t.Context(), instant(t, at), j.accept)
		if err == nil || next.After(instant(t, at).Add(time.Second)) {
			t.Errorf("%v %v", next, err)
		}
	}
	j.fail = nil
	s.want("2026-11-13T12:02:01Z", "r/2026-11-13T12:01:00Z", "r/2026-11-13T12:02:00Z")
	s.want("2026-11-13T12:02:02Z")
}

// TestDiskFullAtStart shows that a cursor that cannot be read is no cursor that is missing.
func TestDiskFullAtStart(t *testing.T) {
	j := newJournal()
	start(t, j, "r when: { every: 1h }").want("2026-11-13T12:30:00Z")
	j.fail = errors.New("disk full")
	s := start(t, j, "r when: { every: 1h }")
	if _, err := s.Tick(t.Context(), instant(t, "2026-11-13T13:10:00Z"), j.accept); err == nil {
		t.Error("no error")
	}
	j.fail = nil
	s.want("2026-11-13T13:10:01Z", "r/2026-11-13T13:00:00Z")
}

// TestClockGoesBack shows that a clock that is set back neither repeats a tick nor stops the
// schedule.
func TestClockGoesBack(t *testing.T) {
	s := start(t, newJournal(), "r when: { every: 10m }")
	s.want("2026-11-13T12:05:00Z")
	s.want("2026-11-13T12:10:00Z", "r/2026-11-13T12:10:00Z")
	s.want("2026-11-13T12:09:59Z") // corrected by a second
	s.want("2026-11-13T12:10:01Z")
	if s.journal.given != 1 {
		t.Errorf("the sink was given %d", s.journal.given)
	}
	s.want("2026-11-13T11:55:00Z") // and by a quarter of an hour
	s.want("2026-11-13T11:55:40Z")
	s.want("2026-11-13T12:00:00Z", "r/2026-11-13T12:00:00Z")
	s.want("2026-11-13T12:10:00Z")
	s.want("2026-11-13T12:20:00Z", "r/2026-11-13T12:20:00Z")
}

// TestClockWasAhead shows that a process that starts with a cursor from the future continues.
func TestClockWasAhead(t *testing.T) {
	j := newJournal()
	start(t, j, "r when: { every: 10m }").want("2031-01-01T00:05:00Z")
	s := start(t, j, "r when: { every: 10m }")
	s.want("2026-11-13T12:05:00Z")
	s.want("2026-11-13T12:10:00Z", "r/2026-11-13T12:10:00Z")
}

// TestReload shows how schedules follow a change of the rules while they tick.
func TestReload(t *testing.T) {
	j := newJournal()
	s := start(t, j, "same when: { every: 10m }", "changed when: { every: 10m }", "removed when: { every: 10m }")
	s.want("2026-11-13T12:01:00Z")
	s.SetRules(ruleSet(t, "same when: { every: 10m }, name: Another name", "changed when: { every: 4m }", "added when: { every: 5m }"))
	s.want("2026-11-13T12:05:00Z") // 12:04 was before the change was seen
	s.want("2026-11-13T12:05:30Z")
	s.want("2026-11-13T12:08:00Z", "changed/2026-11-13T12:08:00Z")
	s.want("2026-11-13T12:10:00Z", "added/2026-11-13T12:10:00Z", "same/2026-11-13T12:10:00Z")

	// A rule that comes back begins anew: ticks of the meantime were not missed.
	s.SetRules(ruleSet(t, "removed when: { every: 10m }, late: { run: all }"))
	s.want("2026-11-13T13:05:00Z")
	s.want("2026-11-13T13:05:30Z")
	again := start(t, j, "same when: { every: 10m }, late: { run: all }")
	again.want("2026-11-13T14:05:00Z")
}

// TestChangedWhileStopped shows that a schedule whose times were changed while the process was
// stopped has missed nothing.
func TestChangedWhileStopped(t *testing.T) {
	j := newJournal()
	start(t, j, `r when: { at: "18:00" }`).want("2026-11-13T12:00:00Z")
	start(t, j, `r when: { at: "09:30" }`).want("2026-11-13T15:00:00Z")
}

// TestManySources shows that two engines that tick the same schedules record each tick once.
func TestManySources(t *testing.T) {
	j := newJournal()
	a, b := start(t, j, "r when: { every: 1m }"), start(t, j, "r when: { every: 1m }")
	a.want("2026-11-13T12:00:30Z")
	b.want("2026-11-13T12:00:31Z")
	a.want("2026-11-13T12:01:00Z", "r/2026-11-13T12:01:00Z")
	b.want("2026-11-13T12:01:01Z")
	b.want("2026-11-13T12:02:00Z", "r/2026-11-13T12:02:00Z")
}

// TestComesBackWhileRunning shows that a rule that was missing at the start, and is put back,
// follows its late setting.
func TestComesBackWhileRunning(t *testing.T) {
	j := newJournal()
	start(t, j, "r when: { every: 1h }").want("2026-11-13T12:30:00Z")
	s := start(t, j, "other when: { every: 1d }")
	s.want("2026-11-13T15:10:00Z")
	s.SetRules(ruleSet(t, "r when: { every: 1h }"))
	s.want("2026-11-13T15:10:01Z", "r/2026-11-13T15:00:00Z")
}
