// Package plain reads and writes JSON without a schema: objects are map[string]any, numbers
// float64, as in encoding/json, in one pass and without reflection.
package plain

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Deepest bounds the nesting of lists and objects.
const Deepest = 1000

// maxSubnormals bounds the subnormal numbers of a document. Each takes a hundred times as long to
// parse as another.
const maxSubnormals = 1000

// Decode reads a JSON value. What follows it must be white space.
func Decode[T string | []byte](src T) (any, error) {
	d := decoder{src: string(src)}
	v, err := d.value(0)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeObject reads a JSON object, or null, which is nil.
func DecodeObject[T string | []byte](src T) (map[string]any, error) {
	v, err := Decode(src)
	if err != nil || v == nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	return object, nil
}

// ErrNoObject says that a document is something else than an object.
var ErrNoObject = errors.New("it is not a JSON object")

// A Member is one of an object.
type Member struct {
	Name string
	Raw  string // its value as it is written

	text   string
	isText bool
	value  any // of what is no text
}

// Text returns the value where it is a text; otherwise it is empty.
func (m Member) Text() string { return m.text }

// Value returns the value.
func (m Member) Value() any {
	if m.isText {
		return m.text
	}
	return m.value
}

// Members reads a JSON object member by member, in their order.
func Members(src []byte, member func(m Member) error) error {
	d := decoder{src: string(src)}
	if d.next() != '{' {
		return ErrNoObject
	}
	err := d.members(func(name string) error {
		m := Member{Name: name, isText: d.next() == '"'}
		from := d.at
		var err error
		if m.isText {
			m.text, err = d.text()
		} else {
			m.value, err = d.value(1)
		}
		if err != nil {
			return err
		}
		m.Raw = d.src[from:d.at]
		return member(m)
	})
	if err != nil {
		return err
	}
	return d.end()
}

// A decoder stands somewhere in a text. Strings are parts of it wherever they are written as they
// are.
type decoder struct {
	src string
	at  int

	// begun holds the first entries of open objects and lists: most are allocated at their final size
	// when they end.
	begun [32]entry
	count int

	lately [16]any // texts
	tiny   int     // numbers that were read
}

// An entry is a member of an object, or an item of a list, which has no name.
type entry struct {
	name  string
	value any
}

// pushEntry holds an entry until its object or list ends. It reports false if there are too many.
func (d *decoder) pushEntry(name string, value any) bool {
	if d.count == len(d.begun) {
		return false
	}
	d.begun[d.count] = entry{name, value}
	d.count++
	return true
}

// popEntries returns and removes the entries held since from.
func (d *decoder) popEntries(from int) []entry {
	entries := d.begun[from:d.count]
	d.count = from
	return entries
}

// space skips white space.
func (d *decoder) space() {
	for d.at < len(d.src) {
		switch d.src[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// next skips white space and returns the next byte; 0 at the end.
func (d *decoder) next() byte {
	d.space()
	if d.at < len(d.src) {
		return d.src[d.at]
	}
	return 0
}

func (d *decoder) end() error {
	if d.space(); d.at < len(d.src) {
		return fmt.Errorf("something follows it at byte %d", d.at)
	}
	return nil
}

func (d *decoder) problem() error {
	if d.at >= len(d.src) {
		return errors.New("it breaks off")
	}
	return fmt.Errorf("there is %q at byte %d where it should not be", d.src[d.at], d.at)
}

// value reads a value at a nesting depth.
func (d *decoder) value(depth int) (any, error) {
	if depth > Deepest {
		return nil, fmt.Errorf("more than %d lists and objects inside of each other", Deepest)
	}
	switch c := d.next(); c {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		s, err := d.text()
		return d.boxed(s), err
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return d.number()
		}
		return nil, d.problem()
	}
}

// boxed returns a text as a value. It shares equal texts: a document repeats ids and times.
func (d *decoder) boxed(s string) any {
	if s == "" {
		return s
	}
	v := &d.lately[(len(s)+int(s[len(s)-1]))%len(d.lately)]
	if *v != s {
		*v = s
	}
	return *v
}

func (d *decoder) object(depth int) (any, error) {
	var object map[string]any
	from := d.count
	err := d.members(func(name string) error {
		v, err := d.value(depth + 1)
		if object == nil && d.pushEntry(name, v) {
			return err
		}
		object = d.objectOf(object, from)
		object[name] = v
		return err
	})
	if err != nil {
		return nil, err
	}
	return d.objectOf(object, from), nil
}

// objectOf makes the object of the members that were kept, where it is not made yet.
func (d *decoder) objectOf(object map[string]any, from int) map[string]any {
	if object == nil {
		object = make(map[string]any, d.count-from)
		for _, m := range d.popEntries(from) {
			object[m.name] = m.value
		}
	}
	return object
}

// members reads the members of an object that begins here.
func (d *decoder) members(member func(name string) error) error {
	d.at++
	if d.next() == '}' {
		d.at++
		return nil
	}
	for {
		if d.next() != '"' {
			return d.problem()
		}
		name, err := d.text()
		if err != nil {
			return err
		}
		if d.next() != ':' {
			return d.problem()
		}
		d.at++
		if err := member(name); err != nil {
			return err
		}
		switch d.next() {
		case ',':
			d.at++
		case '}':
			d.at++
			return nil
		default:
			return d.problem()
		}
	}
}

func (d *decoder) list(depth int) (any, error) {
	d.at++
	if d.next() == ']' {
		d.at++
		return emptyList, nil
	}
	var list []any
	from := d.count
	for {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if list != nil || !d.pushEntry("", v) {
			list = append(d.listOf(list, from), v)
		}
		switch d.next() {
		case ',':
			d.at++
		case ']':
			d.at++
			return d.listOf(list, from), nil
		default:
			return nil, d.problem()
		}
	}
}

// listOf makes the list of the items that were kept, where it is not made yet.
func (d *decoder) listOf(list []any, from int) []any {
	if list == nil {
		list = make([]any, 0, d.count-from)
		for _, item := range d.popEntries(from) {
			list = append(list, item.value)
		}
	}
	return list
}

// emptyList is the empty list; it is immutable.
var emptyList any = []any{}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(d.src[d.at:], w) {
		return fmt.Errorf("there is no %s at byte %d", w, d.at)
	}
	d.at += len(w)
	return nil
}

// number reads a number: digits without zeros before them, perhaps a fraction and an exponent.
func (d *decoder) number() (any, error) {
	from := d.at
	if d.src[d.at] == '-' {
		d.at++
	}
	if d.at < len(d.src) && d.src[d.at] == '0' {
		d.at++
	} else if d.digits() == 0 {
		return nil, d.problem()
	}
	if d.at < len(d.src) && d.src[d.at] == '.' {
		d.at++
		if d.digits() == 0 {
			return nil, d.problem()
		}
	}
	if d.at < len(d.src) && (d.src[d.at] == 'e' || d.src[d.at] == 'E') {
		d.at++
		if d.at < len(d.src) && (d.src[d.at] == '+' || d.src[d.at] == '-') {
			d.at++
		}
		if d.digits() == 0 {
			return nil, d.problem()
		}
	}
	text := d.src[from:d.at]
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is too large", text)
	}
	if len(text) > len("0.000") && math.Abs(f) < 0x1p-1022 && isTiny(text) {
		if d.tiny++; d.tiny > maxSubnormals {
			return nil, fmt.Errorf("more than %d numbers as small as %.40s", maxSubnormals, text)
		}
	}
	return f, nil
}

// isTiny reports whether a number is not 0 itself, but has an exponent that makes it so, or nearly.
func isTiny(text string) bool {
	at := strings.IndexAny(text, "eE")
	return at >= 0 && strings.ContainsAny(text[:at], "123456789")
}

func (d *decoder) digits() (n int) {
	for d.at < len(d.src) && d.src[d.at] >= '0' && d.src[d.at] <= '9' {
		d.at++
		n++
	}
	return n
}
