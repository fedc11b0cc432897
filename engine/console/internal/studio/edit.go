// Package studio shows a rule as sentences on a rail, and changes it one edit at a time.
package studio

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
)

// ErrEdit is returned for an edit that fits nothing in the rule.
var ErrEdit = errors.New("the change does not fit the rule")

// An Edit is one thing that a person does to a rule.
//
// A path leads into the form as JSON: /do/1/args/text. An argument is named, also one that is not
// there yet. The segments ~if and ~value lead into the model of the expression at that place:
// /if/~if/of/0/blanks/label. Others lead into a text: ~data into YAML, whose parts are numbered,
// and ~cron into a timetable.
type Edit struct {
	Op    Op     `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
	To    string `json:"to,omitempty"` // of move and copy: where it is inserted, before the move
}

// An Op says what an edit does.
type Op string

// The operations.
const (
	Set    Op = "set"    // puts a value at a place; nothing removes what is there
	Add    Op = "add"    // inserts a value into a list, at the index that ends the path
	Remove Op = "remove" // takes out what is at a place
	Move   Op = "move"   // takes out what is at a place, and inserts it at another
	Copy   Op = "copy"   // inserts what is at a place at another
	Insert Op = "block"  // puts a building block into the rule, its steps at a place
	Group  Op = "group"  // makes a condition a group all, any or none; a group's conditions are added to it
)

// Apply returns a form with an edit carried out. What comes of it is a form, if not always a rule
// without problems; an edit that fits nothing is ErrEdit.
func Apply(f form.Form, e Edit) (form.Form, error) {
	if e.Op == Insert {
		return applyBlock(f, e)
	}
	root, err := plain(f)
	if err != nil {
		return f, err
	}
	at, err := split(e.Path)
	if err != nil {
		return f, err
	}
	switch e.Op {
	case Set:
		root, err = put(root, at, e.Value)
	case Add:
		root, err = insert(root, at, e.Value)
	case Remove:
		root, _, err = remove(root, at)
	case Move, Copy:
		root, err = transfer(root, at, e)
	case Group:
		root, err = change(root, at, func(v any) (any, error) { return grouped(v, e.Value) })
	default:
		err = ErrEdit
	}
	if err != nil {
		return f, err
	}
	return formOf(root)
}

// applyBlock carries out the edits of a building block.
func applyBlock(f form.Form, e Edit) (form.Form, error) {
	edits, err := expanded(f, e)
	for _, one := range edits {
		if err == nil {
			f, err = Apply(f, one)
		}
	}
	return f, err
}

// plain returns a value as JSON has it.
func plain(v any) (out any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// formOf reads plain data as a form.
func formOf(root any) (f form.Form, err error) {
	if rule, ok := root.(map[string]any); ok {
		if text, ok := rule["if"].(string); ok {
			rule["if"] = []any{text} // the first condition of a rule
		}
	}
	tidy(root)
	text, err := json.Marshal(root)
	if err != nil {
		return f, ErrEdit
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, ErrEdit
	}
	return f, nil
}

func split(path string) ([]string, error) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok || rest == "" {
		return nil, ErrEdit
	}
	return strings.Split(rest, "/"), nil
}

// change replaces what is at a path by what a function makes of it, and makes the way there. A
// function that returns nil takes the value away.
func change(at any, path []string, fn func(any) (any, error)) (any, error) {
	if len(path) == 0 {
		return fn(at)
	}
	name, rest := path[0], path[1:]
	if strings.HasPrefix(name, "~") {
		return changeModel(at, name, rest, fn)
	}
	if list, ok := at.([]any); ok || at == nil && isIndex(name) {
		return changeItem(list, name, rest, fn)
	}
	if at == nil {
		at = map[string]any{}
	}
	object, ok := at.(map[string]any)
	if !ok {
		return nil, ErrEdit
	}
	if hasNames(name) && len(rest) > 0 {
		list, ok := object[name].([]any)
		if !ok && object[name] != nil {
			return nil, ErrEdit
		}
		named, err := changeNamed(list, rest[0], rest[1:], fn)
		object[name] = named
		return object, err
	}
	inner, err := change(object[name], rest, fn)
	if err != nil {
		return nil, err
	}
	if inner == nil {
		delete(object, name)
	} else {
		object[name] = inner
	}
	return object, nil
}

func isIndex(name string) bool { _, err := strconv.Atoi(name); return err == nil }

// hasNames reports whether a key holds arguments, which are found by their names.
func hasNames(key string) bool { return slices.Contains([]string{"args", "fields", "where"}, key) }

// changeItem changes the item of a list.
func changeItem(list []any, name string, rest []string, fn func(any) (any, error)) (any, error) {
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || n > len(list) {
		return nil, ErrEdit
	}
	var item any
	if n < len(list) {
		item = list[n]
	}
	item, err = change(item, rest, fn)
	switch {
	case err != nil:
		return nil, err
	case item == nil && n == len(list):
		return nil, ErrEdit
	case item == nil:
		return slices.Delete(list, n, n+1), nil
	case n == len(list):
		return append(list, item), nil
	}
	list[n] = item
	return list, nil
}

// changeNamed changes the argument of a name. A text, a list or a flag becomes an argument of its
// kind.
func changeNamed(list []any, name string, rest []string, fn func(any) (any, error)) (any, error) {
	i := slices.IndexFunc(list, func(a any) bool {
		arg, ok := a.(map[string]any)
		return ok && arg["name"] == name
	})
	var arg any
	if i >= 0 {
		arg = list[i]
	}
	arg, err := change(arg, rest, fn)
	if err != nil {
		return nil, err
	}
	switch v := arg.(type) {
	case nil:
		if i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		return list, nil
	case string:
		arg = map[string]any{"text": v}
	case bool:
		arg = map[string]any{"text": strconv.FormatBool(v)}
	case []any:
		arg = map[string]any{"as": string(form.AsList), "list": v}
	case map[string]any:
	default:
		return nil, ErrEdit
	}
	object := arg.(map[string]any)
	object["name"] = name
	giveKind(object)
	if isEmptyArg(object) {
		if i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		return list, nil
	}
	if i < 0 {
		return append(list, object), nil
	}
	list[i] = object
	return list, nil
}

// put sets the value at a place.
func put(root any, path []string, value any) (any, error) {
	value, err := plain(value)
	if err != nil {
		return nil, ErrEdit
	}
	value = withoutEmpty(value)
	return change(root, path, func(old any) (any, error) { return likeOld(old, value), nil })
}

// insert puts a value into a list, before what is at an index.
func insert(root any, path []string, value any) (any, error) {
	value, err := plain(value)
	if err != nil || value == nil {
		return nil, ErrEdit
	}
	value = withoutEmpty(value)
	last := len(path) - 1
	n, err := strconv.Atoi(path[last])
	if err != nil {
		return nil, ErrEdit
	}
	if last > 0 && path[last-1] == "of" {
		return change(root, path[:last-1], func(v any) (any, error) { return withCondition(v, n, value) })
	}
	return change(root, path[:last], func(v any) (any, error) {
		list, ok := v.([]any)
		if !ok && v != nil || n < 0 || n > len(list) {
			return nil, ErrEdit
		}
		return slices.Insert(list, n, value), nil
	})
}

// remove takes out what is at a place, and returns it.
func remove(root any, path []string) (left, taken any, err error) {
	take := func(v any) (any, error) {
		if taken = v; v == nil {
			return nil, ErrEdit
		}
		return nil, nil
	}
	last := len(path) - 1
	if last > 0 && path[last-1] == "of" {
		left, err = change(root, path[:last-1], func(v any) (any, error) {
			group, err := change(v, path[last-1:], take)
			if err != nil {
				return nil, err
			}
			return dissolved(group), nil
		})
		return left, taken, err
	}
	left, err = change(root, path, take)
	return left, taken, err
}

// transfer moves or copies what is at a place to another one.
func transfer(root any, from []string, e Edit) (any, error) {
	to, err := split(e.To)
	if err != nil {
		return nil, err
	}
	if e.Op == Copy {
		value, err := get(root, from)
		if err != nil {
			return nil, err
		}
		return insert(root, to, withoutID(value))
	}
	if len(to) > len(from) && slices.Equal(to[:len(from)], from) {
		return nil, ErrEdit // into itself
	}
	// Taking it out first moves what comes behind it in its list.
	last := len(from) - 1
	if len(to) > last && slices.Equal(to[:last], from[:last]) {
		n, err := strconv.Atoi(from[last])
		k, err2 := strconv.Atoi(to[last])
		if err == nil && err2 == nil && k > n {
			to = slices.Clone(to)
			to[last] = strconv.Itoa(k - 1)
		}
	}
	root, value, err := remove(root, from)
	if err != nil {
		return nil, err
	}
	return insert(root, to, value)
}

// get returns what is at a place.
func get(root any, path []string) (found any, err error) {
	_, err = change(root, path, func(v any) (any, error) {
		if v == nil {
			return nil, ErrEdit
		}
		var err error
		found, err = plain(v)
		return v, err
	})
	return found, err
}

// withoutID returns the copy of a step, which cannot have the same name.
func withoutID(value any) any {
	if step, ok := value.(map[string]any); ok && step["verb"] != nil {
		delete(step, "id")
	}
	return value
}

// withoutEmpty removes arguments without a value from a part that is put into a rule. Those that
// the rule has already stay as they are: an empty text can be meant.
func withoutEmpty(at any) any {
	switch v := at.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = withoutEmpty(inner)
			if list, ok := v[name].([]any); ok && hasNames(name) {
				v[name] = slices.DeleteFunc(list, isEmptyArg)
			}
		}
	case []any:
		for i, inner := range v {
			v[i] = withoutEmpty(inner)
		}
	}
	return at
}

// tidy removes empty bounds, and says how values are given.
func tidy(at any) {
	switch v := at.(type) {
	case map[string]any:
		for _, name := range []string{"limit", "gather", "late", "retry"} {
			if part, ok := v[name].(map[string]any); ok && isBlank(part) {
				delete(v, name)
			}
		}
		if v["name"] != nil {
			giveKind(v)
		}
		for _, inner := range v {
			tidy(inner)
		}
		if list, ok := v["branches"].([]any); ok {
			for _, b := range list {
				if branch, ok := b.(map[string]any); ok && branch["else"] == nil && branch["if"] == nil {
					branch["if"] = "true" // a way needs a condition
				}
			}
		}
		if list, ok := v["cancel_on"].([]any); ok {
			v["cancel_on"] = slices.DeleteFunc(list, func(m any) bool {
				match, ok := m.(map[string]any)
				events, _ := match["events"].([]any)
				return ok && len(events) == 0
			})
		}
	case []any:
		for _, inner := range v {
			tidy(inner)
		}
	}
}

// giveKind says how the value of an argument is given, where that is not said.
func giveKind(arg map[string]any) {
	if arg["as"] != nil {
		return
	}
	for name, as := range map[string]form.As{"fields": form.AsFields, "steps": form.AsSteps, "branches": form.AsBranches, "list": form.AsList} {
		if _, ok := arg[name].([]any); ok {
			arg["as"] = string(as)
		}
	}
	if _, ok := arg["yaml"].(string); ok && arg["text"] == nil {
		arg["as"] = string(form.AsYAML)
	}
}

func isBlank(fields map[string]any) bool {
	for _, value := range fields {
		if value != "" && value != nil {
			return false
		}
	}
	return true
}

// isEmptyArg reports whether an argument has no value at all.
func isEmptyArg(v any) bool {
	arg, ok := v.(map[string]any)
	if !ok {
		return false
	}
	text := func(name string) string { s, _ := arg[name].(string); return s }
	list := func(name string) int { l, _ := arg[name].([]any); return len(l) }
	as, _ := arg["as"].(string)
	switch form.As(as) {
	case form.AsText:
		return text("text") == ""
	case form.AsList:
		return list("list") == 0
	case form.AsYAML:
		return strings.TrimSpace(text("yaml")) == ""
	case form.AsFields:
		return list("fields") == 0
	}
	return false
}
