package studio

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cronFields are the fields of a cron, in its order.
var cronFields = []string{"minute", "hour", "day", "month", "weekday"}

// cron shows a timetable: the times of day where it has a few, else its minutes and hours; and the
// days and months that it is bound to.
func (w *writer) cron(path, text string) []Piece {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return []Piece{{Chip: &Chip{Path: path, Picker: "text", Label: w.T("field.cron"), Words: text, Value: text, Hand: true}}}
	}
	chip := func(name, picker string) *Chip {
		value := fields[slices.Index(cronFields, name)]
		return &Chip{Path: path + "/~cron/" + name, Picker: picker, Label: w.T("cron.field." + name), Words: w.cronWords(name, value), Value: value, Clear: value != "*"}
	}
	chips := map[string]*Chip{}
	pattern := "cron.parts"
	if times, ok := cronTimes(fields[0], fields[1]); ok {
		pattern = "cron.times"
		chips["clock"] = &Chip{Path: path + "/~cron/clock", Picker: "times", Label: w.T("field.at"), Words: strings.Join(times, ", "), Value: times}
	} else {
		chips["minute"], chips["hour"] = chip("minute", "text"), chip("hour", "text")
		if fields[1] == "*" {
			chips["hour"] = nil
		}
	}
	if fields[2] != "*" && fields[2] != "?" {
		chips["day"] = chip("day", "text")
	}
	if fields[3] != "*" {
		c := chip("month", "choices")
		for m := time.January; m <= time.December; m++ {
			c.Values = append(c.Values, Option{Value: strings.ToLower(m.String()[:3]), Label: w.T("fixed.month." + m.String())})
		}
		c.Value = cronList("month", fields[3])
		chips["month"] = c
	}
	if fields[4] != "*" && fields[4] != "?" {
		c := chip("weekday", "days")
		c.Value = cronList("weekday", fields[4])
		chips["weekday"] = c
	}
	if chips["day"] != nil && chips["weekday"] != nil {
		pattern = map[string]string{"cron.times": "cron.times.either", "cron.parts": "cron.parts.either"}[pattern]
	}
	return fill(w.T(pattern), func(name string) []Piece {
		if chips[name] == nil {
			return nil
		}
		return []Piece{{Chip: chips[name]}}
	})
}

// cronTimes returns the times of day of one minute in a few hours.
func cronTimes(minute, hours string) (times []string, ok bool) {
	m, err := strconv.Atoi(minute)
	if err != nil {
		return nil, false
	}
	for h := range strings.SplitSeq(hours, ",") {
		hour, err := strconv.Atoi(h)
		if err != nil {
			return nil, false
		}
		times = append(times, fmt.Sprintf("%02d:%02d", hour, m))
	}
	return times, true
}

// cronWords puts a field of a cron into words.
func (w *writer) cronWords(name, field string) string {
	var parts []string
	for item := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(item, "/")
		from, to, isRange := strings.Cut(span, "-")
		text := w.cronName(name, from)
		if isRange {
			text += "–" + w.cronName(name, to)
		}
		switch {
		case stepped && (from == "*" || from == "?"):
			text = w.T("cron.each."+name, step)
		case stepped:
			text = w.T("cron.step", w.T("cron.each."+name, step), text)
		case from == "*" || from == "?":
			text = w.T("cron.any." + name)
		case name == "minute" || name == "hour":
			text = w.T("cron.one."+name, text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// cronName returns a month or a weekday by its number or its short name, and a number as it is.
func (w *writer) cronName(field, name string) string {
	n, err := strconv.Atoi(name)
	switch {
	case field == "weekday" && err == nil && n >= 0 && n <= 7:
		return w.dayName(dayNames[(n+6)%7])
	case field == "weekday":
		return w.dayName(strings.ToLower(name))
	case field == "month" && err != nil:
		for m := time.January; m <= time.December; m++ {
			if strings.EqualFold(m.String()[:3], name) {
				n = int(m)
			}
		}
	}
	if field == "month" && n >= 1 && n <= 12 {
		return w.T("fixed.month." + time.Month(n).String())
	}
	return name
}

// cronList returns the short names of the months or weekdays of a field.
func cronList(of, field string) []string {
	lowest, highest, name := 0, 6, func(n int) string { return dayNames[(n+6)%7] }
	if of == "month" {
		lowest, highest, name = 1, 12, func(n int) string { return strings.ToLower(time.Month(n).String()[:3]) }
	}
	position := func(text string) int {
		for n := lowest; n <= highest; n++ {
			if strings.EqualFold(text, name(n)) || text == strconv.Itoa(n) {
				return n
			}
		}
		return -1
	}
	var out []string
	for item := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(item, "/")
		from, to, isRange := strings.Cut(span, "-")
		first, last, by := position(from), position(from), 1
		if isRange {
			last = position(to)
		}
		if from == "*" {
			first, last = lowest, highest
		}
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		for n := first; n >= 0 && n <= last && by > 0; n += by {
			out = append(out, name(n))
		}
	}
	return out
}

// changeCron changes a field of a cron, or its times of day. Nothing is any; several are a list.
func changeCron(at any, path []string, fn func(any) (any, error)) (any, error) {
	text, _ := at.(string)
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) || len(path) != 1 {
		return nil, ErrEdit
	}
	if path[0] == "clock" {
		times, _ := cronTimes(fields[0], fields[1])
		value, err := fn(times)
		if err != nil {
			return nil, err
		}
		if fields[0], fields[1], err = clockFields(value); err != nil {
			return nil, err
		}
		return strings.Join(fields, " "), nil
	}
	i := slices.Index(cronFields, path[0])
	if i < 0 {
		return nil, ErrEdit
	}
	value, err := fn(fields[i])
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		fields[i] = "*"
	case string:
		fields[i] = strings.ReplaceAll(v, " ", "")
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, fmt.Sprint(item))
		}
		if !slices.Equal(list, cronList(path[0], fields[i])) { // else it keeps its ranges
			fields[i] = strings.Join(list, ",")
		}
	default:
		return nil, ErrEdit
	}
	if fields[i] == "" {
		return nil, ErrEdit
	}
	return strings.Join(fields, " "), nil
}

// clockFields returns the minute and the hours of times of day, which must have one minute.
func clockFields(value any) (minute, hours string, err error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return "", "", ErrEdit
	}
	var all []string
	for i, item := range list {
		text, _ := item.(string)
		t, err := time.Parse("15:04", text)
		if err != nil || i > 0 && strconv.Itoa(t.Minute()) != minute {
			return "", "", ErrEdit
		}
		minute = strconv.Itoa(t.Minute())
		all = append(all, strconv.Itoa(t.Hour()))
	}
	return minute, strings.Join(all, ","), nil
}
