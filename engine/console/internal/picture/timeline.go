package picture

import (
	"html/template"
	"time"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

// A Step is a step of a run as its timeline shows it.
type Step struct {
	Path, Words      string
	State            journal.StepState
	At, Ended, Until time.Time
	Waits            bool // it waits for something
}

// Timeline draws a run's steps as bars over its time: what was done, and what was waited for.
func Timeline(w words.Language, r *journal.Run, steps []Step, now time.Time) template.HTML {
	if len(steps) == 0 {
		return ""
	}
	const width, left, row, top = 760.0, 210.0, 26.0, 28.0
	from, to := r.StartedAt, timelineEnd(r, steps, now)
	place := func(t time.Time) float64 {
		share := float64(t.Sub(from)) / float64(to.Sub(from))
		return left + (width-left-10)*min(max(share, 0), 1)
	}
	var s svg
	height := top + row*float64(len(steps)) + 8
	said := ""
	for i := range 5 {
		t := from.Add(to.Sub(from) * time.Duration(i) / 4)
		x := place(t)
		s.line(x, top-6, x, height, "grid")
		anchor := "middle"
		if i == 4 {
			anchor = "end"
		}
		if after := w.Length(t.Sub(from)); i > 0 && after != said {
			s.text(x, 14, anchor, "axis", "+"+after, 16)
			said = after
		}
	}
	s.text(left, 14, "middle", "axis", r.StartedAt.Format("15:04:05"), 8)
	for i, v := range steps {
		y := top + row*float64(i)
		s.text(0, y+17, "start", "label", v.Path+"  "+v.Words, 30)
		if v.At.IsZero() {
			continue
		}
		end := v.Ended
		if end.IsZero() {
			if end = now; v.State == journal.StepWaiting && v.Until.After(now) {
				s.rect(place(now), y+5, place(v.Until)-place(now), row-10, "bar ahead", w.T("run.until", w.Moment(v.Until)))
			}
		}
		class := "bar step-" + string(v.State)
		if v.Waits {
			class += " waited"
		}
		x := place(v.At)
		s.rect(x, y+5, max(place(end)-x, 4), row-10, class, w.Or("step.", string(v.State))+", "+w.Length(end.Sub(v.At)))
	}
	if now.Before(to) {
		s.line(place(now), top-6, place(now), height, "now")
	}
	return s.picture(width, height, "timeline", w.T("run.timeline"), false)
}

// timelineEnd returns the latest time shown: of a step, or of a wait.
func timelineEnd(r *journal.Run, steps []Step, now time.Time) time.Time {
	to := r.FinishedAt
	if to.IsZero() {
		to = now
	}
	for _, s := range steps {
		for _, t := range []time.Time{s.At, s.Ended} {
			if t.After(to) {
				to = t
			}
		}
		if !s.Until.IsZero() && s.State == journal.StepWaiting && s.Until.After(to) {
			to = s.Until
		}
	}
	if !to.After(r.StartedAt) {
		to = r.StartedAt.Add(time.Second)
	}
	return to
}
