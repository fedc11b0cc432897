package form

import (
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// word returns the target for a text. A loose one needs no quotes even if it looks like a number.
func word(n *source.Node, text string, loose bool) *source.Wanted {
	if n != nil && n.Kind == source.Scalar && n.Value == text {
		if _, isText := n.Any().(string); isText || loose {
			return source.Kept(n)
		}
	}
	return &source.Wanted{Old: n, Kind: source.Scalar, Value: text, Loose: loose}
}

// words returns the target for zero or more texts. With alone, one text needs no list.
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

// wordList returns the target for a list of texts. It matches existing ones, also at another
// position.
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
	for i, at := range pairUp(was, list, func(s string) string { return "" }) {
		var item *source.Node
		if at >= 0 {
			item = old[at]
		}
		out.Items = append(out.Items, word(item, list[i], loose))
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

// recordOf returns the target for a mapping of a few names to texts, without the empty ones.
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
	for i, at := range pairUp(old, list, func(m Match) string { return strings.Join(m.Events, " ") }) {
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
