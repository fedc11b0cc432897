// Package source reads YAML with every position kept, reports problems with their position, and
// writes files back in one canonical form with their comments.
//
// It is the only package that knows the YAML library.
package source

import (
	"errors"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/quandohq/quando/rules/phrases"
)

// Bounds on one file. They keep the cost of reading it small whatever it holds.
const (
	MaxBytes  = 256 << 10 // of a file, and of its texts after aliases are expanded
	maxValues = 32 << 10  // after aliases are expanded
	maxDepth  = 64        // of nesting
)

// A Kind says what a Node is.
type Kind int

// The kinds of nodes. An alias has the kind of what it stands for.
const (
	Null Kind = iota
	Scalar
	List
	Mapping
)

// String names the kind the way a message to a person does.
func (k Kind) String() string { return k.In(phrases.English) }

// In names the kind in a language.
func (k Kind) In(l phrases.Language) string {
	return [...]phrases.Word{"nothing", "a value", "a list", "a mapping"}[k].In(l)
}

// A Node is one value of a file. Scalars keep their text as written: what it means is up to the
// reader.
type Node struct {
	Kind   Kind
	Value  string  // of a Scalar
	Quoted bool    // the scalar is in quotes or in a block, so it is a text whatever it looks like
	Items  []*Node // of a List
	Pairs  []Pair  // of a Mapping, in the order of the file
	Broken bool    // a Mapping with unreadable keys, which have been reported
	Line   int     // from 1
	Column int     // from 1, in characters

	file  *File
	yaml  *yaml.Node
	alias *yaml.Node // the alias that is written there
}

// A Pair is one key of a mapping with its value.
type Pair struct {
	Key   *Node
	Value *Node
}

// Text returns a scalar that did not come from YAML, such as an environment variable. The name
// takes the place of a file's, and problems do not quote the value.
func Text(name, value string) *Node {
	return &Node{Kind: Scalar, Value: value, Quoted: true, Line: 1, Column: 1, file: &File{Name: name}}
}

// File returns the name of the node's file.
func (n *Node) File() string { return n.file.Name }

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, p := range n.Pairs {
		if p.Key.Value == key {
			return p.Value
		}
	}
	return nil
}

// IsText reports whether the scalar can only be a text: quoted, or no number, bool or date.
func (n *Node) IsText() bool {
	return n.Kind == Scalar && (n.Quoted || n.yaml.ShortTag() == "!!str")
}

// Bool returns the value of a scalar that is true or false.
func (n *Node) Bool() (value, ok bool) {
	if n.Kind != Scalar || n.Quoted {
		return false, false
	}
	switch strings.ToLower(n.Value) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// leadingZero matches what YAML takes for a number, and people do not: 0119.
var leadingZero = regexp.MustCompile(`^[-+]?0[0-9]`)

// Any returns the node as plain Go data: nil, bool, int, float64, string, []any and map[string]any.
func (n *Node) Any() any {
	switch n.Kind {
	case Scalar:
		if b, ok := n.Bool(); ok {
			return b
		}
		if n.Quoted {
			return n.Value
		}
		// A leading zero marks a code or a phone number, not a count.
		if i, err := strconv.Atoi(n.Value); err == nil && strconv.Itoa(i) == n.Value {
			return i
		}
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && n.yaml.ShortTag() == "!!float" && !leadingZero.MatchString(n.Value) {
			return f
		}
		return n.Value
	case List:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = item.Any()
		}
		return out
	case Mapping:
		out := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			out[p.Key.Value] = p.Value.Any()
		}
		return out
	}
	return nil
}

// A File is one YAML file that was read.
type File struct {
	Name string
	Text string
	Root *Node // nil when the file holds nothing

	mark     string // a byte order mark in front of the text
	problems Problems
	lines    []int         // the offset at which each line starts
	wide     map[int][]int // see wideLine
	document *yaml.Node
}

// Read parses one file. The File is never nil, so that problems can be shown with their lines;
// its Root is nil when the text could not be read as YAML at all.
func Read(name string, text []byte) (*File, Problems) {
	f := &File{Name: name, Text: strings.TrimPrefix(string(text), "\ufeff")}
	f.mark = string(text[:len(text)-len(f.Text)])
	f.lines = lineStarts(f.Text)
	if p := f.bounds(); p != nil {
		return f, Problems{*p}
	}
	doc, p := f.parse()
	if p != nil {
		return f, Problems{*p}
	}
	f.document = doc
	if doc == nil || len(doc.Content) == 0 {
		return f, nil
	}
	r := reader{file: f}
	f.Root = r.node(doc.Content[0], 0)
	if r.tooLarge {
		f.Root = nil
	}
	f.problems = r.problems
	return f, r.problems
}

// bounds refuses what would be costly to parse before the parser sees it.
func (f *File) bounds() *Problem {
	if len(f.Text) > MaxBytes {
		return f.problem(1, 1, phrases.Sprintf("the file has more than %d KiB", MaxBytes>>10), phrases.Sprintf("split it into several files"))
	}
	for i, r := range f.Text {
		if r == utf8.RuneError && !strings.HasPrefix(f.Text[i:], "\uFFFD") {
			line, column := f.position(i)
			return f.problem(line, column, phrases.Sprintf("the line is not valid UTF-8"), phrases.Sprintf("save the file as UTF-8"))
		}
		if unicode.IsControl(r) && r != '\n' && r != '\t' && !strings.HasPrefix(f.Text[i:], "\r\n") {
			line, column := f.position(i)
			return f.problem(line, column, phrases.Sprintf("the line holds the control character %U", r), phrases.Sprintf("take it out; inside double quotes it can be written as an escape"))
		}
	}
	values := 0
	for i := 0; i < len(f.Text); i++ {
		switch f.Text[i] {
		case ',', '[', '{', '\n':
			values++
		}
	}
	if values > maxValues {
		return f.problem(1, 1, phrases.Sprintf("the file holds more than %d values", maxValues), phrases.Sprintf("split it into several files"))
	}
	return nil
}

// questionMark finds a text in braces that ends in a question mark, which YAML takes for a key of
// another kind.
var questionMark = regexp.MustCompile(`\?\s*[},\]]`)

var (
	openBraces = regexp.MustCompile(`[-:]\s+\{\{`) // {{ without quotes: a mapping in a mapping, to YAML
	bareWord   = regexp.MustCompile(`^(\s*-\s+)([a-z_]+)\s*(?:#.*)?$`)
	// commaInCall is a call with a comma in it inside of { } or [ ], without quotes.
	commaInCall = regexp.MustCompile(`[{\[](?:[^'"]*[\s:\[{,])?(\w+\([^)]*,)`)
	plainKey    = regexp.MustCompile(`^(\s+)\w+:`)
)

var yamlLine = regexp.MustCompile(`^yaml: (?:line \d+: )?(.*)$`)

// parse runs the YAML parser and makes sure that there is one document only.
func (f *File) parse() (doc *yaml.Node, problem *Problem) {
	// The YAML library is no longer maintained and is known to panic on some malformed input.
	defer func() {
		if r := recover(); r != nil {
			doc, problem = nil, f.problem(1, 1, phrases.Sprintf("the file is not valid YAML"), nil)
		}
	}()
	doc, err := f.decode()
	switch second, more := errors.AsType[*secondDocument](err); {
	case more:
		return nil, f.problem(second.Line, max(second.Column, 1), phrases.Sprintf("a second document begins here; a file holds one"), phrases.Sprintf("put it into a file of its own"))
	case err != nil:
		return nil, f.yamlProblem(err)
	}
	return doc, nil
}

// secondDocument says where one begins.
type secondDocument yaml.Node

func (*secondDocument) Error() string { return "a second document" }

// decode runs the YAML parser, which may panic. It returns nil for a text that holds nothing.
func (f *File) decode() (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(f.Text))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		if holdsNothing(f.Text) || err.Error() == "EOF" {
			return nil, nil
		}
		return nil, err
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, (*secondDocument)(&second)
	} else if err.Error() != "EOF" {
		return nil, err
	}
	return &first, nil
}

// yamlProblem turns the parser's error into a Problem.
func (f *File) yamlProblem(err error) *Problem {
	message := yamlMessage(err)
	// The parser names the line where the construct began that it could not finish. The first line
	// with which the error appears is where a person finds the mistake.
	line := 1 + sort.Search(len(f.lines)-1, func(i int) bool {
		var n yaml.Node
		err := yaml.Unmarshal([]byte(f.Text[:f.lines[i+1]]), &n)
		return err != nil && yamlMessage(err) == message
	})
	text := f.Line(line)
	column := utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " \t")) + 1
	var hint *phrases.Message
	for _, near := range []int{line - 1, line} {
		if at := strings.Index(f.Line(near), "\u00a0"); at >= 0 {
			return f.problem(near, utf8.RuneCountInString(f.Line(near)[:at])+1, phrases.Sprintf("not valid YAML: %s", phrases.Word("here is a no-break space")), phrases.Sprintf("put a plain space in its place; web pages and word processors have others"))
		}
	}
	switch {
	case strings.Contains(text, "\t") && (strings.Contains(message, "cannot start any token") || strings.Contains(message, "tab character")):
		column = utf8.RuneCountInString(text[:strings.Index(text, "\t")]) + 1
		message, hint = "here is a tab", phrases.Sprintf("put spaces in its place, two for each level")
	case strings.Contains(message, "did not find expected") && commaInCall.MatchString(text):
		at := commaInCall.FindStringSubmatchIndex(text)
		column = utf8.RuneCountInString(text[:at[2]]) + 1
		message, hint = "in { } and [ ] the comma inside the brackets of a call ends the value", phrases.Sprintf("put single quotes around the whole expression")
	case f.wordAbove(line) != "":
		hint = phrases.Sprintf("put a colon behind %s in the line above", f.wordAbove(line))
	case strings.Contains(message, "mapping values are not allowed"):
		hint = phrases.Sprintf("put a text that holds \": \" in quotes, and begin the keys of one mapping in the same column")
	case strings.Contains(message, "end of stream"):
		message, hint = "a quote or a bracket is opened and never closed", nil
	case questionMark.MatchString(text) && strings.Contains(message, "did not find expected"):
		hint = phrases.Sprintf("put quotes around a text that ends in ?")
	case openBraces.MatchString(text) && strings.Contains(message, "did not find expected"):
		hint = phrases.Sprintf("a text that begins with {{ needs quotes around the whole of it")
	case strings.Contains(message, "did not find expected"):
		hint = phrases.Sprintf("look at the indentation, the brackets and the quotes of this line; quotes must go around the whole value")
	}
	return f.problem(line, column, phrases.Sprintf("not valid YAML: %s", phrases.Word(message)), hint)
}

// wordAbove returns the word that an item of the line above consists of, where a key of the same
// item follows it.
func (f *File) wordAbove(line int) string {
	word, key := bareWord.FindStringSubmatch(f.Line(line-1)), plainKey.FindStringSubmatch(f.Line(line))
	if word == nil || key == nil || len(word[1]) != len(key[1]) {
		return ""
	}
	return word[2]
}

// yamlMessage returns the parser's message without its name and its line.
func yamlMessage(err error) string {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return err.Error()
}

func (f *File) problem(line, column int, message, hint *phrases.Message) *Problem {
	p := Problem{File: f.Name, Line: line, Column: column, Severity: Error, Text: f.Line(line)}.Saying(message, hint)
	return &p
}

// Line returns the text of a line, counted from 1, without its end.
func (f *File) Line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	line := f.Text[f.lines[n-1]:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSuffix(line, "\r")
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// holdsNothing reports whether a text has only comments, document marks and empty lines.
func holdsNothing(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line != "---" && line != "..." && trim(line) != "" && !strings.HasPrefix(trim(line), "#") {
			return false
		}
	}
	return true
}

// trim takes YAML's white space off both ends; a no-break space is text.
func trim(s string) string { return strings.Trim(s, " \t\r\n") }
