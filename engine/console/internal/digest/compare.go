package digest

import (
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// A Figure is how often something happened today, and by the same time on days before.
type Figure struct {
	Today, Yesterday, LastWeek int
}

// Since is from when counts are needed to compare a day: the same weekday a week before.
func Since(now time.Time) time.Time { return midnight(now).AddDate(0, 0, -7) }

// Compare compares the day of a time with the day and the week before it, of the counts that are
// wanted. Counts are by the hour: of the hour of the same time, the part that had passed is
// estimated.
func Compare(counts []journal.Count, now time.Time, wanted func(journal.Count) bool) Figure {
	upTo := func(days int) int {
		from, to := midnight(now).AddDate(0, 0, -days), now.AddDate(0, 0, -days)
		sum := 0.0
		for _, one := range counts {
			if !wanted(one) || one.From.Before(from) || !one.From.Before(to) {
				continue
			}
			part := 1.0
			if rest := to.Sub(one.From); days > 0 && rest < time.Hour {
				part = rest.Hours()
			}
			sum += part * float64(one.N)
		}
		return int(sum + .5)
	}
	return Figure{upTo(0), upTo(1), upTo(7)}
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// Days is how many days back the page of a rule looks.
const Days = 28

// A Day is what a rule did on one day.
type Day struct {
	Date             time.Time // its midnight
	Started          int
	Did              int // calls that had their effect
	Failed           int // runs
	Passed, Answered int // runs, if Whole
	Changed          bool
	Today            bool
}

// DaysSince is from when counts are needed for the days of a rule.
func DaysSince(now time.Time) time.Time { return midnight(now).AddDate(0, 0, 1-Days) }

// OfDays sums up the counts of one rule by the day, the oldest first. A period of counts belongs to
// the day that has its middle.
func OfDays(counts []journal.Count, now time.Time, changed []time.Time) []Day {
	days := make([]Day, Days)
	index := map[string]*Day{}
	for i := range days {
		days[i].Date = DaysSince(now).AddDate(0, 0, i)
		days[i].Today = i == Days-1
		index[days[i].Date.Format(time.DateOnly)] = &days[i]
	}
	for _, one := range counts {
		d := index[one.From.Add(journal.RuleCounts/2).In(now.Location()).Format(time.DateOnly)]
		if d == nil && one.From.Before(now) && !one.From.Before(midnight(now)) {
			d = &days[Days-1]
		}
		switch {
		case d == nil:
		case one.What == journal.CountFired:
			d.Started += one.N
		case one.What == journal.CountEffects:
			d.Did += one.N
		case one.What == journal.CountRuns && one.Detail == string(journal.FailedRun):
			d.Failed += one.N
		}
	}
	for _, at := range changed {
		if d := index[at.In(now.Location()).Format(time.DateOnly)]; d != nil {
			d.Changed = true
		}
	}
	return days
}

// AddRuns adds how many of the runs of one rule passed a conversation on and were answered, on the
// day that each began.
func AddRuns(days []Day, runs []*journal.Run) {
	for _, r := range runs {
		for i := range days {
			next := days[i].Date.AddDate(0, 0, 1)
			if !r.StartedAt.Before(days[i].Date) && r.StartedAt.Before(next) {
				s := Sum{}
				s.add(r, time.Time{})
				days[i].Passed += s.Passed
				days[i].Answered += s.Answered
			}
		}
	}
}
