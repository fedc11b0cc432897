package editor

import (
	"regexp"
	"slices"
	"strings"
)

// A place is where the cursor stands in a file.
type place struct {
	path   []string // the keys on the way, with [] for an item of a list
	key    bool     // a key could stand here; otherwise a value
	before string   // what stands before the cursor in the line
	word   string   // what stands before it of the key or the value
}

var (
	dashes   = regexp.MustCompile(`^( *)((?:- +)*)(- *$)?`)
	dash     = regexp.MustCompile(`- *`)
	block    = regexp.MustCompile(`^[|>][-+0-9]*\s*(?:#.*)?$`) // a text begins in the next line
	keyStart = regexp.MustCompile(`^("[^"]*"|[\w.-]+)\s*:(?:\s+|$)`)
)

// A level is a key, or an item of a list, with how far it is indented.
type level struct {
	indent int
	name   string
}

// placeAt finds out where the cursor stands, by indentation alone.
func placeAt(text string, line, column int) place {
	lines := strings.Split(text, "\n")
	line = min(max(line, 1), len(lines))
	current := []rune(lines[line-1])
	before := string(current[:min(max(column-1, 0), len(current))])
	var stack []level
	inText, within := false, func(l string) bool { // the lines of a text in a block are no keys
		return len(l)-len(strings.TrimLeft(l, " ")) > top(stack).indent
	}
	for _, l := range linesAbove(lines[:line-1]) {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") || inText && within(l) {
			continue
		}
		var rest string
		stack, rest, _ = descend(stack, l)
		inText = len(stack) > 0 && block.MatchString(rest)
	}
	p := place{before: before}
	if inText && within(before) {
		p.word = strings.TrimLeft(before, " ")
		p.setPath(stack)
		return p
	}
	stack, rest, hasKey := descend(stack, before)
	p.word, p.key = rest, !hasKey
	p.setPath(stack)
	p.flow(rest)
	return p
}

// linesAbove returns the lines that a place depends on: the last key at the margin and, of a list
// below it, the last item. So the time does not grow with the file.
func linesAbove(lines []string) []string {
	start := len(lines) - 1
	for start > 0 && !topKey.MatchString(lines[start]) {
		start--
	}
	item := func(l string) int { // how far an item is indented
		if body := strings.TrimLeft(l, " "); strings.HasPrefix(body, "- ") || body == "-" {
			return len(l) - len(body)
		}
		return -1
	}
	if start < 0 || !strings.HasPrefix(lines[start], "rules:") && !strings.HasPrefix(lines[start], "tests:") {
		return lines[max(start, 0):]
	}
	first := slices.IndexFunc(lines[start:], func(l string) bool { return item(l) >= 0 })
	if first < 0 {
		return lines[start:]
	}
	last := len(lines) - 1
	for item(lines[last]) != item(lines[start+first]) {
		last--
	}
	return append([]string{lines[start]}, lines[last:]...)
}

func (p *place) setPath(stack []level) {
	for _, l := range stack {
		p.path = append(p.path, l.name)
	}
}

// descend returns the levels after a line, and what stands in it behind its dashes and its key.
func descend(stack []level, line string) (_ []level, rest string, hasKey bool) {
	stack = append([]level{}, stack...)
	m := dashes.FindStringSubmatch(line)
	indent := len(m[1])
	for _, one := range dash.FindAllString(m[2]+m[3], -1) {
		for len(stack) > 0 && (top(stack).indent > indent || top(stack).indent == indent && top(stack).name == "[]") {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, level{indent, "[]"})
		indent += len(one)
	}
	rest = line[len(m[0]):]
	for len(stack) > 0 && (top(stack).indent > indent || top(stack).indent == indent && top(stack).name != "[]") {
		stack = stack[:len(stack)-1]
	}
	if k := keyStart.FindStringSubmatch(rest); k != nil {
		return append(stack, level{indent, strings.Trim(k[1], `"`)}), rest[len(k[0]):], true
	}
	return stack, rest, false
}

func top(stack []level) level { return stack[len(stack)-1] }

// flow goes into mappings and lists that are written in the line itself: { times: 1, per: 12h }.
func (p *place) flow(rest string) {
	type part struct {
		open  rune
		start int // behind the bracket, or the last comma
	}
	var parts []part
	quote := rune(0)
	for i, r := range rest {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '[':
			if len(parts) > 0 {
				p.enter(rest[parts[len(parts)-1].start:i])
			}
			if r == '[' {
				p.path = append(p.path, "[]")
			}
			parts = append(parts, part{r, i + 1})
		case (r == '}' || r == ']') && len(parts) > 0:
			return // the rest is ignored
		case r == ',' && len(parts) > 0:
			parts[len(parts)-1].start = i + 1
		}
	}
	if len(parts) == 0 {
		return
	}
	last := parts[len(parts)-1]
	inner := strings.TrimLeft(rest[last.start:], " ")
	p.word, p.key = inner, last.open == '{'
	if last.open == '{' {
		if k := keyStart.FindStringSubmatch(inner); k != nil {
			p.path, p.word, p.key = append(p.path, k[1]), inner[len(k[0]):], false
		}
	}
}

// enter goes through the key that a bracket stands behind.
func (p *place) enter(text string) {
	if k := keyStart.FindStringSubmatch(strings.TrimLeft(text, " ")); k != nil {
		p.path = append(p.path, k[1])
	}
}

// expression reports whether the cursor stands in an expression: as a value that is one, or between
// {{ and }} in a text.
func (p *place) expression(c *Completer) bool {
	if at := strings.LastIndex(p.before, "{{"); at >= 0 && !strings.Contains(p.before[at:], "}}") {
		return true
	}
	if p.key && lastOf(p.path, 0) != "[]" {
		return false
	}
	if p.key && !isCondition(p.path) {
		return false
	}
	return c.holdsExpression(p.path)
}

// holdsExpression reports whether what stands at a path is an expression, or a list of them.
func (c *Completer) holdsExpression(path []string) bool {
	path = withoutItems(path)
	if isCondition(path) {
		return true
	}
	a := c.argumentAt(path)
	return a != nil && a.Kind == "expression"
}

// isCondition reports whether a path is that of a key that always holds an expression.
func isCondition(path []string) bool {
	last := lastOf(withoutItems(path), 0)
	return len(path) > 0 && path[0] != "tests" && (last == "if" || last == "by")
}

// withoutItems returns a path without the items of lists at its end.
func withoutItems(path []string) []string {
	for len(path) > 0 && path[len(path)-1] == "[]" {
		path = path[:len(path)-1]
	}
	return path
}
