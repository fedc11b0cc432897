package hours

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/source"
)

// NameOf makes the name of a calendar of what a person calls it: "São Paulo" is sao-paulo. It is
// empty where nothing is left.
func NameOf(called string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r): // an accent
			return -1
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFD.String(called))
	name := strings.Join(strings.Fields(plain), "-")
	return strings.Trim(name[:min(len(name), 60)], "-_")
}

// New is the text of a file with a calendar that is open on workdays.
func New(name, zone string) string {
	return fmt.Sprintf("calendars:\n  %s:\n    timezone: %s\n    open:\n      mon-fri: [09:00-18:00]\n", name, zone)
}

// Write returns the text of a file with a calendar changed. Everything else keeps its text and
// comments, and so do parts of the calendar that stay the same.
func Write(text, name string, want *Sheet) (string, error) {
	file, node, err := find(text, name)
	if err != nil {
		return "", err
	}
	was, err := readSheet(node)
	if err != nil {
		return "", err
	}
	changed := changePair(node, "open", wantOpen(node.Get("open"), was, want))
	changed = setPair(changed, "special", wantSpecial(node.Get("special"), was, want))
	changed = setPair(changed, "holidays", wantHolidays(node.Get("holidays"), was, want))
	all := changePair(file.Root.Get("calendars"), name, changed)
	out, err := file.Edit(changePair(file.Root, "calendars", all))
	return string(out), err
}

// changePair returns the target that changes one value of a mapping and keeps the others.
func changePair(n *source.Node, key string, value *source.Wanted) *source.Wanted {
	w := &source.Wanted{Old: n, Kind: source.Mapping}
	for _, p := range n.Pairs {
		kept := source.WantedPair{Key: p.Key.Value, Value: source.Kept(p.Value)}
		if p.Key.Value == key {
			kept.Value = value
		}
		w.Pairs = append(w.Pairs, kept)
	}
	return w
}

// setPair changes, adds or removes a pair of a mapping's target; a nil value removes it.
func setPair(w *source.Wanted, key string, value *source.Wanted) *source.Wanted {
	at := slices.IndexFunc(w.Pairs, func(p source.WantedPair) bool { return p.Key == key })
	switch {
	case value == nil && at >= 0:
		w.Pairs = slices.Delete(w.Pairs, at, at+1)
	case value != nil && at >= 0:
		w.Pairs[at].Value = value
	case value != nil:
		w.Pairs = append(w.Pairs, source.WantedPair{Key: key, Value: value})
	}
	return w
}

// wantOpen is the target for the week. A key of several days whose hours differ now is split: the
// most of its days keep it.
func wantOpen(open *source.Node, was, want *Sheet) *source.Wanted {
	w := &source.Wanted{Old: open, Kind: source.Mapping}
	var rest []int // days that stand nowhere yet
	for i := range want.Week {
		rest = append(rest, i)
	}
	for _, p := range open.Pairs {
		list, _ := calendar.ParseDays(p.Key.Value) // it was read before
		var days []int
		for _, d := range list {
			days = append(days, place(d))
		}
		rest = slices.DeleteFunc(rest, func(i int) bool { return slices.Contains(days, i) })
		if !slices.ContainsFunc(days, func(i int) bool { return !sameSpans(was.Week[i], want.Week[i]) }) {
			w.Pairs = append(w.Pairs, source.WantedPair{Key: p.Key.Value, Value: source.Kept(p.Value)})
			continue
		}
		groups := byHours(days, want)
		largest := 0
		for i, g := range groups {
			if len(g) > len(groups[largest]) {
				largest = i
			}
		}
		for i, g := range groups {
			pair := source.WantedPair{Key: keyOf(g), Value: wantSpans(nil, want.Week[g[0]])}
			if i == largest {
				pair.Old, pair.Value = p.Key.Value, wantSpans(p.Value, want.Week[g[0]])
				if len(g) == len(days) {
					pair.Key = p.Key.Value
				}
			}
			w.Pairs = append(w.Pairs, pair)
		}
	}
	for _, g := range byHours(rest, want) {
		w.Pairs = append(w.Pairs, source.WantedPair{Key: keyOf(g), Value: wantSpans(nil, want.Week[g[0]])})
	}
	return w
}

// byHours returns days in groups of the same hours, without those that are closed.
func byHours(days []int, s *Sheet) (groups [][]int) {
	for _, i := range days {
		if len(s.Week[i]) == 0 {
			continue
		}
		at := slices.IndexFunc(groups, func(g []int) bool { return sameSpans(s.Week[g[0]], s.Week[i]) })
		if at < 0 {
			groups = append(groups, []int{i})
		} else {
			groups[at] = append(groups[at], i)
		}
	}
	return groups
}

// keyOf writes days as a key: "mon-fri", "sat,sun".
func keyOf(days []int) string {
	if len(days) == len(Weekdays) {
		return "daily"
	}
	days = slices.Sorted(slices.Values(days))
	var parts []string
	for i := 0; i < len(days); i++ {
		first := i
		for i+1 < len(days) && days[i+1] == days[i]+1 {
			i++
		}
		switch {
		case i-first >= 2:
			parts = append(parts, dayKey(days[first])+"-"+dayKey(days[i]))
		default:
			for _, d := range days[first : i+1] {
				parts = append(parts, dayKey(d))
			}
		}
	}
	return strings.Join(parts, ",")
}

func dayKey(i int) string { return strings.ToLower(Weekdays[i].String()[:3]) }

// wantSpans is the target for the hours of a day. Those that are there already keep their text.
func wantSpans(old *source.Node, spans []Span) *source.Wanted {
	text := func(s Span, old *source.Node) *source.Wanted {
		return &source.Wanted{Old: old, Kind: source.Scalar, Value: s.String(), Loose: true}
	}
	if old != nil && old.Kind == source.Scalar && len(spans) == 1 {
		return text(spans[0], old)
	}
	w := &source.Wanted{Old: old, Kind: source.List, Short: true}
	var there []*source.Node
	if old != nil && old.Kind == source.List {
		there = old.Items
	}
	next := 0 // of those that are there, the first that may stay
	for i, s := range spans {
		at := slices.IndexFunc(there[next:], func(n *source.Node) bool { have, err := readSpan(n.Value); return err == nil && have == s })
		switch {
		case at >= 0:
			w.Items = append(w.Items, source.Kept(there[next+at]))
			next += at + 1
		case len(there) == len(spans) && next <= i:
			w.Items = append(w.Items, text(s, there[i]))
			next = i + 1
		default:
			w.Items = append(w.Items, text(s, nil))
		}
	}
	return w
}

// wantSpecial is the target for the special days; nil is none. New ones come last, by their dates.
func wantSpecial(old *source.Node, was, want *Sheet) *source.Wanted {
	if len(want.Special) == 0 {
		return nil
	}
	if old != nil && slices.EqualFunc(was.Special, want.Special, Day.same) {
		return source.Kept(old)
	}
	left := slices.Clone(want.Special)
	w := &source.Wanted{Old: old, Kind: source.Mapping}
	if old != nil {
		for i, p := range old.Pairs {
			at := slices.IndexFunc(left, func(d Day) bool { return d.Date == p.Key.Value })
			if at < 0 {
				continue
			}
			value := source.Kept(p.Value)
			if !left[at].same(was.Special[i]) {
				value = wantDay(p.Value, left[at])
			}
			w.Pairs = append(w.Pairs, source.WantedPair{Key: p.Key.Value, Value: value})
			left = slices.Delete(left, at, at+1)
		}
	}
	slices.SortStableFunc(left, func(a, b Day) int { return cmp.Compare(a.Date, b.Date) })
	for _, d := range left {
		w.Pairs = append(w.Pairs, source.WantedPair{Key: d.Date, Value: wantDay(nil, d)})
	}
	return w
}

// wantDay is the target for one special day.
func wantDay(old *source.Node, d Day) *source.Wanted {
	if old != nil && old.Kind == source.Mapping {
		w := changePair(old, "open", wantSpans(old.Get("open"), d.Spans))
		if d.Name == "" {
			return setPair(w, "name", nil)
		}
		return setPair(w, "name", &source.Wanted{Old: old.Get("name"), Kind: source.Scalar, Value: d.Name})
	}
	if d.Name == "" {
		return wantSpans(old, d.Spans)
	}
	return &source.Wanted{Old: old, Kind: source.Mapping, Short: true, Pairs: []source.WantedPair{
		{Key: "open", Value: wantSpans(nil, d.Spans)}, {Key: "name", Value: &source.Wanted{Kind: source.Scalar, Value: d.Name}},
	}}
}

// wantHolidays is the target for the holidays; nil is none.
func wantHolidays(old *source.Node, was, want *Sheet) *source.Wanted {
	if len(want.Holidays) == 0 {
		return nil
	}
	if old != nil && slices.Equal(was.Holidays, want.Holidays) {
		return source.Kept(old)
	}
	w := &source.Wanted{Old: old, Kind: source.List, Short: true}
	for _, h := range want.Holidays {
		item := &source.Wanted{Kind: source.Scalar, Value: h, Loose: true}
		if old != nil && old.Kind == source.List {
			if at := slices.Index(was.Holidays, h); at >= 0 {
				item = source.Kept(old.Items[at])
			}
		}
		w.Items = append(w.Items, item)
	}
	return w
}
