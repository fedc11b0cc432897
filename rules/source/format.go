package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/quandohq/quando/rules/phrases"
)

// A Style says what the canonical form of a kind of file is, beyond what is common to all.
type Style struct {
	// Order returns the keys of a mapping in their canonical order, or nil if the file's order stays.
	// The path names the keys that lead to the mapping, with [] for an item of a list: rules[].
	Order func(path string) []string
	// Apart reports whether the items of the list or mapping at the path stand apart by an empty line.
	Apart func(path string) bool
}

// width is how long a line may get before a mapping or list in braces is written over several
// lines.
const width = 100

// Format returns the file in its canonical form: two spaces of indentation, one space where one is
// needed, at most one empty line, comments kept where they belong. What the file means stays the
// same; a file for which that cannot be made sure is refused with a Problem.
func Format(name string, text []byte, style Style) ([]byte, Problems) {
	f, problems := Read(name, text)
	if problems.HasErrors() {
		return nil, problems
	}
	if f.Root == nil || holdsNothing(f.Text) {
		return []byte(tidyComments(f.Text)), nil
	}
	out, problem := f.settled(style)
	if problem != nil {
		return nil, Problems{*problem}
	}
	return []byte(out), nil
}

// settled returns the fixpoint of formatting. The position of a comment decides what it belongs to,
// so a moved one may be attributed to another entry and move again.
func (f *File) settled(style Style) (string, *Problem) {
	const passes = 5
	text := f.Text
	for range passes {
		out, problem := f.format(style)
		if problem != nil {
			return "", problem
		}
		if out == text {
			return out, nil
		}
		// What was written has been read already, without a problem.
		f, _ = Read(f.Name, []byte(out))
		text = out
	}
	return "", f.problem(1, 1, phrases.Sprintf("the file's comments cannot be brought into one form"), phrases.Sprintf("put comments on lines of their own, above what they are about"))
}

func (f *File) format(style Style) (string, *Problem) {
	root := f.document.Content[0]
	p := newPrinter(f, style, root)
	p.openCommented(root)
	p.entries(root)
	p.attach()
	p.block(root, 0, "")
	for _, c := range p.last {
		p.comment(c, 0)
	}
	out := strings.TrimLeft(p.out.String(), "\n")

	// The printer is held to its promise on every file, not only in tests.
	again, problems := Read(f.Name, []byte(out))
	if len(problems) > 0 || again.Root == nil || !same(root, again.document.Content[0], style, "") {
		return "", f.problem(root.Line, root.Column, phrases.Sprintf("the file cannot be formatted without changing what it means"), phrases.Sprintf("write it more plainly; quando fmt leaves it as it is"))
	}
	q := newPrinter(again, style, again.document.Content[0])
	if !slices.Equal(commentTexts(p.comments), commentTexts(q.comments)) {
		return "", f.problem(root.Line, root.Column, phrases.Sprintf("the file cannot be formatted without losing a comment"), phrases.Sprintf("put comments on lines of their own, above what they are about"))
	}
	return out, nil
}

func newPrinter(f *File, style Style, root *yaml.Node) *printer {
	p := &printer{file: f, style: style, ends: make(map[*yaml.Node]int), opened: make(map[*yaml.Node]bool), byNode: make(map[*yaml.Node]*entry)}
	p.end(root)
	p.comments = p.scanComments(root)
	return p
}

func commentTexts(comments []comment) []string {
	texts := make([]string, len(comments))
	for i, c := range comments {
		texts[i] = c.text
	}
	slices.Sort(texts)
	return texts
}

// tidyComments formats a file that holds nothing else.
func tidyComments(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = trim(line)
		if line == "---" || line == "..." || (line == "" && (len(lines) == 0 || lines[len(lines)-1] == "")) {
			continue
		}
		lines = append(lines, line)
	}
	out := trim(strings.Join(lines, "\n"))
	if out != "" {
		out += "\n"
	}
	return out
}

// same reports whether two trees mean the same, apart from the order of keys where the style sets
// it.
func same(a, b *yaml.Node, style Style, path string) bool {
	if a.Kind != b.Kind || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.AliasNode:
		return a.Value == b.Value
	case yaml.ScalarNode:
		if a.ShortTag() != b.ShortTag() {
			return false
		}
		return a.ShortTag() == "!!null" || a.Value == b.Value
	case yaml.SequenceNode:
		for i := range a.Content {
			if !same(a.Content[i], b.Content[i], style, path+"[]") {
				return false
			}
		}
	case yaml.MappingNode:
		pairs := ordered(a, style, path)
		for i, pair := range pairs {
			key, value := b.Content[2*i], b.Content[2*i+1]
			if !same(pair[0], key, style, path) || !same(pair[1], value, style, join(path, key.Value)) {
				return false
			}
		}
	}
	return true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// ordered returns the pairs of a mapping in canonical order. Anchors must stay before their
// aliases, so a mapping that holds either keeps its order.
func ordered(n *yaml.Node, style Style, path string) [][2]*yaml.Node {
	var pairs [][2]*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, [2]*yaml.Node{n.Content[i], n.Content[i+1]})
	}
	if style.Order == nil || hasAnchors(n) {
		return pairs
	}
	if order := style.Order(path); order != nil {
		rank := func(p [2]*yaml.Node) int {
			if i := slices.Index(order, p[0].Value); i >= 0 {
				return i
			}
			return len(order)
		}
		slices.SortStableFunc(pairs, func(a, b [2]*yaml.Node) int { return rank(a) - rank(b) })
	}
	return pairs
}

func hasAnchors(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAnchors)
}

// A comment of the file.
type comment struct {
	offset, line, column int
	text                 string
	own                  bool // alone on its line
	dashed               bool // behind nothing but dashes: about what follows them
	apart                bool // behind an empty line
}

// end returns the offset just behind a node, and remembers it.
func (p *printer) end(n *yaml.Node) int {
	f := p.file
	at := f.offset(n.Line, n.Column)
	switch n.Kind {
	case yaml.ScalarNode:
		_, at = f.locate(n)
	case yaml.AliasNode:
		at += 1 + len(n.Value)
	default:
		at = f.skipProperties(at)
		if n.Style&yaml.FlowStyle != 0 {
			at++
		}
		for _, child := range n.Content {
			at = max(at, p.end(child))
		}
		// A pair in a list, [a: b], is a mapping without braces of its own.
		if start := f.skipProperties(f.offset(n.Line, n.Column)); n.Style&yaml.FlowStyle != 0 && start < len(f.Text) && (f.Text[start] == '{' || f.Text[start] == '[') {
			at = f.closer(at)
		}
	}
	p.ends[n] = at
	return at
}

// closer returns the offset behind the bracket that ends a list or mapping in flow style.
func (f *File) closer(at int) int {
	for at < len(f.Text) {
		switch f.Text[at] {
		case ']', '}':
			return at + 1
		case '#':
			if i := strings.IndexByte(f.Text[at:], '\n'); i >= 0 {
				at += i
			}
		}
		at++
	}
	return at
}

// scanComments finds the comments of the file: every # outside of scalars with white space before
// it.
func (p *printer) scanComments(root *yaml.Node) []comment {
	text := p.file.Text
	covered := p.scalars(root, nil)
	var comments []comment
	for at, next := 0, 0; at < len(text); at++ {
		for next < len(covered) && covered[next][1] <= at {
			next++
		}
		if next < len(covered) && at >= covered[next][0] {
			at = covered[next][1] - 1
			continue
		}
		if text[at] != '#' || (at > 0 && !isSpace(text[at-1])) {
			continue
		}
		line, column := p.file.position(at)
		c := comment{offset: at, line: line, column: column, text: strings.TrimRight(p.file.Line(line)[at-p.file.lines[line-1]:], " \t")}
		before := trim(text[p.file.lines[line-1]:at])
		c.dashed = before != "" && strings.Trim(before, " \t-") == ""
		c.own = before == "" || c.dashed
		c.apart = line > 1 && trim(p.file.Line(line-1)) == ""
		comments = append(comments, c)
		at += len(c.text)
	}
	return comments
}

// scalars returns the stretches of the text that scalars cover, in order.
func (p *printer) scalars(n *yaml.Node, covered [][2]int) [][2]int {
	if n.Kind == yaml.ScalarNode {
		start := p.file.skipProperties(p.file.offset(n.Line, n.Column))
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			return append(covered, [2]int{start, p.ends[n]})
		}
		// The header line of a block may carry a comment of its own.
		if header := strings.IndexByte(p.file.Text[start:], '\n'); header >= 0 {
			return append(covered, [2]int{start + header, max(p.ends[n], start+header)})
		}
		return covered
	}
	for _, child := range n.Content {
		covered = p.scalars(child, covered)
	}
	return covered
}

// quote writes a text in double quotes.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		default:
			switch {
			case r < 0x20 || (r >= 0x7f && r < 0xa0):
				fmt.Fprintf(&b, `\x%02x`, r)
			case r == 0x2028 || r == 0x2029 || r == 0xfeff || (r >= 0xfffe && r <= 0xffff):
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

func runeLen(s string) int { return utf8.RuneCountInString(s) }
