package source

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/quandohq/quando/rules/phrases"
)

// A reader turns the parser's tree into Nodes: aliases are expanded within bounds, duplicate keys
// are reported.
type reader struct {
	file     *File
	problems Problems
	values   int
	bytes    int // of texts
	tooLarge bool
	aliases  []*yaml.Node // being expanded, to find one that holds itself
}

func (r *reader) report(y *yaml.Node, message, hint *phrases.Message) {
	r.problems = append(r.problems, *r.file.problem(y.Line, y.Column, message, hint))
}

func (r *reader) node(y *yaml.Node, depth int) *Node {
	n := &Node{Line: y.Line, Column: y.Column, file: r.file, yaml: y}
	if r.tooLarge {
		return n
	}
	r.values++
	if r.values > maxValues {
		r.tooLarge = true
		r.report(y, phrases.Sprintf("with its aliases expanded the file holds more than %d values", maxValues), phrases.Sprintf("repeat less, or split the file"))
		return n
	}
	if r.bytes += len(y.Value); r.bytes > MaxBytes {
		r.tooLarge = true
		r.report(y, phrases.Sprintf("with its aliases expanded the file has more than %d KiB of text", MaxBytes>>10), phrases.Sprintf("repeat less, or split the file"))
		return n
	}
	if depth > maxDepth {
		r.tooLarge = true
		r.report(y, phrases.Sprintf("nested more than %d levels deep", maxDepth), nil)
		return n
	}
	// YAML takes an unknown tag off the value: !Secret123 would be an empty text.
	if y.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(y.Tag, "!!") {
		hint := phrases.Sprintf("put quotes around a text that begins with !")
		if y.Tag == "!secret" || y.Tag == "!env_var" {
			hint = phrases.Sprintf("secrets stand in the configuration: http_request.headers has those of other systems")
		}
		r.report(y, phrases.Sprintf("the tag %s has no meaning here", y.Tag), hint)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.alias(y, depth)
	case yaml.ScalarNode:
		n.Value = y.Value
		n.Quoted = y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		n.Kind = Scalar
		if y.ShortTag() == "!!null" && !n.Quoted {
			n.Kind = Null
		}
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, r.node(item, depth+1))
		}
	case yaml.MappingNode:
		n.Kind = Mapping
		r.pairs(n, y, depth)
	}
	return n
}

func (r *reader) alias(y *yaml.Node, depth int) *Node {
	for _, open := range r.aliases {
		if open == y.Alias {
			r.report(y, phrases.Sprintf("the alias *%s holds itself", y.Value), nil)
			return &Node{Line: y.Line, Column: y.Column, file: r.file, yaml: y}
		}
	}
	r.aliases = append(r.aliases, y.Alias)
	n := r.node(y.Alias, depth+1)
	r.aliases = r.aliases[:len(r.aliases)-1]
	n.alias = y
	return n
}

func (r *reader) pairs(n *Node, y *yaml.Node, depth int) {
	seen := make(map[string]*yaml.Node, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			var hint *phrases.Message
			if y.Style&yaml.FlowStyle != 0 && key.Kind == yaml.MappingNode {
				hint = phrases.Sprintf("a text that begins with {{ needs quotes around it")
			}
			r.report(y.Content[i], phrases.Sprintf("a key must be a plain name"), hint)
			n.Broken = true
			continue
		}
		if key.ShortTag() == "!!merge" {
			r.report(key, phrases.Sprintf("merge keys (<<) are not supported"), phrases.Sprintf("repeat the keys, or use an alias for the whole value"))
			n.Broken = true
			continue
		}
		if first, ok := seen[key.Value]; ok {
			r.report(key, phrases.Sprintf("the key %q stands here a second time", key.Value), phrases.Sprintf("the first is in line %d", first.Line))
			continue
		}
		seen[key.Value] = key
		n.Pairs = append(n.Pairs, Pair{Key: r.node(key, depth+1), Value: r.node(value, depth+1)})
	}
}
