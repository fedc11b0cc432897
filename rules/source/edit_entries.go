package source

import (
	"slices"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

// An entryWanted is a pair or an item that a collection should have.
type entryWanted struct {
	old   int // which of those that are there; -1 for another one
	value *Wanted
	pair  *WantedPair // nil for an item
}

// An entryRange is the position of an entry in the text.
type entryRange struct {
	start, end int  // from its key or dash, or in a list between brackets from itself, to the end of its value
	from, to   int  // in a block, whole lines: with the comments about it
	mid        bool // it begins behind something else in its line
	key        *yaml.Node
	value      *yaml.Node
	after      int // the offset behind its colon or dash
}

// entries changes the entries of a collection: some stay, some go, some are put between.
func (e *editor) entries(y *yaml.Node, wanted []entryWanted, flow, apart bool) {
	old := e.stretches(y, flow)
	stays := increasing(wanted)
	anchored := make([]bool, len(old))
	for i, w := range wanted {
		if stays[i] {
			anchored[w.old] = true
		} else if flow && w.old >= 0 {
			e.exchange(old, wanted)
			return
		}
	}
	before := -1 // the last that stays
	for i, w := range wanted {
		if stays[i] {
			e.entry(w, old[w.old], flow)
			before = w.old
			continue
		}
		if flow {
			e.insertFlow(old, before, e.flowText(w, old))
		} else {
			e.insertBlock(old, before, e.blockText(w, old), apart)
		}
	}
	for i := 0; i < len(old); i++ {
		first := i
		for i < len(old) && !anchored[i] {
			i++
		}
		if i > first {
			if flow {
				e.deleteFlow(old, first, i)
			} else {
				e.deleteBlock(old, first, i)
			}
		}
	}
}

// exchange writes the entries between brackets in another order. The comments among them stay where
// they are.
func (e *editor) exchange(old []entryRange, wanted []entryWanted) {
	for i, w := range wanted {
		switch {
		case i >= len(old):
			e.insertFlow(old, len(old)-1, e.flowText(w, old))
		case w.old == i:
			e.entry(w, old[i], true)
		default:
			e.splice(old[i].start, old[i].end, e.flowText(w, old))
		}
	}
	if len(wanted) < len(old) {
		e.deleteFlow(old, len(wanted), len(old))
	}
}

// increasing marks the most entries that can stay where they are: those whose places grow.
func increasing(wanted []entryWanted) []bool {
	length, previous := make([]int, len(wanted)), make([]int, len(wanted))
	best := -1
	for i, w := range wanted {
		previous[i] = -1
		if w.old < 0 {
			continue
		}
		length[i] = 1
		for j := range i {
			if wanted[j].old >= 0 && wanted[j].old < w.old && length[j]+1 > length[i] {
				length[i], previous[i] = length[j]+1, j
			}
		}
		if best < 0 || length[i] > length[best] {
			best = i
		}
	}
	stays := make([]bool, len(wanted))
	for ; best >= 0; best = previous[best] {
		stays[best] = true
	}
	return stays
}

// stretches finds the entries of a collection.
func (e *editor) stretches(y *yaml.Node, flow bool) []entryRange {
	var all []entryRange
	if y.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(y.Content); i += 2 {
			s := entryRange{start: e.start(y.Content[i]), key: y.Content[i], value: y.Content[i+1]}
			s.after = e.ends[s.key]
			if colon := e.skipTo(s.after, ':'); colon >= 0 {
				s.after = colon + 1
			}
			s.end = max(s.after, e.end(s.value))
			if isEmpty(s.value) {
				s.end = s.after
			}
			all = append(all, s)
		}
	} else {
		at := e.file.skipProperties(e.start(y))
		for _, item := range y.Content {
			s := entryRange{start: e.start(item), end: e.end(item), value: item}
			if !flow {
				if s.start = e.skipTo(at, '-'); s.start < 0 {
					e.fail(ErrEntangled)
					return nil
				}
				s.after = s.start + 1
				s.end = max(s.after, s.end)
				at = s.end
			}
			all = append(all, s)
		}
	}
	if !flow {
		for i := range all {
			e.lines(&all[i])
		}
	}
	return all
}

// isEmpty reports whether a value is null because nothing is written.
func isEmpty(y *yaml.Node) bool {
	return y.Kind == yaml.ScalarNode && y.Value == "" && y.Style == 0 && y.Anchor == ""
}

// lines finds the lines of an entry in a block: with the comments right above it and those below
// that are indented further.
func (e *editor) lines(s *entryRange) {
	column := e.column(s.start)
	s.from, s.mid = s.start, !e.ownLine(s.start)
	if !s.mid {
		s.from = e.lineStart(s.start)
		for s.from > 0 {
			above := e.lineStart(s.from - 1)
			if indent := e.commentLine(above); indent != column || !e.isComment(above+indent) {
				break
			}
			s.from = above
		}
	}
	s.to = e.nextLine(s.end)
	for next := s.to; next < len(e.text); next = e.nextLine(next) {
		if indent := e.commentLine(next); indent > column && e.isComment(next+indent) {
			s.to = e.nextLine(next)
		} else if trim(e.text[next:e.lineEnd(next)]) != "" {
			break
		}
	}
}

// entry changes one that stays.
func (e *editor) entry(w entryWanted, s entryRange, flow bool) {
	at := context{flow: flow, after: s.after, item: s.key == nil}
	if w.pair != nil && w.pair.Key != s.key.Value {
		text := keyText(w.pair.Key, flow)
		at.wider = runeLen(text) - runeLen(e.text[s.start:e.ends[s.key]])
		e.splice(s.start, e.ends[s.key], text)
	}
	if !flow {
		at.indent = e.column(s.start) + 2
	}
	e.edit(w.value, at)
}

// blockText writes an entry that is put into a block, in whole lines. One that was elsewhere keeps
// its text.
func (e *editor) blockText(w entryWanted, old []entryRange) string {
	if w.old >= 0 {
		s := old[w.old]
		if s.mid {
			e.fail(ErrEntangled)
			return ""
		}
		return e.moved(w, s, s.from, s.to, false)
	}
	indent := e.column(old[0].start)
	head := pad(indent) + "-"
	if w.pair != nil {
		head = pad(indent) + keyText(w.pair.Key, false) + ":"
	}
	r := e.render(w.value, context{indent: indent + 2, item: w.pair == nil}, runeLen(head))
	return e.joined(head+r.first, r.rest) + e.eol
}

func (e *editor) flowText(w entryWanted, old []entryRange) string {
	if w.old >= 0 {
		s := old[w.old]
		return e.moved(w, s, s.start, s.end, true)
	}
	if w.pair != nil {
		return keyText(w.pair.Key, true) + ": " + e.flow(w.value)
	}
	return e.flow(w.value)
}

// moved returns the text of an entry that goes to another place, with the changes inside of it.
func (e *editor) moved(w entryWanted, s entryRange, from, to int, flow bool) string {
	outer := e.edits
	e.edits = nil
	e.entry(w, s, flow)
	text := e.apply(from, to, e.edits)
	e.edits = outer
	return text
}

// insertBlock puts lines behind an entry, or before the first.
func (e *editor) insertBlock(old []entryRange, before int, text string, apart bool) {
	switch {
	case before >= 0:
		if apart {
			text = e.eol + text
		}
		e.splice(old[before].to, old[before].to, text)
	case old[0].mid:
		// The first follows a dash: the new text goes there, and the old first goes to its own line.
		indent := pad(e.column(old[0].start))
		e.splice(old[0].start, old[0].start, strings.TrimLeft(text, " ")+indent)
	default:
		if apart {
			text += e.eol
		}
		e.splice(old[0].from, old[0].from, text)
	}
}

func (e *editor) insertFlow(old []entryRange, before int, text string) {
	if before >= 0 {
		e.splice(old[before].end, old[before].end, ", "+text)
		return
	}
	e.splice(old[0].start, old[0].start, text+", ")
}

// deleteBlock removes the entries from first on and before end.
func (e *editor) deleteBlock(old []entryRange, first, end int) {
	if old[first].mid {
		if end == len(old) {
			e.fail(ErrEntangled)
			return
		}
		// What follows moves up behind the dash.
		next := old[end].from
		for e.text[next] == ' ' {
			next++
		}
		e.splice(old[first].start, next, "")
		return
	}
	for i := first; i < end; i++ {
		from := old[i].from
		// Removing two neighbours removes what is between them, unless that is a comment on its own line.
		for i+1 < end && trim(e.text[old[i].to:old[i+1].from]) == "" {
			i++
		}
		e.deleteLines(from, old[i].to, first == 0 && i+1 == end && end < len(old))
	}
}

// deleteLines removes whole lines, and empty ones around them where they are not needed any more:
// before what becomes the first of a block, and where one empty line is enough between what was
// above and what is below.
func (e *editor) deleteLines(from, to int, atFirst bool) {
	for atFirst && to < len(e.text) && trim(e.text[to:e.lineEnd(to)]) == "" {
		to = e.nextLine(to)
	}
	if to == len(e.text) || trim(e.text[to:e.lineEnd(to)]) == "" {
		for from > 0 && trim(e.text[e.lineStart(from-1):from]) == "" {
			from = e.lineStart(from - 1)
		}
	}
	e.splice(from, to, "")
}

// deleteFlow removes entries between brackets, with their commas and the comments behind them.
func (e *editor) deleteFlow(old []entryRange, first, end int) {
	start := old[first].start
	if end < len(old) {
		stop := old[end].start
		i := sort.Search(len(e.comments), func(i int) bool { return e.comments[i].offset >= old[end-1].end })
		for ; i < len(e.comments) && e.comments[i].offset < stop; i++ {
			// A comment on a line of its own is about what follows.
			if e.comments[i].own {
				stop = e.comments[i].offset
			}
		}
		text := ""
		if e.text[stop] == '#' && start > 0 && !isSpace(e.text[start-1]) {
			text = " "
		}
		e.splice(start, stop, text)
		return
	}
	// A comma may stay behind the last entry, and must where a comment stands between.
	if before := old[first-1].end; !e.commentBetween(before, start) {
		start = before
	}
	e.splice(start, old[end-1].end, "")
}

func (e *editor) joined(first string, rest []string) string {
	return strings.Join(slices.Concat([]string{first}, rest), e.eol)
}

func pad(n int) string { return strings.Repeat(" ", n) }
