package source

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Flow writes the node in one line of YAML that reads back as the same: aliases are expanded, texts
// are quoted.
func (n *Node) Flow() string {
	var b strings.Builder
	n.flow(&b)
	return b.String()
}

func (n *Node) flow(b *strings.Builder) {
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Scalar:
		// Plain numbers keep their spelling, because what they mean is up to the reader: 1.10 may be a
		// text.
		switch tag := n.yaml.ShortTag(); {
		case !n.Quoted && (tag == "!!int" || tag == "!!float" || tag == "!!bool"):
			b.WriteString(n.Value)
		default:
			quoted, _ := json.Marshal(n.Value) // a string always has a JSON form
			b.WriteString(escaped(string(quoted)))
		}
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.flow(b)
		}
		b.WriteByte(']')
	case Mapping:
		b.WriteByte('{')
		for i, p := range n.Pairs {
			if i > 0 {
				b.WriteString(", ")
			}
			p.Key.flow(b)
			b.WriteString(": ")
			p.Value.flow(b)
		}
		b.WriteByte('}')
	}
}

// escaped writes what JSON takes as it is, and YAML does not, as escapes.
func escaped(s string) string {
	if isPrintable(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isPrintable(string(r)) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
