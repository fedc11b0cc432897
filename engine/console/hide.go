package console

import (
	"regexp"
	"strings"
)

// The text need not be right, nor be read as YAML at all, so headers are found by how they look; more may be hidden than must be.
var (
	headersKey = regexp.MustCompile(`(?m)(?:^|[\s,{\[?-])(["']?headers["']?[ \t]*:)`)
	headersMap = regexp.MustCompile(`^\s*(?:[&!][^\s{]*\s+)*\{`) // in braces, behind the key
	headerName = regexp.MustCompile(`^ *["']?[A-Za-z0-9_-]+["']?[ \t]*:(?:\s|$)`)
)

// withoutHeaders hides the values of headers, which may be keys of other services.
func withoutHeaders(text string) string {
	var b strings.Builder
	from := 0
	for {
		at := headersKey.FindStringSubmatchIndex(text[from:])
		if at == nil {
			b.WriteString(text[from:])
			return b.String()
		}
		key, end := from+at[2], from+at[3]
		b.WriteString(text[from:end])
		column := key - (strings.LastIndex(text[:key], "\n") + 1)
		from = end
		if brace := headersMap.FindStringIndex(text[end:]); brace != nil {
			b.WriteString(" { ••• }")
			from += brace[1] + closing(text[end+brace[1]:])
			continue
		}
		shown, length := hideBlock(text[end:], column)
		b.WriteString(shown)
		from += length
	}
}

// closing returns where a mapping that has been opened is over: behind its brace, or at the end of the text.
func closing(text string) int {
	depth, quote := 1, rune(0)
	escaped := false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case quote == '"' && c == '\\':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.ContainsRune(" \t\n,{[:", rune(text[i-1]))):
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// hideBlock hides the rest of a line and those below it that stand further in than a column; comments and empty lines do not end them. It returns
// what is shown of how much.
func hideBlock(text string, column int) (shown string, length int) {
	var b strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		content := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case content == "" || i > 0 && indent <= column && content[0] == '#':
			b.WriteString(line)
		case i > 0 && indent <= column:
			return b.String(), length
		default:
			name := strings.Repeat(" ", indent)
			if i > 0 && headerName.MatchString(line) {
				name = line[:strings.Index(line, ":")] + ": "
			}
			b.WriteString(name + "•••")
			if strings.HasSuffix(line, "\n") {
				b.WriteString("\n")
			}
		}
		length += len(line)
	}
	return b.String(), length
}
