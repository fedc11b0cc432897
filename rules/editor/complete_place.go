package editor

import (
	"regexp"
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
	for _, l := range lines[:line-1] {
		if trimmed := strings.TrimSpace(l); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			stack, _, _ = descend(stack, l)
		}
	}
	stack, rest, hasKey := descend(stack, before)
	p := place{before: before, word: rest, key: !hasKey}
	for _, l := range stack {
		p.path = append(p.path, l.name)
	}
	p.flow(rest)
	return p
}

// descend returns the levels after a line, and what stands in it behind its dashes and its key.
func descend(stack []level, line string) (_ []level, rest string, hasKey bool) {
	stack = append([]level{}, stack...)
	m := dashes.FindStringSubmatch(line)
	indent := len(m[1])
	for _, dash := range regexp.MustCompile(`- *`).FindAllString(m[2]+m[3], -1) {
		for len(stack) > 0 && (top(stack).indent > indent || top(stack).indent == indent && top(stack).name == "[]") {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, level{indent, "[]"})
		indent += len(dash)
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
	path := p.path
	for len(path) > 0 && path[len(path)-1] == "[]" {
		path = path[:len(path)-1]
	}
	last := lastOf(path, 0)
	if p.key && lastOf(p.path, 0) != "[]" {
		return false
	}
	if last == "if" || last == "by" {
		return true
	}
	a := c.argumentAt(path)
	return !p.key && a != nil && a.Kind == "expression"
}
