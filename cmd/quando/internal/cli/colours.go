package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// A Palette colours words on a terminal, and leaves them plain in a pipe.
type Palette bool

// Colours decides whether w is a terminal that shows colours.
func Colours(w io.Writer) Palette {
	return os.Getenv("NO_COLOR") == "" && Palette(IsTerminal(w))
}

// IsTerminal reports whether w is a terminal that can do more than to write one line after another.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// LineWidth returns how many columns a terminal has; 0 if w is none, and lines have no end.
func LineWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 40)
}

func (p Palette) paint(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold paints a text bold.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim paints a text dim.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Red paints a text red.
func (p Palette) Red(s string) string { return p.paint("31", s) }

// Green paints a text green.
func (p Palette) Green(s string) string { return p.paint("32", s) }

// Yellow paints a text yellow.
func (p Palette) Yellow(s string) string { return p.paint("33", s) }

// Cyan paints a text cyan.
func (p Palette) Cyan(s string) string { return p.paint("36", s) }
