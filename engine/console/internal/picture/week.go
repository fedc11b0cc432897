package picture

import (
	"fmt"
	"html/template"
	"time"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/calendar"
)

// Week draws a calendar's week: when it is open, what is a holiday, and what time it is.
func Week(w words.Language, c *calendar.Calendar, now time.Time) template.HTML {
	const width, height, left, top = 760.0, 300.0, 44.0, 30.0
	now = now.In(c.Location())
	today := (int(now.Weekday()) + 6) % 7 // days after Monday
	monday := time.Date(now.Year(), now.Month(), now.Day()-today, 0, 0, 0, 0, c.Location())
	column := (width - left) / 7
	room := height - top - 4
	place := func(t, day time.Time) float64 {
		next := day.AddDate(0, 0, 1)
		return top + room*min(max(float64(t.Sub(day))/float64(next.Sub(day)), 0), 1)
	}
	var s svg
	for hour := 0; hour <= 24; hour += 6 {
		y := top + room*float64(hour)/24
		s.line(left, y, width, y, "grid")
		s.text(left-6, y+4, "end", "axis", fmt.Sprintf("%02d:00", hour), 5)
	}
	for i := range 7 {
		day := monday.AddDate(0, 0, i)
		x := left + float64(i)*column
		class := "axis"
		if i == today {
			class = "axis strong"
		}
		s.text(x+column/2, 18, "middle", class, w.T("day."+day.Weekday().String())+day.Format(" 02/01"), 12)
		if name, ok := c.Holiday(day.Add(12 * time.Hour)); ok {
			s.rect(x+2, top, column-4, room, "holiday", name)
			s.text(x+column/2, top+room/2, "middle", "detail", name, 15)
		}
		for _, open := range c.Openings(day, day.AddDate(0, 0, 1)) {
			y := place(open.From, day)
			s.rect(x+4, y, column-8, place(open.To, day)-y, "open", open.From.Format("15:04")+"–"+open.To.Format("15:04"))
		}
		if i == today {
			s.line(x, place(now, day), x+column, place(now, day), "now")
		}
	}
	return s.picture(width, height, "week", w.T("calendars.week"), false)
}
