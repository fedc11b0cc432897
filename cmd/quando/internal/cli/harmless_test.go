package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", `Olá, "João" 👨‍👩‍👧 é`, `Olá, "João" 👨‍👩‍👧 é`},
		{"colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"title", "\x1b]0;owned\x07", `\x1b]0;owned\a`},
		{"eight-bit escape", "\u009b2J", `\u009b2J`},
		{"rubout", "a\x7fb", `a\x7fb`},
		{"lines", "one\r\ntwo\tthree", `one\r\ntwo\tthree`},
		{"turned around", "\u202egnp.exe", `\u202egnp.exe`},
		{"another kind of line", "a\u2028b", `a\u2028b`},
		{"not UTF-8", "a\xff\x9bb", `a\xff\x9bb`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Harmless(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name, in string
		to       int
		want     string
	}{
		{"fits", "away-reply", 10, "away-reply"},
		{"one too many", "away-replys", 10, "away-repl…"},
		{"accents are one column", "ação!", 5, "ação!"},
		{"a mark of its own takes none", "a\u0301bc", 3, "a\u0301bc"},
		{"wide characters take two", "日本語", 6, "日本語"},
		{"wide and too many", "日本語", 5, "日本…"},
		{"half of a wide one is none of it", "日本語", 4, "日…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Truncate(c.in, c.to)
			if got != c.want || Width(got) > c.to {
				t.Errorf("got %q (%d columns), want %q", got, Width(got), c.want)
			}
		})
	}
	if got := Truncate("a"+strings.Repeat("\u0301", 10000), 10); len(got) > 200 {
		t.Errorf("ten thousand marks leave %d bytes", len(got))
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, in string
		to       int
		want     []string
	}{
		{"a pipe", "as long as it likes", 0, []string{"as long as it likes"}},
		{"it fits", "one two", 7, []string{"one two"}},
		{"between words", "one two three", 8, []string{"one two", "three"}},
		{"a long word", "abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"wide characters", "日本語", 4, []string{"日本", "語"}},
		{"nothing", "", 10, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Wrap(c.in, c.to); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
