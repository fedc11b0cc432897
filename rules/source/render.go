package source

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A rendered is a value as text: what goes behind the key's colon or the item's dash, with the
// space before it, and the lines below.
type rendered struct {
	first string
	rest  []string
}

// render writes a value that is put into a block. Used is how many characters its line has already.
func (e *editor) render(w *Wanted, at context, used int) rendered {
	switch {
	case w.Keep:
		return verbatim(w.Old.Text(), w.Old, at)
	case w.YAML != "":
		n, err := w.node()
		if err != nil {
			e.fail(err)
			return rendered{}
		}
		return verbatim(w.YAML, n, at)
	case w.Kind == Scalar:
		if lines, mark := blockLines(w.Value); len(lines) > 1 && !w.Bare {
			return rendered{" " + mark, padded(lines, at.indent)}
		}
		return rendered{first: " " + scalarText(w, false, 0)}
	case w.Kind == Null && w.Loose:
		return rendered{}
	case w.Kind == Null:
		return rendered{first: " null"}
	case len(w.Items)+len(w.Pairs) == 0 || w.Short && !hasLines(w) && used+1+runeLen(e.flow(w)) <= width:
		return rendered{first: " " + e.flow(w)}
	}
	var lines []string
	for _, item := range w.Items {
		head := pad(at.indent) + "-"
		r := e.render(item, context{indent: at.indent + 2, item: true}, runeLen(head))
		lines = append(append(lines, head+r.first), r.rest...)
	}
	for _, p := range w.Pairs {
		head := pad(at.indent) + keyText(p.Key, false) + ":"
		r := e.render(p.Value, context{indent: at.indent + 2}, runeLen(head))
		lines = append(append(lines, head+r.first), r.rest...)
	}
	if at.item {
		return rendered{" " + strings.TrimLeft(lines[0], " "), lines[1:]}
	}
	return rendered{"", lines}
}

// verbatim writes YAML that is there as text.
func verbatim(text string, n *Node, at context) rendered {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n")
	lines := strings.Split(text, "\n")
	// Empty lines at the end of a block would count, and so would a number that says how far it is
	// indented.
	if isBlockScalar(n.yaml) && (strings.HasSuffix(n.Value, "\n\n") || strings.ContainsAny(lines[0], "123456789")) {
		return rendered{first: " " + n.Flow()}
	}
	block := isBlock(n.yaml)
	if !at.item && (block || strings.HasPrefix(text, "#")) {
		return rendered{"", padded(lines, at.indent)}
	}
	if !block {
		least := leastIndent(lines[1:])
		for i, line := range lines[1:] {
			lines[i+1] = line[min(least, len(line)):]
		}
	}
	return rendered{" " + lines[0], padded(lines[1:], at.indent)}
}

func padded(lines []string, indent int) []string {
	out := slices.Clone(lines)
	for i, line := range out {
		if line != "" {
			out[i] = pad(indent) + line
		}
	}
	return out
}

// hasLines reports whether a value holds a text of several lines, or steps, that a line of braces
// would hide.
func hasLines(w *Wanted) bool {
	switch {
	case w.Keep:
		return strings.Contains(w.Old.Text(), "\n")
	case w.YAML != "":
		return strings.Contains(strings.TrimSpace(w.YAML), "\n")
	case w.Kind == Scalar:
		return strings.Contains(w.Value, "\n")
	case w.Kind == Null:
		return false
	}
	return !w.Short && len(w.Items)+len(w.Pairs) > 0 || slices.ContainsFunc(w.Items, hasLines) ||
		slices.ContainsFunc(w.Pairs, func(p WantedPair) bool { return hasLines(p.Value) })
}

// flow writes a value on one line, as it can stand between brackets.
func (e *editor) flow(w *Wanted) string {
	var parts []string
	switch {
	case w.Keep:
		return strings.ReplaceAll(flowNode(w.Old), "\n", e.eol)
	case w.YAML != "":
		n, err := w.node()
		if err != nil {
			e.fail(err)
			return ""
		}
		return strings.ReplaceAll(flowNode(n), "\n", e.eol)
	case w.Kind == Scalar:
		return scalarText(w, true, 0)
	case w.Kind == List:
		for _, item := range w.Items {
			parts = append(parts, e.flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case w.Kind == Mapping && len(w.Pairs) > 0:
		for _, p := range w.Pairs {
			parts = append(parts, keyText(p.Key, true)+": "+e.flow(p.Value))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case w.Kind == Mapping:
		return "{}"
	}
	return "null"
}

// flowNode writes a node as it was where that can stand between brackets, and else on one line.
func flowNode(n *Node) string {
	if n.Kind == Scalar && !n.Quoted {
		if _, isText := n.Any().(string); isText {
			return scalarText(&Wanted{Value: n.Value}, true, 0)
		}
		return n.Value
	}
	if n.Kind == Scalar && !isBlockScalar(n.yaml) || n.Kind != Null && n.yaml.Style&yaml.FlowStyle != 0 {
		if text := n.Text(); n.Kind == Scalar || text[0] == '{' || text[0] == '[' {
			return text
		}
	}
	var parts []string
	for _, item := range n.Items {
		parts = append(parts, flowNode(item))
	}
	for _, p := range n.Pairs {
		parts = append(parts, keyText(p.Key.Value, true)+": "+flowNode(p.Value))
	}
	switch {
	case n.Kind == List:
		return "[" + strings.Join(parts, ", ") + "]"
	case n.Kind == Mapping && len(parts) > 0:
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return n.Flow()
}

// keyText writes a key. What a key looks like does not matter: it is a name.
func keyText(key string, flow bool) string {
	return scalarText(&Wanted{Value: key, Loose: true}, flow, 0)
}

// scalarText writes a text on one line so that it reads back as what it is.
func scalarText(w *Wanted, flow bool, style yaml.Style) string {
	quotable := isPrintable(w.Value) && !strings.ContainsAny(w.Value, "\u2028\u2029\u0085")
	switch {
	case w.Bare:
		return w.Value
	case style&yaml.DoubleQuotedStyle != 0:
		return quote(w.Value)
	case style&yaml.SingleQuotedStyle != 0 && quotable && !strings.ContainsAny(w.Old.Value, `"\`):
		return singleQuoted(w.Value)
	case isPlain(w.Value, w.Loose, flow):
		return w.Value
	case quotable && strings.ContainsAny(w.Value, `"\`):
		return singleQuoted(w.Value)
	}
	return quote(w.Value)
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

var (
	// otherType finds what some readers of YAML take for something else than a text.
	otherType = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[-+]?[0-9.][0-9_.,]*(e[-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`)
	// unplain finds what a text without quotes cannot begin with, hold or end with.
	unplain     = regexp.MustCompile("^[-?:,\\[\\]{}#&*!|>'\"%@`=~<\\s\u00a0\u3000]|: |:$| #|\\t|\\s$|\\{\\{")
	unplainFlow = regexp.MustCompile(`[,\[\]{}?]|:[^ \w/]`)
)

// isPlain reports whether a text needs no quotes. Loose texts may look like numbers.
func isPlain(s string, loose, flow bool) bool {
	if s == "" || !isPrintable(s) || !utf8.ValidString(s) || strings.ContainsAny(s, "\u2028\u2029") {
		return false
	}
	tag := (&yaml.Node{Kind: yaml.ScalarNode, Value: s}).ShortTag()
	if loose {
		if tag == "!!int" {
			return true // also a negative one
		}
		return tag != "!!null" && tag != "!!merge" && !unplain.MatchString(s) && !(flow && unplainFlow.MatchString(s))
	}
	return tag == "!!str" && !otherType.MatchString(s) && !unplain.MatchString(s) && !(flow && unplainFlow.MatchString(s))
}

// blockLines returns the lines of a text as they stand in a block, with the block's mark, or nil
// for a text that a block cannot hold.
func blockLines(s string) (lines []string, mark string) {
	text, newline := strings.CutSuffix(s, "\n")
	lines = strings.Split(text, "\n")
	if lines[0] == "" || lines[0][0] == ' ' || lines[0][0] == '\t' || !isPrintable(strings.ReplaceAll(text, "\n", "")) || strings.ContainsAny(text, "\r\u2028\u2029") || !utf8.ValidString(s) {
		return nil, ""
	}
	// The end of a line could not be seen, nor be told from an empty line.
	if slices.ContainsFunc(lines, func(line string) bool { return strings.TrimRight(line, " \t") != line }) || lines[len(lines)-1] == "" {
		return nil, ""
	}
	if newline {
		return lines, "|"
	}
	return lines, "|-"
}

// cut returns the text of a node as if it stood alone.
func (f *File) cut(y *yaml.Node) string {
	p := printer{file: f, ends: make(map[*yaml.Node]int)}
	start, end := f.offset(y.Line, y.Column), p.end(y)
	if isBlock(y) {
		// A comment in its last line is about its last entry.
		if i := strings.IndexByte(f.Text[end:], '\n'); i >= 0 {
			end += i
		} else {
			end = len(f.Text)
		}
		end = start + len(strings.TrimRight(f.Text[start:end], " \t\r"))
	}
	lines := strings.Split(strings.ReplaceAll(f.Text[start:max(start, end)], "\r\n", "\n"), "\n")
	indent := y.Column - 1
	if y.Kind == yaml.ScalarNode || y.Style&yaml.FlowStyle != 0 {
		indent = leastIndent(lines[1:]) - 2
	}
	for i, line := range lines[1:] {
		text := strings.TrimLeft(line, " ")
		lines[i+1] = pad(max(0, len(line)-len(text)-indent)) + text
		if text == "" {
			lines[i+1] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// isBlock reports whether a value is a list or mapping without brackets.
func isBlock(y *yaml.Node) bool {
	return (y.Kind == yaml.MappingNode || y.Kind == yaml.SequenceNode) && y.Style&yaml.FlowStyle == 0
}

func leastIndent(lines []string) int {
	least := -1
	for _, line := range lines {
		if text := strings.TrimLeft(line, " "); trim(text) != "" && (least < 0 || len(line)-len(text) < least) {
			least = len(line) - len(text)
		}
	}
	return max(least, 0)
}
