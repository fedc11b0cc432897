package source

import (
	"errors"
	"fmt"
	"strings"
)

// A Wanted is the target of an edit: what a value of a file should become. Unchanged parts keep
// their text.
type Wanted struct {
	Old  *Node // the existing value; nil if there is none
	Keep bool  // Old stays as it is, perhaps at another position

	Kind  Kind
	Value string       // of a Scalar
	Loose bool         // of a Scalar: it may be written without quotes although it looks like a number; of Null: nothing need be written
	Bare  bool         // of a Scalar: it must not be in quotes
	Items []*Wanted    // of a List
	Pairs []WantedPair // of a Mapping: the old ones in their order, with the others where they belong
	Short bool         // of a List or Mapping: on one line, if it is new and fits
	Apart bool         // of a List or Mapping: an empty line separates what is added

	YAML string // the value as text, in place of all of the above
}

// A WantedPair is a key of a mapping with what its value should become.
type WantedPair struct {
	Key   string
	Old   string // the existing key, if it differs
	Value *Wanted
}

// Kept returns the target that keeps a node as it is.
func Kept(n *Node) *Wanted { return &Wanted{Old: n, Keep: true} }

// In returns the same target for another node.
func (w *Wanted) In(n *Node) *Wanted {
	moved := *w
	moved.Old, moved.Keep = n, false
	if w.Keep {
		moved.YAML = w.Old.Text()
	}
	return &moved
}

// node returns what the YAML of a wanted value says.
func (w *Wanted) node() (*Node, error) {
	return ParseValue(w.YAML)
}

// ParseValue reads a value that is given as text. Its last line need not be ended.
func ParseValue(text string) (*Node, error) {
	f, problems := Read("", []byte(strings.ReplaceAll(text, "\r\n", "\n")+"\n"))
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("line %d: %s", problems[0].Line, problems[0].Message)
	case f.Root == nil:
		return nil, errors.New("there is no YAML: write null for nothing")
	}
	return f.Root, nil
}

// fulfilled reports whether a node equals the target.
func (w *Wanted) fulfilled(n *Node) bool {
	switch {
	case n == nil:
		return false
	case w.Keep:
		return Same(w.Old, n)
	case w.YAML != "":
		want, err := w.node()
		return err == nil && Same(want, n)
	case w.Kind != n.Kind:
		return false
	}
	switch w.Kind {
	case Scalar:
		_, isText := n.Any().(string)
		return n.Value == w.Value && (isText || w.Loose || w.Bare) && (!w.Bare || !n.Quoted)
	case List:
		if len(w.Items) != len(n.Items) {
			return false
		}
		for i, item := range w.Items {
			if !item.fulfilled(n.Items[i]) {
				return false
			}
		}
	case Mapping:
		if len(w.Pairs) != len(n.Pairs) || n.Broken {
			return false
		}
		for i, p := range w.Pairs {
			if p.Key != n.Pairs[i].Key.Value || !p.Value.fulfilled(n.Pairs[i].Value) {
				return false
			}
		}
	}
	return true
}

// Same reports whether two nodes have the same value, however they are written.
func Same(a, b *Node) bool {
	if a.Kind != b.Kind || a.Broken != b.Broken || len(a.Items) != len(b.Items) || len(a.Pairs) != len(b.Pairs) {
		return false
	}
	switch a.Kind {
	case Scalar:
		return a.Value == b.Value && a.Any() == b.Any()
	case List:
		for i := range a.Items {
			if !Same(a.Items[i], b.Items[i]) {
				return false
			}
		}
	case Mapping:
		for i := range a.Pairs {
			if a.Pairs[i].Key.Value != b.Pairs[i].Key.Value || !Same(a.Pairs[i].Value, b.Pairs[i].Value) {
				return false
			}
		}
	}
	return true
}

// Text returns the node as it is written, with its comments, or on one line where its text does not
// stand alone.
func (n *Node) Text() string {
	if n.Kind == Null || n.alias != nil || hasAnchors(n.yaml) {
		return n.Flow()
	}
	text := n.file.cut(n.yaml)
	if alone, err := ParseValue(text); err == nil && Same(n, alone) {
		return text
	}
	return n.Flow()
}

// Render writes a value that is a file of its own.
func Render(w *Wanted) ([]byte, error) {
	e := &editor{eol: "\n"}
	r := e.render(w, context{}, 0)
	if e.err != nil {
		return nil, e.err
	}
	out := strings.Join(append([]string{strings.TrimPrefix(r.first, " ")}, r.rest...), "\n") + "\n"
	out = strings.TrimPrefix(out, "\n")
	if f, problems := Read("", []byte(out)); len(problems) > 0 || !w.fulfilled(f.Root) {
		return nil, ErrEntangled
	}
	return []byte(out), nil
}
