package source

import (
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Position returns where in the file a byte offset of the node's value stands: in plain and quoted
// scalars, behind escapes and folded lines, and inside block scalars.
func (n *Node) Position(offset int) (line, column int) {
	places, _ := n.file.locate(n.yaml)
	if places == nil {
		return n.Line, n.Column
	}
	return n.file.position(places[min(max(offset, 0), len(places)-1)])
}

// position turns an offset in the file's text into a line and a column.
func (f *File) position(offset int) (line, column int) {
	line = sort.SearchInts(f.lines, offset+1)
	start := f.lines[line-1]
	if wide := f.wideLine(line); wide != nil {
		return line, sort.SearchInts(wide, offset-start) + 1
	}
	return line, offset - start + 1
}

// offset turns a line and a column into an offset in the file's text.
func (f *File) offset(line, column int) int {
	if line < 1 || line > len(f.lines) {
		return len(f.Text)
	}
	at := f.lines[line-1]
	if wide := f.wideLine(line); wide != nil {
		return at + wide[min(column-1, len(wide)-1)]
	}
	return min(at+column-1, len(f.Text))
}

// wideLine returns where each character of a line begins, in bytes, or nil for a line in which all
// are one byte long. It is worked out once for a line, since all of a file may stand in one.
func (f *File) wideLine(line int) []int {
	if wide, known := f.wide[line]; known {
		return wide
	}
	start, end := f.lines[line-1], len(f.Text)
	if line < len(f.lines) {
		end = f.lines[line]
	}
	var wide []int
	if text := f.Text[start:end]; utf8.RuneCountInString(text) != len(text) {
		for i := range text {
			wide = append(wide, i)
		}
		wide = append(wide, len(text))
	}
	if f.wide == nil {
		f.wide = make(map[int][]int)
	}
	f.wide[line] = wide
	return wide
}

// locate returns for each byte of a scalar's value, and for its end, the offset in the file's text
// where it stands, and the offset just behind the scalar. The places are nil when the value cannot
// be found in the text.
func (f *File) locate(y *yaml.Node) (places []int, end int) {
	at := f.skipProperties(f.offset(y.Line, y.Column))
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0:
		return f.locateDouble(y.Value, at+1)
	case y.Style&yaml.SingleQuotedStyle != 0:
		return f.align(y.Value, at+1, '\'')
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		header := strings.IndexByte(f.Text[at:], '\n')
		if header < 0 {
			return nil, len(f.Text)
		}
		places, end = f.align(y.Value, at+header+1, 0)
		if len(trim(y.Value)) == 0 {
			end = at + 1
		}
		return places, end
	}
	return f.align(y.Value, at, 0)
}

// skipProperties steps over an anchor and a tag in front of a node.
func (f *File) skipProperties(at int) int {
	for at < len(f.Text) && (f.Text[at] == '&' || f.Text[at] == '!') {
		for at < len(f.Text) && !isSpace(f.Text[at]) {
			at++
		}
		for at < len(f.Text) && isSpace(f.Text[at]) {
			at++
		}
	}
	return at
}

// align walks a value and the text that it was read from side by side. White space may differ
// between the two, since lines are folded and indented; everything else is the same but for a
// doubled quote in single quotes.
func (f *File) align(value string, at int, quote byte) (places []int, end int) {
	places = make([]int, 0, len(value)+1)
	for i := 0; i < len(value); i++ {
		if isSpace(value[i]) {
			places = append(places, at)
			if at < len(f.Text) && f.Text[at] == value[i] && value[i] != '\n' {
				at++
			}
			continue
		}
		for at < len(f.Text) && isSpace(f.Text[at]) {
			at++
		}
		if at >= len(f.Text) || f.Text[at] != value[i] {
			return nil, at
		}
		places = append(places, at)
		at++
		if quote != 0 && value[i] == quote {
			at++
		}
	}
	places = append(places, min(at, len(f.Text)))
	if quote != 0 {
		for at < len(f.Text) && isSpace(f.Text[at]) {
			at++
		}
		at++
	}
	return places, min(at, len(f.Text))
}

// locateDouble does the same for a double-quoted scalar, whose escapes stand for other characters.
func (f *File) locateDouble(value string, at int) (places []int, end int) {
	places = make([]int, 0, len(value)+1)
	text := f.Text
	for at < len(text) && text[at] != '"' {
		start := at
		size := 1 // bytes of the value that this piece of the text stands for
		switch {
		case text[at] == '\\' && at+1 < len(text):
			at, size = escape(text, at)
		case isSpace(text[at]):
			// A line's end and the white space around it stand for one space, or for the empty lines among
			// them.
			for at < len(text) && isSpace(text[at]) {
				at++
			}
			run := text[start:at]
			if size = len(run); strings.Contains(run, "\n") {
				size = max(1, strings.Count(run, "\n")-1)
			}
		default:
			at++
		}
		for range size {
			places = append(places, start)
		}
	}
	if len(places) != len(value) {
		places = nil
	} else {
		places = append(places, min(at, len(text)))
	}
	return places, min(at+1, len(text))
}

// escape returns the offset behind the escape at text[at] and the number of bytes that it stands
// for.
func escape(text string, at int) (next, size int) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[at+1]]
	if digits > 0 && at+2+digits <= len(text) {
		r := rune(0)
		for _, c := range text[at+2 : at+2+digits] {
			r = r<<4 | rune(strings.IndexRune("0123456789abcdef", c|0x20))
		}
		return at + 2 + digits, max(utf8.RuneLen(r), 1)
	}
	switch text[at+1] {
	case '\r', '\n': // an escaped line end joins the lines
		next = at + 1
		for next < len(text) && isSpace(text[next]) {
			next++
		}
		return next, 0
	case 'N', '_': // next line, no-break space
		return at + 2, 2
	case 'L', 'P': // line and paragraph separator
		return at + 2, 3
	}
	return at + 2, 1
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r'
}
