package form

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// Write returns the text of a rule file with a rule changed to what the form says. Only what
// differs from what Read gives of the same text is touched; comments stay with what they are about.
// The form may give the rule another id. What is written is read again and compared: a change that
// cannot be made without changing something else is an error.
func Write(c *rules.Catalog, text []byte, rule string, f Form) ([]byte, error) {
	file, err := Parse(text).Write(c, rule, f)
	if err != nil {
		return nil, err
	}
	return slices.Clone(file.text), nil
}

// Write is like the function, and returns the file as it is then.
func (f *File) Write(c *rules.Catalog, rule string, to Form) (*File, error) {
	n, err := f.find(rule)
	if err != nil {
		return nil, err
	}
	w := writer{newReader(c)}
	old := w.rule(n)
	if same(old, to) {
		return f, nil
	}
	to = to.filled()
	if err := check(c, to); err != nil {
		return nil, err
	}
	if to.ID != rule && holds(f.source, to.ID) {
		return nil, fmt.Errorf("the file holds another rule with the id %q: choose another id", to.ID)
	}
	out, err := editRules(f.source, func(item *source.Node) *source.Wanted {
		if item == n {
			return w.form(n, old, to)
		}
		return source.Kept(item)
	})
	if err != nil {
		return nil, err
	}
	written := Parse(out)
	if err := w.verify(written, to); err != nil {
		return nil, err
	}
	return written, nil
}

// Add returns the text of a rule file with one more rule, behind the others. The text may be empty.
func Add(c *rules.Catalog, text []byte, f Form) ([]byte, error) {
	f = f.filled()
	if err := check(c, f); err != nil {
		return nil, err
	}
	file, problems := source.Read("rules", text)
	if problems.HasErrors() {
		return nil, unreadable(problems[0])
	}
	if holds(file, f.ID) {
		return nil, fmt.Errorf("the file holds another rule with the id %q: choose another id", f.ID)
	}
	w := writer{newReader(c)}
	added := w.form(nil, Form{}, f)
	var out []byte
	var err error
	if file.Root == nil || file.Root.Kind == source.Null {
		out, err = source.Render(ruleFile(added))
		out = slices.Concat(text, out)
	} else {
		out, err = file.Edit(withRule(file.Root, added))
	}
	if err != nil {
		return nil, refused(err)
	}
	return out, w.verify(Parse(out), f)
}

// Remove returns the text of a rule file without a rule.
func Remove(text []byte, rule string) ([]byte, error) {
	file := Parse(text)
	n, err := file.find(rule)
	if err != nil {
		return nil, err
	}
	return editRules(file.source, func(item *source.Node) *source.Wanted {
		if item == n {
			return nil
		}
		return source.Kept(item)
	})
}

func holds(f *source.File, rule string) bool {
	return slices.ContainsFunc(ruleItems(f), func(item *source.Node) bool {
		id := item.Get("id")
		return id != nil && id.Value == rule
	})
}

// editRules changes the rules of a file, and nothing else. A rule without a target is removed.
func editRules(f *source.File, want func(*source.Node) *source.Wanted) ([]byte, error) {
	root := &source.Wanted{Old: f.Root, Kind: source.Mapping}
	for _, p := range f.Root.Pairs {
		value := source.Kept(p.Value)
		if p.Key.Value == "rules" {
			value = &source.Wanted{Old: p.Value, Kind: source.List}
			for _, item := range p.Value.Items {
				if w := want(item); w != nil {
					value.Items = append(value.Items, w)
				}
			}
		}
		root.Pairs = append(root.Pairs, source.WantedPair{Key: p.Key.Value, Value: value})
	}
	out, err := f.Edit(root)
	return out, refused(err)
}

// ruleFile returns the target for a file with one rule.
func ruleFile(rule *source.Wanted) *source.Wanted {
	list := &source.Wanted{Kind: source.List, Items: []*source.Wanted{rule}}
	return &source.Wanted{Kind: source.Mapping, Pairs: []source.WantedPair{{Key: "rules", Value: list}}}
}

// withRule returns the target for a file with one more rule.
func withRule(root *source.Node, rule *source.Wanted) *source.Wanted {
	list := &source.Wanted{Kind: source.List, Apart: true}
	if n := root.Get("rules"); n != nil {
		list.Old = n
		for _, item := range n.Items {
			list.Items = append(list.Items, source.Kept(item))
		}
	}
	list.Items = append(list.Items, rule)
	pairs := merge(root, map[string]*source.Wanted{"rules": list}, []string{"vars", "calendars", "rules", "tests"}, true)
	return &source.Wanted{Old: root, Kind: source.Mapping, Pairs: pairs, Apart: true}
}

// refused says what can be done about a change that cannot be made.
func refused(err error) error {
	if errors.Is(err, source.ErrEntangled) {
		return fmt.Errorf("the form cannot make this change: %w (change the YAML itself)", err)
	}
	return err
}

// verify compares what was written with what was wanted: what is read of it is the form again, or
// says the same in another way.
func (w writer) verify(written *File, f Form) error {
	got, err := written.find(f.ID)
	if err != nil {
		return err
	}
	if same(w.rule(got), f) {
		return nil
	}
	plain, err := source.Render(ruleFile(w.form(nil, Form{}, f)))
	if err != nil {
		return refused(err)
	}
	r := reader{catalog: w.catalog, yaml: (*source.Node).Flow, sorted: true}
	want, err := Parse(plain).find(f.ID)
	if err != nil {
		return err
	}
	if !same(r.rule(want), r.rule(got)) {
		return refused(source.ErrEntangled)
	}
	return nil
}

// filled returns the form without the YAML of empty keys whose field is set.
func (f Form) filled() Form {
	f.YAML = maps.Clone(f.YAML)
	maps.DeleteFunc(f.YAML, func(key, text string) bool {
		n, err := source.ParseValue(text)
		isEmpty := err == nil && n.Value == "" && len(n.Items) == 0 && len(n.Pairs) == 0 || err == nil && n.Kind == source.Null
		return isEmpty && f.isSet(key)
	})
	return f
}

// isSet reports whether a field says something.
func (f *Form) isSet(key string) bool {
	return f.field(key) != nil && !same(f.field(key), new(Form).field(key))
}

// A writer turns fields into what the nodes should become.
type writer struct{ reader }

// form returns the target for a rule, from a form. The node is nil for a new rule; old is the form
// it was read as.
func (w writer) form(n *source.Node, old, f Form) *source.Wanted {
	want := make(map[string]*source.Wanted)
	order := make([]string, len(rules.RuleKeys))
	for i, k := range rules.RuleKeys {
		order[i] = k.Name
		was := n.Get(k.Name)
		_, asYAML := old.YAML[k.Name]
		if _, isYAML := f.YAML[k.Name]; isYAML {
			continue
		}
		if !asYAML && same(old.field(k.Name), f.field(k.Name)) {
			if was != nil {
				want[k.Name] = source.Kept(was)
			}
			continue
		}
		if asYAML {
			was = nil // of another shape than its fields
		}
		if v := w.key(k.Name, was, old, f); v != nil {
			want[k.Name] = v
		}
	}
	for key, text := range f.YAML {
		if was := n.Get(key); was != nil && old.YAML[key] == text {
			want[key] = source.Kept(was)
		} else {
			want[key] = &source.Wanted{YAML: text}
		}
	}
	return &source.Wanted{Old: n, Kind: source.Mapping, Pairs: merge(n, want, order, false)}
}

// merge orders the pairs of a mapping: existing ones keep their order, and each new one goes behind
// the last that precedes it in order. With rest, it keeps pairs without a target.
func merge(n *source.Node, want map[string]*source.Wanted, order []string, rest bool) []source.WantedPair {
	var pairs []source.WantedPair
	if n != nil {
		for _, p := range n.Pairs {
			if v := want[p.Key.Value]; v != nil {
				pairs = append(pairs, source.WantedPair{Key: p.Key.Value, Value: v})
			} else if rest {
				pairs = append(pairs, source.WantedPair{Key: p.Key.Value, Value: source.Kept(p.Value)})
			}
		}
	}
	rank := func(key string) int {
		if i := slices.Index(order, key); i >= 0 {
			return i
		}
		return len(order)
	}
	missing := []string{}
	for key := range want {
		if !slices.ContainsFunc(pairs, func(p source.WantedPair) bool { return p.Key == key }) {
			missing = append(missing, key)
		}
	}
	slices.SortFunc(missing, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if a < b {
			return -1
		}
		return 1
	})
	for _, key := range missing {
		at, best := 0, -1
		for i, p := range pairs {
			if r := rank(p.Key); r <= rank(key) && r >= best {
				at, best = i+1, r
			}
		}
		pairs = slices.Insert(pairs, at, source.WantedPair{Key: key, Value: want[key]})
	}
	return pairs
}

// key returns the target for one key of a rule, or nil.
func (w writer) key(key string, n *source.Node, old, f Form) *source.Wanted {
	if text := f.text(key); text != nil {
		if *text == "" {
			return nil
		}
		// Descriptive texts keep their quotes if they look like a number.
		return word(n, *text, key != "id" && key != "name" && key != "description")
	}
	switch key {
	case "tags":
		return words(n, f.Tags, false, false)
	case "if":
		if list := words(n, f.If, true, true); list != nil {
			list.Short = false
			return list
		}
		return nil
	case "when":
		return w.when(n, old.When, f.When)
	case "cancel_on":
		return cancelOn(n, old.CancelOn, f.CancelOn)
	case "do":
		return w.steps(n, old.Do, f.Do)
	case "on_error":
		if len(f.OnError) > 0 {
			return w.steps(n, old.OnError, f.OnError)
		}
		return nil
	}
	if names, values := f.record(key, false); names != nil {
		return recordOf(n, names, values)
	}
	return nil
}
