package cli

import (
	"unicode"
	"unicode/utf8"

	"github.com/quandohq/quando/engine"
)

// Harmless returns a text as it may be shown on a terminal.
func Harmless(s string) string { return engine.Harmless(s) }

// wide are the characters that take two columns of a terminal.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x4dbf, 1}, {0x4e00, 0xa4cf, 1}, {0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// columns returns how many columns of a terminal a character takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Width returns how many columns of a terminal a text takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// Truncate shortens a text to a number of columns. Marks that stand above others take none, so
// their number is bounded too.
func Truncate(s string, to int) string {
	used, end, runes := 0, 0, 0
	for i, r := range s {
		w := columns(r)
		if runes++; used+w > to || runes > 4*to {
			return s[:end] + "…"
		}
		if used += w; used < to {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// Wrap breaks a text into lines of a number of columns, between words where it can. With no columns
// it stays one line.
func Wrap(s string, to int) (lines []string) {
	if to <= 0 || Width(s) <= to {
		return []string{s}
	}
	start, space, used := 0, -1, 0 // of the line: where it starts, its last space, its columns
	for i, r := range s {
		if used+columns(r) > to {
			end, next := i, i
			if space > start {
				end, next = space, space+1
			}
			lines = append(lines, s[start:end])
			start, space, used = next, -1, Width(s[next:i])
		}
		if r == ' ' {
			space = i
		}
		used += columns(r)
	}
	return append(lines, s[start:])
}
