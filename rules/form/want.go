package form

import (
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// word wants a text. A loose one is read by what it says alone, so that a number needs no quotes.
func word(n *source.Node, text string, loose bool) *source.Wanted {
	if n != nil && n.Kind == source.Scalar && n.Value == text {
		if _, isText := n.Any().(string); isText || loose {
			return source.Kept(n)
		}
	}
	return &source.Wanted{Old: n, Kind: source.Scalar, Value: text, Loose: loose}
}

// words wants one or several texts, or nothing for none. With alone, one text needs no list.
func words(n *source.Node, list []string, loose, alone bool) *source.Wanted {
	isOne := n != nil && n.Kind == source.Scalar
	if len(list) == 0 {
		return nil
	}
	if len(list) == 1 && (isOne || alone && (n == nil || n.Kind != source.List)) {
		return word(n, list[0], loose)
	}
	return wordList(n, list, loose)
}

// wordList wants a list of texts. Those that are there are found again, also at another place.
func wordList(n *source.Node, list []string, loose bool) *source.Wanted {
	out := &source.Wanted{Old: n, Kind: source.List, Short: true}
	var old []*source.Node
	var was []string
	if n != nil {
		old = n.Items
		if n.Kind == source.Scalar {
			old = []*source.Node{n}
		}
	}
	for _, item := range old {
		was = append(was, item.Value)
	}
	any := func(a, b string) bool { return true }
	for i, at := range pairUp(was, list, any) {
		var item *source.Node
		if at >= 0 {
			item = old[at]
		}
		out.Items = append(out.Items, word(item, list[i], loose))
	}
	return out
}

// pairUp finds for each of some values the one that it was before, or -1: first those that are equal, in order and then elsewhere, and of the others
// those between the same neighbours, alike ones first.
func pairUp[T any](old, list []T, alike func(a, b T) bool) []int {
	at := make([]int, len(list))
	for i := range at {
		at[i] = -1
	}
	taken := make([]bool, len(old))
	take := func(i, j int) { at[i], taken[j] = j, true }
	for _, p := range common(old, list) {
		take(p[1], p[0])
	}
	for i := range list {
		for j := range old {
			if at[i] < 0 && !taken[j] && same(old[j], list[i]) {
				take(i, j)
			}
		}
	}
	for _, likeness := range []func(a, b T) bool{alike, func(a, b T) bool { return true }} {
		for i := range list {
			if at[i] >= 0 {
				continue
			}
			low, high := -1, len(old)
			for k := range i {
				low = max(low, at[k])
			}
			for k := i + 1; k < len(list); k++ {
				if at[k] > low && at[k] < high {
					high = at[k]
				}
			}
			for j := low + 1; j < high; j++ {
				if !taken[j] && likeness(old[j], list[i]) {
					take(i, j)
					break
				}
			}
		}
	}
	return at
}

// common returns the longest run of values that two lists have in the same order, as pairs of places.
func common[T any](a, b []T) [][2]int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same(a[i], b[j]) {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case same(a[i], b[j]):
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// mappingOf returns a node that is a mapping, or nil.
func mappingOf(n *source.Node) *source.Node {
	if n == nil || n.Kind != source.Mapping {
		return nil
	}
	return n
}

// recordOf wants a mapping of a few names to texts; those that are empty are left out.
func recordOf(n *source.Node, names []string, values []*string) *source.Wanted {
	want := make(map[string]*source.Wanted)
	for i, name := range names {
		if *values[i] != "" {
			want[name] = word(n.Get(name), *values[i], true)
		}
	}
	return &source.Wanted{Old: n, Kind: source.Mapping, Short: true, Pairs: merge(mappingOf(n), want, names, false)}
}

func (w writer) when(n *source.Node, old, f When) *source.Wanted {
	s := f.Schedule
	if s == nil {
		if n != nil && n.Kind == source.Mapping {
			n = nil
		}
		return words(n, f.Events, true, true)
	}
	order := []string{"every", "cron", "at", "on", "timezone", "each", "where"}
	want := make(map[string]*source.Wanted)
	for _, key := range order {
		was := n.Get(key)
		if text := s.text(key); text != nil && *text != "" {
			want[key] = word(was, *text, key != "cron")
		} else if list := s.list(key); list != nil {
			if v := words(was, *list, false, true); v != nil {
				want[key] = v
			}
		}
	}
	if len(s.Where) > 0 {
		var was []Arg
		if old.Schedule != nil && old.Schedule.Each == s.Each {
			was = old.Schedule.Where
		}
		want["where"] = w.fields(n.Get("where"), was, s.Where, filters(s.Each))
	}
	return &source.Wanted{Old: n, Kind: source.Mapping, Short: true, Pairs: merge(mappingOf(n), want, order, false)}
}

func cancelOn(n *source.Node, old, list []Match) *source.Wanted {
	if len(list) == 0 {
		return nil
	}
	var items []*source.Node
	if n != nil && n.Kind == source.List {
		items = n.Items
	} else if n != nil && n.Kind != source.Null {
		items = []*source.Node{n}
		if len(list) == 1 {
			return matchOf(n, list[0])
		}
	}
	out := &source.Wanted{Old: n, Kind: source.List, Short: true}
	for i, at := range pairUp(old, list, func(a, b Match) bool { return same(a.Events, b.Events) }) {
		switch {
		case at < 0 || at >= len(items):
			out.Items = append(out.Items, matchOf(nil, list[i]))
		case same(old[at], list[i]):
			out.Items = append(out.Items, source.Kept(items[at]))
		default:
			out.Items = append(out.Items, matchOf(items[at], list[i]))
		}
		out.Short = out.Short && list[i].If == ""
	}
	return out
}

func matchOf(n *source.Node, m Match) *source.Wanted {
	if m.If == "" && len(m.Events) == 1 && mappingOf(n) == nil {
		return word(n, m.Events[0], true)
	}
	want := make(map[string]*source.Wanted)
	if v := words(n.Get("event"), m.Events, true, true); v != nil {
		want["event"] = v
	}
	if m.If != "" {
		want["if"] = word(n.Get("if"), m.If, true)
	}
	out := &source.Wanted{Old: n, Kind: source.Mapping, Short: true, Pairs: merge(mappingOf(n), want, []string{"event", "if"}, false)}
	if n != nil && n.Kind == source.Scalar && len(m.Events) == 1 && m.Events[0] == n.Value {
		out.Pairs[0].Value = source.Kept(n)
	}
	return out
}

// isTemplate reports whether a text holds an expression.
func isTemplate(s string) bool { return strings.Contains(s, "{{") }
