package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrEntangled is what Edit returns for a change that would change other parts too, mostly because
// of a shared anchor.
var ErrEntangled = errors.New("the change would change something else of the file too")

// Edit returns the file's text with its root changed to the target. It keeps the text and comments
// of everything else. It reads the result again, and returns an error unless that equals the
// target.
func (f *File) Edit(root *Wanted) (text []byte, err error) {
	// Positions come from an unmaintained library. A panic there must not crash the caller.
	defer func() {
		if r := recover(); r != nil {
			text, err = nil, fmt.Errorf("%w: %v", ErrEntangled, r)
		}
	}()
	if root.Keep {
		return []byte(f.mark + f.Text), nil
	}
	e := newEditor(f)
	e.edit(root, context{})
	if e.err != nil {
		return nil, e.err
	}
	out := e.apply(0, len(e.text), e.edits)
	if len(e.text) > len(f.Text) {
		out = strings.TrimSuffix(out, e.eol)
	}
	out = f.mark + out
	again, after := Read(f.Name, []byte(out))
	if !slices.EqualFunc(f.problems, after, func(a, b Problem) bool { return a.Message == b.Message }) || !root.fulfilled(again.Root) {
		return nil, ErrEntangled
	}
	return []byte(out), nil
}

// An editor collects the changes to a file's text.
type editor struct {
	file     *File
	text     string // with an end to its last line
	eol      string
	ends     map[*yaml.Node]int
	comments []comment
	edits    []splice
	err      error
}

// A splice replaces a range of the file.
type splice struct {
	start, end int
	text       string
}

// A context says where a value stands.
type context struct {
	flow   bool // between brackets
	indent int  // of the lines that a block there begins with
	after  int  // the offset behind the key's colon or the item's dash
	item   bool // behind a dash
	wider  int  // how much longer its key becomes
}

func newEditor(f *File) *editor {
	p := newPrinter(f, Style{}, f.document.Content[0])
	e := &editor{file: f, text: f.Text, eol: "\n", ends: p.ends, comments: p.comments}
	if i := strings.IndexByte(f.Text, '\n'); i > 0 && f.Text[i-1] == '\r' {
		e.eol = "\r\n"
	}
	if !strings.HasSuffix(e.text, "\n") {
		e.text += e.eol
	}
	return e
}

// apply returns a stretch of the text with changes made.
func (e *editor) apply(start, end int, edits []splice) string {
	edits = slices.Clone(edits)
	// Insertions come before deletions at the same offset.
	slices.SortStableFunc(edits, func(a, b splice) int {
		return cmp.Or(a.start-b.start, cmp.Compare(min(a.end-a.start, 1), min(b.end-b.start, 1)))
	})
	var b strings.Builder
	at := start
	for _, s := range edits {
		if s.start < at || s.end > end {
			e.fail(ErrEntangled)
			return ""
		}
		b.WriteString(e.text[at:s.start])
		b.WriteString(s.text)
		at = s.end
	}
	b.WriteString(e.text[at:end])
	return b.String()
}

func (e *editor) splice(start, end int, text string) {
	e.edits = append(e.edits, splice{start, end, text})
}

func (e *editor) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// place returns the YAML node in the file for a node: the alias, if it is one.
func place(n *Node) *yaml.Node {
	if n.alias != nil {
		return n.alias
	}
	return n.yaml
}

func (e *editor) start(y *yaml.Node) int { return e.file.offset(y.Line, y.Column) }

// end returns the offset behind a value. A block that keeps its last empty lines ends behind them.
func (e *editor) end(y *yaml.Node) int {
	end := e.ends[y]
	last := y
	for len(last.Content) > 0 && last.Style&yaml.FlowStyle == 0 {
		last = last.Content[len(last.Content)-1]
	}
	if last.Kind == yaml.ScalarNode && isBlockScalar(last) && strings.Contains(e.header(last), "+") {
		for next := e.nextLine(end); next < len(e.text) && trim(e.text[next:e.lineEnd(next)]) == ""; next = e.nextLine(next) {
			end = e.lineEnd(next)
		}
	}
	return end
}

func isBlockScalar(y *yaml.Node) bool { return y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 }

// header returns the mark with which a block scalar begins, such as |-.
func (e *editor) header(y *yaml.Node) string {
	at := e.file.skipProperties(e.start(y))
	end := at
	for end < len(e.text) && !isSpace(e.text[end]) {
		end++
	}
	return e.text[at:end]
}

// lineStart returns the offset at which the line of an offset begins.
func (e *editor) lineStart(at int) int { return strings.LastIndexByte(e.text[:at], '\n') + 1 }

// lineEnd returns the offset of the end of its line, without the line's end mark.
func (e *editor) lineEnd(at int) int {
	i := strings.IndexByte(e.text[at:], '\n')
	if i < 0 {
		return len(e.text)
	}
	if at+i > 0 && e.text[at+i-1] == '\r' && i > 0 {
		i--
	}
	return at + i
}

// nextLine returns the offset at which the line behind that of an offset begins.
func (e *editor) nextLine(at int) int {
	if i := strings.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(e.text)
}

// ownLine reports whether nothing but white space stands before an offset in its line.
func (e *editor) ownLine(at int) bool { return trim(e.text[e.lineStart(at):at]) == "" }

// column returns how many characters stand before an offset in its line.
func (e *editor) column(at int) int { return runeLen(e.text[e.lineStart(at):at]) }

// commentLine returns how far a comment that is alone on the line of an offset is indented, or -1.
func (e *editor) commentLine(at int) int {
	line := e.text[at:e.lineEnd(at)]
	text := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(text, "#") {
		return -1
	}
	return len(line) - len(text)
}

// isComment reports whether the comment at an offset is one, and not a part of a text.
func (e *editor) isComment(at int) bool {
	_, found := sort.Find(len(e.comments), func(i int) int { return at - e.comments[i].offset })
	return found
}

// commentBetween reports whether there is a comment between two offsets.
func (e *editor) commentBetween(start, end int) bool {
	i := sort.Search(len(e.comments), func(i int) bool { return e.comments[i].offset >= start })
	return i < len(e.comments) && e.comments[i].offset < end
}

// skipTo returns the offset of a mark behind an offset, with nothing but white space and comments
// between, or -1.
func (e *editor) skipTo(at int, mark byte) int {
	for at < len(e.text) {
		switch c := e.text[at]; {
		case c == mark:
			return at
		case c == '#':
			at = e.lineEnd(at)
		case isSpace(c):
			at++
		default:
			return -1
		}
	}
	return -1
}

// edit changes a value to its target, in place if possible.
func (e *editor) edit(w *Wanted, at context) {
	if w.Keep || e.err != nil {
		return
	}
	old := w.Old
	if old.alias != nil || w.YAML != "" || w.Kind != old.Kind {
		e.replace(w, at)
		return
	}
	switch w.Kind {
	case Scalar:
		e.scalar(w, at)
	case List:
		e.list(w, at)
	case Mapping:
		e.mapping(w, at)
	}
}

// mapping changes the pairs of a mapping.
func (e *editor) mapping(w *Wanted, at context) {
	y := w.Old.yaml
	if w.Old.Broken || len(y.Content) != 2*len(w.Old.Pairs) {
		e.fail(errors.New("a mapping has a key that cannot be read, or one twice: put that right first"))
		return
	}
	entries := make([]entryWanted, len(w.Pairs))
	survives := false
	for i := range w.Pairs {
		p := &w.Pairs[i]
		old := p.Key
		if p.Old != "" {
			old = p.Old
		}
		entries[i] = entryWanted{old: slices.IndexFunc(w.Old.Pairs, func(o Pair) bool { return o.Key.Value == old }), value: p.Value, pair: p}
		if at := entries[i].old; at >= 0 {
			survives = true
			if p.Value.Old != w.Old.Pairs[at].Value {
				entries[i].value = p.Value.In(w.Old.Pairs[at].Value)
			}
		}
	}
	flow := y.Style&yaml.FlowStyle != 0
	braces := e.text[e.file.skipProperties(e.start(y))] == '{'
	if !survives || flow && !braces && (len(w.Pairs) != 1 || len(w.Old.Pairs) != 1) {
		e.replace(w, at)
		return
	}
	e.collection(w, at, entries)
}

// list changes the items of a list.
func (e *editor) list(w *Wanted, at context) {
	y := w.Old.yaml
	entries := make([]entryWanted, len(w.Items))
	survives, inOrder := false, len(w.Items) == len(w.Old.Items)
	for i, item := range w.Items {
		entries[i] = entryWanted{old: -1, value: item}
		if item.Old != nil {
			entries[i].old = slices.Index(w.Old.Items, item.Old)
		}
		survives, inOrder = survives || entries[i].old >= 0, inOrder && entries[i].old == i
	}
	flow := y.Style&yaml.FlowStyle != 0
	// A list that begins behind something else has no lines of its own.
	if !survives || !flow && !inOrder && !e.ownLine(e.file.skipProperties(e.start(y))) {
		e.replace(w, at)
		return
	}
	e.collection(w, at, entries)
}

// collection changes the entries of a list or mapping. One in brackets that becomes too long for
// its line is written as a block.
func (e *editor) collection(w *Wanted, at context, entries []entryWanted) {
	y := w.Old.yaml
	flow := y.Style&yaml.FlowStyle != 0
	if !flow || at.flow {
		e.entries(y, entries, flow, w.Apart)
		return
	}
	outer := e.edits
	e.edits = nil
	e.entries(y, entries, flow, w.Apart)
	inner := e.edits
	e.edits = outer
	start, end := e.start(y), e.end(y)
	used := e.column(at.after) + at.wider + 1
	text := e.apply(start, end, inner)
	if !strings.Contains(text, "\n") && used+runeLen(text) > width && used-at.wider+runeLen(e.text[start:end]) <= width && !hasAnchors(y) {
		e.replace(w, at)
		return
	}
	e.edits = append(e.edits, inner...)
}
