package source

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// A Part is a stretch of a text, in bytes.
type Part struct{ From, To int }

// A Redaction says what to take out of a text. Class and Parts are called once for each value of
// the text and each class that it has, however many aliases refer to it.
type Redaction struct {
	// Class returns the class of a key's value, given the class of the mapping. The root has class 0,
	// and there are at most 8 classes.
	Class func(above uint8, key string) uint8
	// Parts returns the parts of a value to take out, in order.
	Parts func(value string, class uint8) []Part
	// Comment returns a redacted comment, given its lines without their #. It keeps their number.
	Comment func(text string) string
	// Mark replaces what is taken out, once in each line.
	Mark string
}

// Redact takes parts out of the values and comments of a YAML text, and keeps its lines. It returns
// false when the text is not valid YAML or a value cannot be located in it.
func Redact(text string, c Redaction) (shown string, ok bool) {
	defer func() {
		if r := recover(); r != nil { // as in parse
			shown, ok = "", false
		}
	}()
	f := &File{Text: text, lines: lineStarts(text)}
	if f.bounds() != nil {
		return "", false
	}
	doc, err := f.decode()
	if err != nil {
		return "", false
	}
	b := &redactor{Redaction: c, file: f, seen: map[*yaml.Node]uint8{}, parts: map[*yaml.Node][]Part{}}
	if doc != nil && len(doc.Content) > 0 {
		b.walk(doc.Content[0], 0)
		if !b.places(doc.Content[0]) {
			return "", false
		}
	}
	b.comments()
	return b.apply(), true
}

// A redactor holds the state of one Redact call.
type redactor struct {
	Redaction
	file    *File
	seen    map[*yaml.Node]uint8 // classes that a node was visited with, as bits
	parts   map[*yaml.Node][]Part
	covered []Part // stretches of the text that are values, not comments
	splices []splice
}

// walk collects the parts of every value below a node. An alias gives its class to its anchor, so
// that a secret behind an alias is taken out where it is written.
func (b *redactor) walk(y *yaml.Node, class uint8) {
	bit := uint8(1) << (class & 7)
	if b.seen[y]&bit != 0 {
		return
	}
	b.seen[y] |= bit
	switch y.Kind {
	case yaml.AliasNode:
		b.walk(y.Alias, class)
	case yaml.ScalarNode:
		b.parts[y] = append(b.parts[y], b.Parts(y.Value, class)...)
	case yaml.SequenceNode:
		for _, item := range y.Content {
			b.walk(item, class)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			for key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			b.walk(y.Content[i], 0)
			b.walk(y.Content[i+1], b.Class(class, key.Value))
		}
	}
}

// places locates the values in the text, and turns their parts into splices.
func (b *redactor) places(y *yaml.Node) bool {
	for _, child := range y.Content {
		if !b.places(child) {
			return false
		}
	}
	if y.Kind != yaml.ScalarNode {
		return true
	}
	places, end := b.file.locate(y)
	if places == nil {
		return false
	}
	start := b.file.skipProperties(b.file.offset(y.Line, y.Column))
	if isBlockScalar(y) {
		header := strings.IndexByte(b.file.Text[start:], '\n')
		if header < 0 {
			return y.Value == ""
		}
		start += header // the header line may end with a comment
		end = max(end, start)
	}
	b.covered = append(b.covered, Part{start, end})
	for _, p := range b.parts[y] {
		if p.From == 0 && p.To == len(y.Value) {
			b.splices = append(b.splices, splice{start: start, end: end})
			break
		}
		b.splices = append(b.splices, splice{start: places[p.From], end: places[p.To]})
	}
	return true
}

// comments redacts comments. Comment lines that follow each other are handled as one text.
func (b *redactor) comments() {
	slices.SortFunc(b.covered, func(x, y Part) int { return cmp.Compare(x.From, y.From) })
	text, next := b.file.Text, 0
	var lines []Part // without their marks
	flush := func() {
		b.comment(lines)
		lines = nil
	}
	for at := 0; at < len(text); at++ {
		for next < len(b.covered) && b.covered[next].To <= at {
			next++
		}
		if next < len(b.covered) && at >= b.covered[next].From {
			at = b.covered[next].To - 1
			continue
		}
		if text[at] != '#' || at > 0 && !isSpace(text[at-1]) {
			continue
		}
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i
		}
		start := at + len(text[at:end]) - len(strings.TrimLeft(text[at:end], "#"))
		alone := trim(text[strings.LastIndexByte(text[:at], '\n')+1:at]) == ""
		if len(lines) > 0 && (!alone || trim(text[lines[len(lines)-1].To:at]) != "") {
			flush()
		}
		if lines = append(lines, Part{start, end}); !alone {
			flush()
		}
		at = end
	}
	flush()
}

func (b *redactor) comment(lines []Part) {
	if len(lines) == 0 {
		return
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = b.file.Text[l.From:l.To]
	}
	shown := strings.Split(b.Comment(strings.Join(texts, "\n")), "\n")
	for i, l := range lines {
		switch {
		case len(shown) != len(lines):
			b.splices = append(b.splices, splice{l.From, l.To, " " + b.Mark})
		case shown[i] != texts[i]:
			b.splices = append(b.splices, splice{l.From, l.To, shown[i]})
		}
	}
}

// apply returns the text with all splices made.
func (b *redactor) apply() string {
	slices.SortFunc(b.splices, func(x, y splice) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end)) })
	var out strings.Builder
	at := 0
	for _, s := range b.splices {
		if s.end <= at {
			continue // inside of a part that is already out
		}
		s.start = max(s.start, at)
		out.WriteString(b.file.Text[at:s.start])
		if s.text == "" {
			s.text = marked(b.file.Text[s.start:s.end], b.Mark)
		}
		out.WriteString(s.text)
		at = s.end
	}
	out.WriteString(b.file.Text[at:])
	return out.String()
}

// marked returns the text with a mark in place of each line's content.
func marked(text, mark string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if content := trim(line); content != "" {
			lines[i] = line[:strings.Index(line, content)] + mark
		}
	}
	return strings.Join(lines, "\n")
}
