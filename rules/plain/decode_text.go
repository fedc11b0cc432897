package plain

import (
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string that begins here. Most are as they are written.
func (d *decoder) text() (string, error) {
	from := d.at + 1
	at := from
	for at < len(d.src) && asWritten[d.src[at]] {
		at++
	}
	d.at = at
	if at == len(d.src) {
		return "", d.problem()
	}
	switch c := d.src[at]; {
	case c == '"':
		d.at++
		return d.src[from:at], nil
	case c < ' ':
		return "", d.problem()
	case c >= utf8.RuneSelf:
		if s, ok := d.accented(from); ok {
			return s, nil
		}
	}
	return d.escaped(from)
}

// accented reads the rest of a string that has letters of more than one byte, where it is as it is
// written too: without an escape, and every letter is one.
func (d *decoder) accented(from int) (string, bool) {
	at := d.at
	for at < len(d.src) && (asWritten[d.src[at]] || d.src[at] >= utf8.RuneSelf) {
		at++
	}
	if at == len(d.src) || d.src[at] != '"' || !utf8.ValidString(d.src[d.at:at]) {
		return "", false
	}
	d.at = at + 1
	return d.src[from:at], true
}

// asWritten marks the bytes that need no escape in a string.
var asWritten = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// escaped reads the rest of a string that has escapes.
func (d *decoder) escaped(from int) (string, error) {
	b := append(make([]byte, 0, d.at-from+32), d.src[from:d.at]...)
	for d.at < len(d.src) {
		switch c := d.src[d.at]; {
		case c == '"':
			d.at++
			return string(b), nil
		case c == '\\':
			var err error
			if b, err = d.escape(b); err != nil {
				return "", err
			}
		case c < ' ':
			return "", d.problem()
		case c < utf8.RuneSelf:
			b = append(b, c)
			d.at++
		default:
			r, n := utf8.DecodeRuneInString(d.src[d.at:])
			b = utf8.AppendRune(b, r) // what is no character becomes the sign for that
			d.at += n
		}
	}
	return "", d.problem()
}

// escape reads what a backslash begins.
func (d *decoder) escape(b []byte) ([]byte, error) {
	d.at++
	if d.at >= len(d.src) {
		return nil, d.problem()
	}
	c := d.src[d.at]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, ok := d.hex()
		if !ok {
			return nil, d.problem()
		}
		if utf16.IsSurrogate(r) {
			r = d.pair(r)
		}
		return utf8.AppendRune(b, r), nil
	default:
		return nil, d.problem()
	}
	d.at++
	return append(b, c), nil
}

// hex reads the u of an escape and the four digits behind it.
func (d *decoder) hex() (rune, bool) {
	if d.at+5 > len(d.src) {
		d.at = len(d.src)
		return 0, false
	}
	var r rune
	for i := 1; i <= 4; i++ {
		c := d.src[d.at+i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			d.at += i
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	d.at += 5
	return r, true
}

// pair reads the second half of a surrogate pair; U+FFFD replaces an unpaired half.
func (d *decoder) pair(first rune) rune {
	if d.at+1 < len(d.src) && d.src[d.at] == '\\' && d.src[d.at+1] == 'u' {
		before := d.at
		d.at++
		if second, ok := d.hex(); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r
			}
		}
		d.at = before
	}
	return utf8.RuneError
}
