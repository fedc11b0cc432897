package main

import (
	"io"
	"os"
)

// A palette colours words on a terminal, and leaves them plain in a pipe.
type palette bool

// colours decides whether what is written to w is looked at by a person.
func colours(w io.Writer) palette {
	return os.Getenv("NO_COLOR") == "" && palette(isTerminal(w))
}

// isTerminal reports whether w is a terminal that can do more than to write one line after another.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p palette) paint(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string   { return p.paint("1", s) }
func (p palette) dim(s string) string    { return p.paint("2", s) }
func (p palette) red(s string) string    { return p.paint("31", s) }
func (p palette) green(s string) string  { return p.paint("32", s) }
func (p palette) yellow(s string) string { return p.paint("33", s) }
func (p palette) cyan(s string) string   { return p.paint("36", s) }
