package source

import (
	"slices"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

// A printer writes a tree in its canonical form, with the comments of its file.
type printer struct {
	file     *File
	style    Style
	ends     map[*yaml.Node]int // the offset behind each node
	comments []comment
	opened   map[*yaml.Node]bool // in flow style, but with comments inside: written as a block
	order    []*entry            // in the order of the file
	byNode   map[*yaml.Node]*entry
	last     []comment // behind everything
	out      strings.Builder
}

// An entry is a key with its value, or an item of a list: what a comment can belong to.
type entry struct {
	offset int // of the key or the item
	column int
	depth  int
	above  *entry
	lead   []comment
	trail  []comment
	foot   []comment
	apart  bool // stood behind an empty line
}

// openCommented opens the flow collections that comments stand in: they are written as blocks.
func (p *printer) openCommented(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode {
		return
	}
	if n.Style&yaml.FlowStyle != 0 {
		start := p.file.offset(n.Line, n.Column)
		i := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].offset >= start })
		if i == len(p.comments) || p.comments[i].offset >= p.ends[n] {
			return
		}
		p.opened[n] = true
	}
	for _, child := range n.Content {
		p.openCommented(child)
	}
}

// isBlock reports whether a collection is written as a block.
func (p *printer) isBlock(n *yaml.Node) bool {
	switch {
	case n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode, len(n.Content) == 0:
		return false
	case n.Style&yaml.FlowStyle == 0 || p.opened[n]:
		return true
	}
	return false
}

// entries lists what comments can belong to, outermost first.
func (p *printer) entries(root *yaml.Node) {
	var walk func(n *yaml.Node, above *entry)
	add := func(n *yaml.Node, column int, above *entry) *entry {
		e := &entry{offset: p.file.offset(n.Line, n.Column), column: column, above: above}
		if above != nil {
			e.depth = above.depth + 1
		}
		e.apart = n.Line > 1 && trim(p.file.Line(n.Line-1)) == ""
		p.order = append(p.order, e)
		p.byNode[n] = e
		return e
	}
	walk = func(n *yaml.Node, above *entry) {
		if !p.isBlock(n) {
			return
		}
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				walk(n.Content[i+1], add(n.Content[i], n.Content[i].Column, above))
			}
		case yaml.SequenceNode:
			for _, item := range n.Content {
				// A list's column is that of its dashes.
				walk(item, add(item, n.Column, above))
			}
		}
	}
	walk(root, nil)
}

// attach assigns every comment to its entry.
func (p *printer) attach() {
	var owner *[]comment // of the comment line before
	last, column := 0, 0 // its place
	for _, c := range p.comments {
		i := sort.Search(len(p.order), func(i int) bool { return p.order[i].offset > c.offset })
		var before, next *entry
		if i > 0 {
			before = p.order[i-1]
		}
		if i < len(p.order) {
			next = p.order[i]
		}
		// Behind a dash, the innermost of what begins there.
		for c.dashed && i+1 < len(p.order) && p.order[i+1].offset == next.offset {
			i++
			next = p.order[i]
		}
		if !c.own && before != nil {
			// One comment fits beside an entry; the others go above it.
			if len(before.trail) > 0 {
				c.apart = false
				before.lead = append(before.lead, c)
			} else {
				before.trail = append(before.trail, c)
			}
			continue
		}
		// Consecutive comment lines stay together.
		if c.own && !c.dashed && owner != nil && c.line == last+1 && c.column >= column {
			*owner = append(*owner, c)
			last, column = c.line, c.column
			continue
		}
		// Indented deeper than what follows, it belongs to what came before.
		for before != nil && before.above != nil && before.column > c.column {
			before = before.above
		}
		switch {
		case next != nil && (before == nil || c.dashed || c.column <= next.column || before.depth <= next.depth):
			owner = &next.lead
		case before == nil || before.depth == 0:
			owner = &p.last
		default:
			owner = &before.foot
		}
		*owner = append(*owner, c)
		last, column = c.line, c.column
	}
}

// newline ends the current line, and leaves an empty one where asked and not there yet.
func (p *printer) newline(apart bool) {
	s := p.out.String()
	if s == "" {
		return
	}
	if !strings.HasSuffix(s, "\n") {
		p.out.WriteByte('\n')
	}
	if apart && !strings.HasSuffix(s, "\n\n") {
		p.out.WriteByte('\n')
	}
}

func (p *printer) comment(c comment, indent int) {
	p.newline(c.apart)
	p.out.WriteString(strings.Repeat(" ", indent))
	p.out.WriteString(c.text)
	p.out.WriteByte('\n')
}

// begin writes what stands above an entry. The first of a collection may stand on a line that has
// begun.
func (p *printer) begin(e *entry, first, inline, apart bool, indent int) {
	if inline && len(e.lead) == 0 {
		return
	}
	apart = !first && (apart || e.apart)
	if len(e.lead) > 0 {
		e.lead[0].apart = !first && (apart || e.lead[0].apart)
		apart = e.apart
	}
	for _, c := range e.lead {
		p.comment(c, indent)
	}
	p.newline(apart)
	p.out.WriteString(strings.Repeat(" ", indent))
}

// finish writes what stands beside and below an entry; the trail must come with the entry's first
// line.
func (p *printer) finish(e *entry, indent int) {
	for _, c := range e.foot {
		p.comment(c, indent)
	}
}

func (p *printer) trail(e *entry) {
	for _, c := range e.trail {
		p.out.WriteString(" " + c.text)
		p.out.WriteByte('\n')
	}
	e.trail = nil
}

// block writes a collection over several lines, or anything else on one.
func (p *printer) block(n *yaml.Node, indent int, path string) {
	if !p.isBlock(n) {
		p.out.WriteString(strings.Repeat(" ", indent))
		p.out.WriteString(p.inline(n))
		p.newline(false)
		return
	}
	p.collection(n, indent, path, false)
}

// collection writes the entries of a block. Inline says that the first one goes on the line that
// has begun, behind a dash.
func (p *printer) collection(n *yaml.Node, indent int, path string, inline bool) {
	apart := p.style.Apart != nil && p.style.Apart(path)
	if n.Kind == yaml.SequenceNode {
		for i, item := range n.Content {
			e := p.byNode[item]
			p.hoist(item, e, path+"[]")
			p.begin(e, i == 0, inline && i == 0, apart, indent)
			p.out.WriteString("-")
			p.value(item, e, indent+2, path+"[]", true)
			p.finish(e, indent)
		}
		return
	}
	for i, pair := range ordered(n, p.style, path) {
		e := p.byNode[pair[0]]
		p.begin(e, i == 0, inline && i == 0, apart, indent)
		p.out.WriteString(p.inline(pair[0]) + ":")
		p.value(pair[1], e, indent+2, join(path, pair[0].Value), false)
		p.finish(e, indent)
	}
}

// hoist puts the comments about the first entry of an item above the item's dash.
func (p *printer) hoist(item *yaml.Node, e *entry, path string) {
	for p.isBlock(item) {
		first := item.Content[0]
		if item.Kind == yaml.MappingNode {
			first = ordered(item, p.style, path)[0][0]
		}
		f := p.byNode[first]
		e.lead, f.lead = append(e.lead, f.lead...), nil
		if item.Kind == yaml.MappingNode {
			return
		}
		item, path = first, path+"[]"
	}
}

// value writes what stands behind a key's colon or an item's dash.
func (p *printer) value(n *yaml.Node, e *entry, indent int, path string, item bool) {
	properties := properties(n)
	if !p.isBlock(n) && !p.tooWide(n) {
		if text := p.scalarBlock(n, indent, e); text != "" {
			p.out.WriteString(text)
		} else if text := p.inline(n); text != "" {
			p.out.WriteString(" " + text)
		}
		p.trail(e)
		p.newline(false)
		return
	}
	if !p.isBlock(n) {
		p.open(n, e)
	}
	if properties != "" {
		p.out.WriteString(" " + properties)
	}
	// A mapping or list behind a dash begins on the dash's line, unless something stands between.
	if item && properties == "" && len(e.trail) == 0 {
		p.out.WriteByte(' ')
		p.collection(n, indent, path, true)
		return
	}
	p.trail(e)
	p.newline(false)
	p.collection(n, indent, path, false)
}

// open turns a flow collection that is too wide into a block.
func (p *printer) open(n *yaml.Node, above *entry) {
	p.opened[n] = true
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i < len(n.Content); i += step {
		p.byNode[n.Content[i]] = &entry{above: above}
	}
}

// tooWide reports whether a flow collection does not fit on the line that has begun.
func (p *printer) tooWide(n *yaml.Node) bool {
	if (n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode) || len(n.Content) == 0 {
		return false
	}
	s := p.out.String()
	line := s[strings.LastIndexByte(s, '\n')+1:]
	return runeLen(line)+1+runeLen(p.inline(n)) > width
}

// properties returns the anchor and the tag that a node was written with.
func properties(n *yaml.Node) string {
	var parts []string
	if n.Anchor != "" {
		parts = append(parts, "&"+n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		parts = append(parts, n.ShortTag())
	}
	return strings.Join(parts, " ")
}

// inline writes a node on one line.
func (p *printer) inline(n *yaml.Node) string {
	var b strings.Builder
	if text := properties(n); text != "" {
		b.WriteString(text + " ")
	}
	switch n.Kind {
	case yaml.AliasNode:
		b.WriteString("*" + n.Value)
	case yaml.ScalarNode:
		b.WriteString(p.scalar(n))
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(p.flowValue(item))
		}
		b.WriteByte(']')
	case yaml.MappingNode:
		if len(n.Content) == 0 {
			b.WriteString("{}")
			break
		}
		b.WriteString("{ ")
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(p.flowValue(n.Content[i]) + ": " + p.flowValue(n.Content[i+1]))
		}
		b.WriteString(" }")
	}
	return strings.TrimRight(b.String(), " ")
}

// flowValue writes a value between brackets, where nothing cannot be written as nothing.
func (p *printer) flowValue(n *yaml.Node) string {
	text := p.inline(n)
	switch {
	case text == "":
		return "null"
	case n.Kind == yaml.AliasNode:
		return text + " " // *a: would be the alias "a:"
	}
	return text
}

// scalar writes a scalar on one line, as it was written where that is possible.
func (p *printer) scalar(n *yaml.Node) string {
	plain := !strings.ContainsAny(n.Value, "\n\r\t\u0085\u2028\u2029") && isPrintable(n.Value)
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		start := p.file.skipProperties(p.file.offset(n.Line, n.Column))
		if raw := p.file.Text[start:p.ends[n]]; !strings.ContainsAny(raw, "\n\r") {
			return raw
		}
		return quote(n.Value)
	case n.Style&yaml.SingleQuotedStyle != 0:
		if plain && strings.ContainsAny(n.Value, `"\`) {
			return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
		}
		return quote(n.Value)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || !plain:
		return quote(n.Value)
	}
	return n.Value
}

func isPrintable(s string) bool {
	for _, r := range s {
		if r < 0x20 || (r >= 0x7f && r < 0xa0) || r == 0xfeff || (r >= 0xfffe && r <= 0xffff) {
			return false
		}
	}
	return true
}

// scalarBlock writes a text that was written as a block again as a block, or returns "" where only
// quotes will do.
func (p *printer) scalarBlock(n *yaml.Node, indent int, e *entry) string {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || !isPrintable(strings.ReplaceAll(n.Value, "\n", "")) {
		return ""
	}
	lines := strings.Split(strings.TrimRight(n.Value, "\n"), "\n")
	mark := "|"
	if n.Style&yaml.FoldedStyle != 0 {
		mark = ">"
		lines = p.foldedLines(n)
	}
	if len(lines) == 0 || lines[0] == "" || strings.HasPrefix(lines[0], " ") || strings.ContainsAny(n.Value, "\r\u0085\u2028\u2029") {
		return ""
	}
	// A line of white space only could not be told from an empty one between entries.
	if slices.ContainsFunc(lines, func(line string) bool { return line != "" && trim(line) == "" }) {
		return ""
	}
	switch end := len(n.Value) - len(strings.TrimRight(n.Value, "\n")); {
	case end == 0:
		mark += "-"
	case end > 1:
		mark += "+"
		for range end - 1 {
			lines = append(lines, "")
		}
	}
	var b strings.Builder
	b.WriteByte(' ')
	if text := properties(n); text != "" {
		b.WriteString(text + " ")
	}
	b.WriteString(mark)
	// A comment beside a block stands on its first line.
	for _, c := range e.trail {
		b.WriteString(" " + c.text)
	}
	e.trail = nil
	for _, line := range lines {
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
	return b.String() + "\n"
}

// foldedLines returns the lines of a folded block as they stand in the file, without their
// indentation.
func (p *printer) foldedLines(n *yaml.Node) []string {
	start := p.file.skipProperties(p.file.offset(n.Line, n.Column))
	header := strings.IndexByte(p.file.Text[start:], '\n')
	if header < 0 || p.ends[n] <= start+header {
		return nil
	}
	raw := strings.Split(strings.TrimRight(p.file.Text[start+header+1:p.ends[n]], "\n"), "\n")
	indent := len(raw[0]) - len(strings.TrimLeft(raw[0], " "))
	for i, line := range raw {
		line = strings.TrimSuffix(line, "\r")
		raw[i] = line[min(indent, len(line)):]
		if trim(line) == "" {
			raw[i] = ""
		}
	}
	return raw
}
