package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/quandohq/quando/rules/editor"
)

// An encoding says what the characters of a position count.
type encoding string

// The encodings that can be agreed upon. UTF-16 is what counts without an agreement.
const (
	utf8Units  encoding = "utf-8"
	utf16Units encoding = "utf-16"
)

// A document is an open text. It never changes: an edit makes another one.
type document struct {
	uri     string
	file    string // its path
	version int
	text    string
	units   encoding

	starts []int // where lines begin, as the protocol counts them: \n, \r\n and \r end one
	lone   bool  // there is a \r without \n, which ends no line of a rule file
}

func newDocument(uri string, version int, text string, units encoding) *document {
	d := &document{uri: uri, file: fileOf(uri), version: version, text: text, units: units, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		lone := text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n')
		if text[i] == '\n' || lone {
			d.starts = append(d.starts, i+1)
		}
		d.lone = d.lone || lone
	}
	return d
}

// fileOf returns the path of a file's URI; of another one, a name in this folder.
func fileOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return filepath.Base(strings.ReplaceAll(uri, ":", "/"))
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // /C:/rules
		path = path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// uriOf returns the URI of a path.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// line returns a line, counted from 0, without its end.
func (d *document) line(n int) string {
	end := len(d.text)
	if n+1 < len(d.starts) {
		end = d.starts[n+1]
	}
	return strings.TrimRight(d.text[d.starts[n]:end], "\r\n")
}

// offset returns where a position is in the text. One beyond the end of a line or of the text is
// that end.
func (d *document) offset(p position) int {
	if p.Line < 0 || p.Line >= len(d.starts) {
		if p.Line < 0 {
			return 0
		}
		return len(d.text)
	}
	line := d.line(p.Line)
	return d.starts[p.Line] + d.bytes(line, p.Character)
}

// bytes returns how many bytes of a line a number of units are.
func (d *document) bytes(line string, units int) int {
	if units <= 0 {
		return 0
	}
	for i, r := range line {
		if units <= 0 {
			return i
		}
		units -= d.width(r)
	}
	return len(line)
}

// width returns how many units a character has.
func (d *document) width(r rune) int {
	if d.units == utf8Units {
		return utf8.RuneLen(r)
	}
	return utf16.RuneLen(r)
}

// position returns the position of an offset.
func (d *document) position(offset int) position {
	offset = min(max(offset, 0), len(d.text))
	low, high := 0, len(d.starts)
	for low+1 < high {
		if middle := (low + high) / 2; d.starts[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	units := 0
	for _, r := range d.text[d.starts[low]:offset] {
		if r != '\r' && r != '\n' {
			units += d.width(r)
		}
	}
	return position{low, units}
}

// place returns the line and the column of a position as the rules count them: from 1, in
// characters, where only \n ends a line.
func (d *document) place(p position) (line, column int) {
	before := d.text[:d.offset(p)]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// at returns the position of a line and a column, as the rules count them.
func (d *document) at(line, column int) position { return d.position(d.offsetAt(line, column)) }

// offsetAt returns the offset of a line and a column, as the rules count them.
func (d *document) offsetAt(line, column int) int {
	at := d.lineStart(line)
	for i := range d.text[at:] {
		if column <= 1 || d.text[at+i] == '\n' {
			return at + i
		}
		column--
	}
	return len(d.text)
}

// lineStart returns where a line begins that the rules count.
func (d *document) lineStart(line int) int {
	if !d.lone {
		return d.starts[min(max(line-1, 0), len(d.starts)-1)]
	}
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(d.text[at:], '\n')
		if next < 0 {
			return len(d.text)
		}
		at += next + 1
	}
	return at
}

// rangeOf returns where a symbol stands.
func (d *document) rangeOf(s editor.Symbol) textRange {
	return textRange{d.at(s.Line, s.Column), d.at(s.Line, s.Column+s.Length)}
}

// changed returns the document after edits.
func (d *document) changed(version int, changes []contentChange) *document {
	now := d
	for _, c := range changes {
		text := c.Text
		if c.Range != nil {
			from, to := now.offset(c.Range.Start), now.offset(c.Range.End)
			text = now.text[:from] + text + now.text[max(from, to):]
		}
		now = newDocument(d.uri, version, text, d.units)
	}
	if now == d {
		now = newDocument(d.uri, version, d.text, d.units)
	}
	return now
}
