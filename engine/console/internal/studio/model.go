package studio

import (
	"encoding/json"
	"slices"

	"github.com/quandohq/quando/rules/form/sentence"
)

// changeModel changes the model of the expression at a place. What it says already keeps its text.
func changeModel(at any, lens string, rest []string, fn func(any) (any, error)) (any, error) {
	switch lens {
	case "~data":
		return changeData(at, rest, fn)
	case "~cron":
		return changeCron(at, rest, fn)
	case "~if":
		was, list, err := expressions(at)
		if err != nil {
			return nil, err
		}
		if list {
			c, err := changed(sentence.ReadAll(was), rest, fn)
			if err != nil {
				return nil, err
			}
			return plain(sentence.WriteAll(was, c))
		}
		text := ""
		if len(was) > 0 {
			text = was[0]
		}
		c, err := changed(sentence.Read(text), rest, fn)
		if err != nil {
			return nil, err
		}
		return orNothing(sentence.Write(text, c)), nil
	case "~value":
		was, _ := at.(string)
		t, err := changed(sentence.ReadValue(was), rest, fn)
		if err != nil {
			return nil, err
		}
		if t.Same(sentence.ReadValue(was)) {
			return orNothing(was), nil
		}
		return orNothing(sentence.PrintValue(t)), nil
	}
	return nil, ErrEdit
}

// expressions returns the texts at a place that holds one or a list of them.
func expressions(at any) (texts []string, list bool, err error) {
	switch v := at.(type) {
	case nil:
		return nil, false, nil
	case string:
		return []string{v}, false, nil
	case []any:
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, true, ErrEdit
			}
			texts = append(texts, text)
		}
		return texts, true, nil
	}
	return nil, false, ErrEdit
}

func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// changed changes a model as plain data.
func changed[T any](model T, path []string, fn func(any) (any, error)) (out T, err error) {
	data, err := plain(model)
	if err != nil {
		return out, err
	}
	if data, err = change(data, path, fn); err != nil || data == nil {
		return out, err
	}
	text, err := json.Marshal(data)
	if err != nil || json.Unmarshal(text, &out) != nil {
		return out, ErrEdit
	}
	return out, nil
}

// likeOld returns a term that takes the place of another as what that is: a page sends texts, and
// what was a number, a value or a fact among them stays one.
func likeOld(old, value any) any {
	was, _ := old.(map[string]any)
	is, _ := value.(map[string]any)
	if was == nil || is["kind"] == nil {
		return value
	}
	if is["kind"] == string(sentence.Text) && is["text"] == was["text"] && was["kind"] != string(sentence.Name) {
		return old
	}
	had, _ := was["list"].([]any)
	list, _ := is["list"].([]any)
	for i, item := range list {
		text, _ := item.(map[string]any)
		if text["kind"] != string(sentence.Text) {
			continue
		}
		for _, h := range had {
			term, _ := h.(map[string]any)
			if term["text"] == text["text"] {
				list[i] = h
				break
			}
			if kind, _ := term["kind"].(string); kind == string(sentence.Number) || kind == string(sentence.Duration) || kind == string(sentence.Date) {
				text["kind"] = kind
			}
		}
	}
	return value
}

// withCondition inserts a condition into a group. One that is no group becomes a group of all;
// where there is none it is the condition itself.
func withCondition(at any, n int, value any) (any, error) {
	c, ok := at.(map[string]any)
	if !ok && at != nil {
		return nil, ErrEdit
	}
	if len(c) == 0 || isAlways(c) {
		return value, nil
	}
	if c["group"] == nil {
		c = map[string]any{"group": string(sentence.All), "of": []any{c}}
	}
	of, ok := c["of"].([]any)
	if !ok && c["of"] != nil || n < 0 || n > len(of) {
		return nil, ErrEdit
	}
	c["of"] = slices.Insert(of, n, value)
	return c, nil
}

// isAlways reports whether a condition is the one of a way that has none yet.
func isAlways(c map[string]any) bool { return c["sentence"] == "always" && c["not"] == nil }

// dissolved returns what is left of a group that lost a condition.
func dissolved(at any) any {
	group, _ := at.(map[string]any)
	of, _ := group["of"].([]any)
	switch {
	case len(of) == 0:
		return nil
	case len(of) == 1 && group["group"] != string(sentence.None):
		return of[0]
	}
	return at
}

// grouped makes a condition a group of a kind, with more conditions.
func grouped(at, value any) (any, error) {
	c, ok := at.(map[string]any)
	if !ok || len(c) == 0 {
		return nil, ErrEdit
	}
	value, err := plain(value)
	if err != nil {
		return nil, ErrEdit
	}
	var more []any
	kind := value
	if wanted, ok := value.(map[string]any); ok {
		kind = wanted["group"]
		more, _ = wanted["of"].([]any)
	}
	name, _ := kind.(string)
	if !slices.Contains([]sentence.Group{sentence.All, sentence.Any, sentence.None}, sentence.Group(name)) {
		return nil, ErrEdit
	}
	of := []any{c}
	if c["group"] != nil && len(more) == 0 {
		of, _ = c["of"].([]any)
	}
	return map[string]any{"group": name, "of": append(of, more...)}, nil
}
