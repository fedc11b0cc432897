package source

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// scalar replaces a text, in the style of the old one if possible.
func (e *editor) scalar(w *Wanted, at context) {
	y := w.Old.yaml
	start, end := e.file.skipProperties(e.start(y)), e.end(y)
	if isBlockScalar(y) {
		e.blockScalar(w, at, start, end)
		return
	}
	if lines, mark := blockLines(w.Value); !at.flow && !w.Bare && len(lines) > 1 && !e.commentBelow(end, at.indent) {
		e.put(start, end, at, rendered{" " + mark, padded(lines, at.indent)})
		return
	}
	e.splice(start, end, scalarText(w, at.flow, y.Style))
}

// blockScalar replaces a text that is written as a block.
func (e *editor) blockScalar(w *Wanted, at context, start, end int) {
	y := w.Old.yaml
	header := e.header(y)
	indent := at.indent
	if !strings.ContainsAny(header, "123456789") {
		if old := leastIndent(strings.Split(e.text[e.lineEnd(start):max(e.lineEnd(start), end)], "\n")); old > 0 {
			indent = old
		}
	}
	stop := e.lineEnd(start)
	lines, mark := blockLines(w.Value)
	if header[0] == '>' && len(lines) == 1 {
		mark = ">" + mark[1:] // a single line folds to itself
	}
	if lines == nil || w.Bare || len(lines) == 1 && mark[len(mark)-1] == '-' && header[0] == '|' {
		e.splice(start, start+len(header), scalarText(w, false, 0))
		e.splice(stop, max(stop, end), "")
		return
	}
	if mark != header {
		e.splice(start, start+len(header), mark)
	}
	e.splice(stop, max(stop, end), e.joined("", padded(lines, indent)))
}

// replace replaces a value with one of another kind.
func (e *editor) replace(w *Wanted, at context) {
	y := place(w.Old)
	start, end := e.start(y), e.end(y)
	empty := w.Old.alias == nil && isEmpty(y)
	if empty {
		start, end = at.after, at.after
	}
	if !at.flow {
		r := e.render(w, at, e.column(at.after)+at.wider)
		if isBlock(y) {
			end = e.lineEnd(end) // a comment there is about its last entry
		}
		above := e.nextLine(at.after)
		// A text over several lines would take in comments above and below it.
		if len(r.rest) > 0 && (e.commentBelow(end, at.indent) || r.first != "" && start > above && e.commentBetween(above, start)) {
			r = rendered{first: " " + e.flow(w)}
		}
		if y.Kind == yaml.ScalarNode && isBlockScalar(y) {
			e.putOverBlock(y, end, at, r)
		} else {
			e.put(start, end, at, r)
		}
		return
	}
	text := e.flow(w)
	switch {
	case empty && e.text[at.after-1] == ':':
		text = " " + text
	case empty:
		text = ": " + text // of a key alone, {a}
	}
	e.splice(start, end, text)
}

// commentBelow reports whether a comment stands below an offset that a text over several lines
// would take in.
func (e *editor) commentBelow(at, indent int) bool {
	for at = e.nextLine(at); at < len(e.text); at = e.nextLine(at) {
		if trim(e.text[at:e.lineEnd(at)]) != "" {
			return e.commentLine(at) >= indent
		}
	}
	return false
}

// putOverBlock replaces a block scalar, whose first line may have a comment.
func (e *editor) putOverBlock(y *yaml.Node, end int, at context, r rendered) {
	header := e.file.skipProperties(e.start(y))
	stop := e.lineEnd(header)
	e.splice(at.after, header+len(e.header(y)), r.first)
	text := ""
	if len(r.rest) > 0 {
		text = e.joined("", r.rest)
	}
	e.splice(stop, max(stop, end), text)
}

// put replaces the value behind a key's colon or an item's dash. A comment beside it stays on its
// line.
func (e *editor) put(start, end int, at context, r rendered) {
	if e.lineStart(start) == e.lineStart(at.after) {
		for start > at.after && (e.text[start-1] == ' ' || e.text[start-1] == '\t') {
			start--
		}
		e.splice(start, end, r.first)
		if len(r.rest) > 0 {
			stop := e.lineEnd(end)
			e.splice(stop, stop, e.joined("", r.rest))
		}
		return
	}
	e.splice(at.after, at.after, r.first)
	text := ""
	if len(r.rest) > 0 {
		text = e.joined(r.rest[0], r.rest[1:]) + e.eol
	}
	from := e.nextLine(at.after)
	if e.commentBetween(from, start) {
		from = e.lineStart(start)
	}
	e.splice(from, e.nextLine(end), text)
}
