package picture

import (
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/console/internal/digest"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

// Ends are the ends of runs, in stacking order.
var Ends = []string{string(journal.Done), journal.CountShadow, string(journal.Stopped), string(journal.Cancelled), string(journal.FailedRun)}

// An HourCount is what ended in one hour, by how it ended.
type HourCount struct {
	Hour time.Time
	N    map[string]int
	All  int
}

// HoursOf sorts the ends of runs by the hour.
func HoursOf(counts []journal.Count, now time.Time, hours int) []HourCount {
	first := now.UTC().Truncate(time.Hour).Add(-time.Duration(hours-1) * time.Hour)
	out := make([]HourCount, hours)
	for i := range out {
		out[i] = HourCount{Hour: first.Add(time.Duration(i) * time.Hour).In(now.Location()), N: map[string]int{}}
	}
	for _, c := range counts {
		i := int(c.From.Sub(first) / time.Hour)
		if c.What == journal.CountRuns && i >= 0 && i < hours {
			out[i].N[c.Detail] += c.N
			out[i].All += c.N
		}
	}
	return out
}

// EndsOf returns the ends that runs had in some hours, in stacking order.
func EndsOf(hours []HourCount) (ends []string) {
	for _, end := range Ends {
		if slices.ContainsFunc(hours, func(h HourCount) bool { return h.N[end] > 0 }) {
			ends = append(ends, end)
		}
	}
	return ends
}

// scale draws lines at nothing, half and all of the most, with their numbers at the left.
func (s *svg) scale(w words.Language, left, right, top, room float64, most int) {
	for i := range 3 {
		y := top + room*float64(2-i)/2
		s.line(left, y, right, y, "grid")
		s.text(left-6, y+4, "end", "axis", w.Number(most*i/2), 12)
	}
}

// Hours draws a bar for each hour.
func Hours(w words.Language, hours []HourCount) template.HTML {
	const width, height, left, bottom, top = 760.0, 200.0, 44.0, 24.0, 12.0
	most := 1
	for _, h := range hours {
		most = max(most, h.All)
	}
	most = niceMost(most)
	var s svg
	room := height - bottom - top
	s.scale(w, left, width, top, room, most)
	step := (width - left) / float64(len(hours))
	for i, h := range hours {
		x, y := left+float64(i)*step, height-bottom
		for _, end := range Ends {
			n := h.N[end]
			if n == 0 {
				continue
			}
			part := room * float64(n) / float64(most)
			y -= part
			s.rect(x+2, y, step-4, max(part, 1), "bar end-"+end, fmt.Sprintf("%s  %s: %s", h.Hour.Format("15:04"), w.T("end."+end), w.Number(n)))
		}
		if i%3 == 0 {
			s.text(x+step/2, height-6, "middle", "axis", h.Hour.Format("15:04"), 5)
		}
	}
	return s.picture(width, height, "chart", w.T("today.chart"), false)
}

// niceMost rounds a number up so that its quarters are whole, where it is large enough for that.
func niceMost(n int) int {
	step := 4
	for step*10 < n {
		step *= 10
	}
	return (n + step - 1) / step * step
}

// Sparkline draws how often something happened on each of some days.
func Sparkline(w words.Language, days []int, label string) template.HTML {
	const width, height = 84.0, 24.0
	most := 1
	for _, n := range days {
		most = max(most, n)
	}
	var s svg
	step := width / float64(len(days))
	for i, n := range days {
		part := (height - 2) * float64(n) / float64(most)
		class := "spark"
		if n == 0 {
			part, class = 1, "spark none"
		}
		s.rect(float64(i)*step+1, height-max(part, 1), step-2, max(part, 1), class, w.Number(n))
	}
	return s.picture(width, height, "sparkline", label, true)
}

// Days draws a bar for each day: what started, with what failed in it. A mark above a bar is that
// the rule was changed on that day.
func Days(w words.Language, days []digest.Day) template.HTML {
	const width, height, left, bottom, top = 560.0, 110.0, 36.0, 20.0, 14.0
	most := 4
	for _, d := range days {
		most = max(most, d.Started, d.Failed)
	}
	most = niceMost(most)
	var s svg
	room := height - bottom - top
	s.scale(w, left, width, top, room, most)
	step := (width - left) / float64(len(days))
	for i, d := range days {
		x, y := left+float64(i)*step, height-bottom
		failed := min(d.Failed, d.Started)
		for _, part := range []struct {
			n     int
			class string
			words string
		}{{d.Started - failed, "bar end-done", "weeks.started"}, {failed, "bar end-failed", "weeks.failed"}} {
			if part.n > 0 {
				tall := max(room*float64(part.n)/float64(most), 1)
				y -= tall
				s.rect(x+2, y, step-4, tall, part.class, fmt.Sprintf("%s  %s: %s", w.Day(d.Date), w.T(part.words), w.Number(part.n)))
			}
		}
		if d.Changed {
			s.rect(x+step/2-3, 2, 6, 6, "mark", w.Day(d.Date)+"  "+w.T("weeks.changed"))
		}
		if i%7 == len(days)%7 {
			s.text(x, height-4, "start", "axis", w.Day(d.Date), 12)
		}
	}
	return s.picture(width, height, "chart", w.T("weeks.chart"), false)
}
