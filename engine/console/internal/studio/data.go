package studio

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/source"
)

// data shows a value of any shape: each text, number and flag in it as a chip, and a list of them
// as one. The path leads to its YAML.
func (w *writer) data(path, label, yaml string, scope sentence.Scope) []Chip {
	n, err := source.ParseValue(yaml)
	if err != nil {
		return []Chip{{Path: path, Picker: "hand", Label: label, Words: strings.TrimSpace(yaml), Value: yaml, Hand: true}}
	}
	return w.node(path+"/~data", label, n, scope)
}

// A part of data is named by its position, because names can be anything.
func (w *writer) node(path, label string, n *source.Node, scope sentence.Scope) (chips []Chip) {
	c := Chip{Path: path, Picker: "text", Label: label, Clear: true}
	inner := func(i int, name string, n *source.Node) {
		chips = append(chips, w.node(path+"/"+strconv.Itoa(i), label+" › "+name, n, scope)...)
	}
	isScalar := func(n *source.Node) bool { return n.Kind == source.Scalar }
	switch {
	case n.Kind == source.Mapping && len(n.Pairs) > 0:
		for i, p := range n.Pairs {
			inner(i, p.Key.Value, p.Value)
		}
		return chips
	case n.Kind == source.List && len(n.Items) > 0 && slices.IndexFunc(n.Items, func(n *source.Node) bool { return !isScalar(n) }) >= 0:
		for i, item := range n.Items {
			inner(i, strconv.Itoa(i+1), item)
		}
		return chips
	case n.Kind == source.List && len(n.Items) > 0:
		var said, values []string
		for _, item := range n.Items {
			text, hand := w.words(item.Value, scope)
			said, values, c.Hand = append(said, w.scalar(item, text)), append(values, item.Value), c.Hand || hand
		}
		c.Picker, c.Words, c.Value = "several", strings.Join(said, ", "), values
	case isScalar(n):
		c.Words, c.Hand = w.words(n.Value, scope)
		c.Words, c.Value = w.scalar(n, c.Words), n.Value
		switch n.Any().(type) {
		case bool:
			c.Picker, c.Values = "choice", w.flags()
		case string:
		default:
			c.Picker = "number"
		}
	default:
		c.Words = w.T("form.nothing")
	}
	return []Chip{c}
}

// scalar puts a flag into words.
func (w *writer) scalar(n *source.Node, words string) string {
	if _, ok := n.Any().(bool); ok {
		return w.Or("value.", n.Value)
	}
	return words
}

// changeData changes a part of data that is given as YAML; the rest of it keeps its text. A last
// segment with a plus adds a value of that name.
func changeData(at any, path []string, fn func(any) (any, error)) (any, error) {
	text, _ := at.(string)
	if text == "" {
		text = "{}"
	}
	file, problems := source.Read("", []byte(strings.ReplaceAll(text, "\r\n", "\n")+"\n"))
	if len(problems) > 0 || file.Root == nil {
		return nil, ErrEdit
	}
	root, err := wantedData(file.Root, path, fn)
	if err != nil || root == nil {
		return nil, err
	}
	out, err := file.Edit(root)
	if err != nil {
		return nil, ErrEdit
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// wantedData returns what a value becomes; nil is nothing.
func wantedData(n *source.Node, path []string, fn func(any) (any, error)) (*source.Wanted, error) {
	if len(path) == 0 {
		value, err := fn(n.Any())
		if err != nil || value == nil {
			return nil, err
		}
		return wantedValue(n, value)
	}
	w := &source.Wanted{Old: n, Kind: n.Kind}
	if name, ok := strings.CutPrefix(path[0], "+"); ok && n.Kind == source.Mapping {
		value, err := fn(nil)
		if err != nil {
			return nil, err
		}
		for _, p := range n.Pairs {
			w.Pairs = append(w.Pairs, source.WantedPair{Key: p.Key.Value, Value: source.Kept(p.Value)})
		}
		text, ok := value.(string)
		name = strings.Join(append([]string{name}, path[1:]...), "/")
		if !ok || name == "" || n.Get(name) != nil {
			return nil, ErrEdit
		}
		w.Pairs = append(w.Pairs, source.WantedPair{Key: name, Value: &source.Wanted{Kind: source.Scalar, Value: text, Loose: true}})
		return w, nil
	}
	k, err := strconv.Atoi(path[0])
	if err != nil || k < 0 || k >= max(len(n.Pairs), len(n.Items)) {
		return nil, ErrEdit
	}
	part := func(i int, n *source.Node) (*source.Wanted, error) {
		if i != k {
			return source.Kept(n), nil
		}
		return wantedData(n, path[1:], fn)
	}
	for i, p := range n.Pairs {
		value, err := part(i, p.Value)
		if err != nil {
			return nil, err
		}
		if value != nil {
			w.Pairs = append(w.Pairs, source.WantedPair{Key: p.Key.Value, Value: value})
		}
	}
	for i, item := range n.Items {
		value, err := part(i, item)
		if err != nil {
			return nil, err
		}
		if value != nil {
			w.Items = append(w.Items, value)
		}
	}
	return w, nil
}

// wantedValue returns a text or a list of texts in place of a value, of its type where they can be.
func wantedValue(n *source.Node, value any) (*source.Wanted, error) {
	switch v := value.(type) {
	case string:
		if n.Kind == source.Scalar && n.Value == v {
			return source.Kept(n), nil
		}
		return wantedScalar(n, v), nil
	case []any:
		w := &source.Wanted{Old: n, Kind: source.List, Short: true}
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, ErrEdit
			}
			like := n
			if len(n.Items) > 0 {
				like = n.Items[min(i, len(n.Items)-1)]
			}
			if at := slices.IndexFunc(n.Items, func(n *source.Node) bool { return n.Kind == source.Scalar && n.Value == text }); at >= 0 {
				w.Items = append(w.Items, source.Kept(n.Items[at]))
				continue
			}
			item := wantedScalar(like, text)
			item.Old = nil
			w.Items = append(w.Items, item)
		}
		return w, nil
	}
	return nil, ErrEdit
}

// wantedScalar returns a text, or a number or flag in place of one.
func wantedScalar(like *source.Node, text string) *source.Wanted {
	w := &source.Wanted{Old: like, Kind: source.Scalar, Value: text}
	if parsed, err := source.ParseValue(text); err == nil && parsed.Kind == source.Scalar && like.Kind == source.Scalar {
		_, isText := parsed.Any().(string)
		_, wasText := like.Any().(string)
		w.Bare = !isText && !wasText
	}
	return w
}
