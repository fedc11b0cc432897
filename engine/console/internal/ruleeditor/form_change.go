package ruleeditor

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/vocabulary"
)

// ErrField is returned for a field that no form has, or a value that a form cannot hold.
var ErrField = errors.New("the fields do not fit the form of a rule")

// ChangeForm copies the fields of a page into a form, and then carries out a button's action.
//
// A field is named by its path: /name, /if/0, /do/1/args/0/text. A value at an unknown path is set
// too, and then decoded as a form: the result is always a valid form.
func ChangeForm(f form.Form, sent url.Values) (form.Form, error) {
	tree, err := treeOf(f)
	if err != nil {
		return f, err
	}
	for _, path := range slices.SortedFunc(paths(sent), comparePaths) {
		value := any(sent.Get(path))
		switch {
		case strings.HasSuffix(path, "/list"):
			value = listOf(sent[path])
		case path == "/when/schedule/at" || path == "/when/schedule/on":
			value = listOf(strings.Split(sent.Get(path), ","))
		}
		if !tree.set(split(path), value) {
			return f, ErrField
		}
	}
	if err := tree.do(sent.Get("op"), sent.Get("with")); err != nil {
		return f, err
	}
	return tree.form()
}

// paths goes through the paths among the fields.
func paths(sent url.Values) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range sent {
			if strings.HasPrefix(name, "/") && !yield(name) {
				return
			}
		}
	}
}

// listOf returns texts without those that are empty.
func listOf(texts []string) []any {
	list := []any{}
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			list = append(list, t)
		}
	}
	return list
}

func split(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// comparePaths orders paths so that the members of a list come in their order.
func comparePaths(a, b string) int {
	x, y := split(a), split(b)
	for i := range min(len(x), len(y)) {
		n, err := strconv.Atoi(x[i])
		k, err2 := strconv.Atoi(y[i])
		if err == nil && err2 == nil && n != k {
			return n - k
		}
		if x[i] != y[i] {
			return strings.Compare(x[i], y[i])
		}
	}
	return len(x) - len(y)
}

// A tree is a form as plain data.
type tree map[string]any

func treeOf(f form.Form) (tree, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	t := tree{}
	return t, json.Unmarshal(text, &t)
}

// set puts a value at a place, and makes the way there. It is false if there is no such way.
func (t tree) set(path []string, value any) bool {
	_, ok := put(map[string]any(t), path, value)
	return ok
}

func put(at any, path []string, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	n, err := strconv.Atoi(path[0])
	if list, is := at.([]any); is || at == nil && err == nil {
		if err != nil || n < 0 || n > len(list) {
			return nil, false
		}
		if n == len(list) {
			list = append(list, nil)
		}
		inner, ok := put(list[n], path[1:], value)
		list[n] = inner
		return list, ok
	}
	object, is := at.(map[string]any)
	if at == nil {
		object, is = map[string]any{}, true
	}
	if !is {
		return nil, false
	}
	inner, ok := put(object[path[0]], path[1:], value)
	object[path[0]] = inner
	return object, ok
}

// do carries out a button's action: "add /if", "remove /do/1", "up /do/1", "down /do/1", "when
// events", "when schedule".
func (t tree) do(op, with string) error {
	what, where, _ := strings.Cut(op, " ")
	path := split(where)
	switch what {
	case "", "keep":
		return nil
	case "when":
		t["when"] = map[string]any{"events": []any{vocabulary.MessageReceived}}
		if where == "schedule" {
			t["when"] = map[string]any{"schedule": map[string]any{"every": "1h"}}
		}
		return nil
	case "add":
		var value any = with
		switch path[len(path)-1] {
		case "do", "on_error", "steps":
			value = map[string]any{"verb": with}
		case "args":
			value = map[string]any{"name": with, "added": true}
		case "branches":
			value = map[string]any{"if": "true", "do": []any{map[string]any{"verb": "stop"}}}
		case "cancel_on":
			value = map[string]any{"events": []any{with}}
		}
		list, _ := t.get(path).([]any)
		if !t.set(path, append(list, value)) {
			return ErrField
		}
		return nil
	}
	n, err := strconv.Atoi(path[len(path)-1])
	list, _ := t.get(path[:len(path)-1]).([]any)
	if err != nil || n < 0 || n >= len(list) {
		return ErrField
	}
	switch {
	case what == "remove":
		list = slices.Delete(list, n, n+1)
	case what == "up" && n > 0:
		list[n-1], list[n] = list[n], list[n-1]
	case what == "down" && n+1 < len(list):
		list[n+1], list[n] = list[n], list[n+1]
	}
	t.set(path[:len(path)-1], list)
	return nil
}

func (t tree) get(path []string) any {
	at := any(map[string]any(t))
	for _, name := range path {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(v) {
				return nil
			}
			at = v[n]
		default:
			return nil
		}
	}
	return at
}

// form reads the data as a form. What has no value is left out of it.
func (t tree) form() (f form.Form, err error) {
	tidy(map[string]any(t))
	text, err := json.Marshal(t)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, ErrField
	}
	return f, nil
}

// tidy removes arguments without a value, and empty bounds.
func tidy(at any) {
	switch v := at.(type) {
	case map[string]any:
		for _, name := range []string{"limit", "gather", "late", "retry"} {
			if part, ok := v[name].(map[string]any); ok && isBlank(part) {
				delete(v, name)
			}
		}
		for _, name := range []string{"args", "fields", "where"} {
			if list, ok := v[name].([]any); ok {
				v[name] = slices.DeleteFunc(list, func(a any) bool {
					arg, ok := a.(map[string]any)
					return ok && arg["added"] == nil && isEmptyArg(arg)
				})
			}
		}
		for _, inner := range v {
			tidy(inner)
		}
	case []any:
		for _, inner := range v {
			tidy(inner)
		}
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
func isEmptyArg(arg map[string]any) bool {
	as, _ := arg["as"].(string)
	text, _ := arg["text"].(string)
	list, _ := arg["list"].([]any)
	yaml, _ := arg["yaml"].(string)
	fields, _ := arg["fields"].([]any)
	switch form.As(as) {
	case form.AsText:
		return strings.TrimSpace(text) == ""
	case form.AsList:
		return len(list) == 0
	case form.AsYAML:
		return strings.TrimSpace(yaml) == ""
	case form.AsFields:
		return !slices.ContainsFunc(fields, func(f any) bool {
			inner, ok := f.(map[string]any)
			return ok && !isEmptyArg(inner)
		})
	}
	return false
}
