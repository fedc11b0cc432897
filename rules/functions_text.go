package rules

import (
	"fmt"
	"strings"

	"github.com/quandohq/quando/rules/internal/spelling"
)

// says takes gathered messages too, so that a burst counts as one text.
func says(e *Evaluation, args []any) (any, error) {
	return e.findWords("says", args, func(text, words string) (bool, error) {
		return strings.Contains(text, " "+words+" "), nil
	})
}

// saysLike is says with forgiveness.
func saysLike(e *Evaluation, args []any) (any, error) {
	return e.findWords("says_like", args, func(text, words string) (bool, error) {
		spoken, wanted := strings.Fields(text), strings.Fields(words)
		for i := 0; i+len(wanted) <= len(spoken); i++ {
			if found, err := e.allAlike(spoken[i:], wanted); found || err != nil {
				return found, err
			}
		}
		return false, nil
	})
}

// findWords reports whether a message has one of the words or phrases that a function is given.
// find is called with texts as wordsIn and spelling.Plain return them.
func (e *Evaluation) findWords(function string, args []any, find func(text, words string) (bool, error)) (any, error) {
	texts, err := e.messageTexts()
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		if err := e.pay(wordCost * len(text)); err != nil {
			return nil, err
		}
		text = e.wordsIn(text)
		for _, a := range args {
			list, ok := a.([]any)
			if !ok {
				list = []any{a}
			}
			for _, item := range list {
				words, ok := item.(string)
				if !ok {
					return nil, fmt.Errorf("%s needs texts, not %s", function, inWords(item))
				}
				if err := e.pay(wordCost * len(words)); err != nil {
					return nil, err
				}
				w := spelling.Plain(words)
				if w == "" {
					continue
				}
				if found, err := find(text, w); found || err != nil {
					return found, err
				}
			}
		}
	}
	return false, nil
}

// wordsIn returns the words of a text, with a space before and behind each. It caches them, because
// many rules search the same texts.
func (e *Evaluation) wordsIn(text string) string {
	words, known := e.spoken[text]
	if !known {
		words = " " + spelling.Plain(text) + " "
		if e.spoken == nil || len(e.spoken) >= maxCachedTexts {
			e.spoken = make(map[string]string)
		}
		e.spoken[text] = words
	}
	return words
}

// maxCachedTexts bounds that cache.
const maxCachedTexts = 100

// allAlike reports whether words begin with those that are wanted, each with its own forgiveness.
func (e *Evaluation) allAlike(words, wanted []string) (bool, error) {
	for i, want := range wanted {
		if found, err := e.alike(words[i], want); !found || err != nil {
			return false, err
		}
	}
	return true, nil
}

// alike reports whether a word is the wanted one, in singular or plural, or with typing mistakes.
func (e *Evaluation) alike(word, want string) (bool, error) {
	if err := e.pay(itemCost); err != nil {
		return false, err
	}
	if spelling.Same(word, want) {
		return true, nil
	}
	if !spelling.MayBeMistyped(word, want) {
		return false, nil
	}
	if err := e.pay(editCost * (len(word) + len(want))); err != nil {
		return false, err
	}
	return spelling.Mistyped(word, want), nil
}

// extract pays like matches. Its pattern was compiled with the expression.
func extract(e *Evaluation, args []any) (any, error) {
	switch text := args[0].(type) {
	case nil:
		return nil, nil
	case string:
		p := args[1].(pattern)
		if err := e.pay(p.cost * len(text)); err != nil {
			return nil, err
		}
		match := p.FindStringSubmatchIndex(text)
		if len(match) > 2 {
			match = match[2:4]
		}
		if match == nil || match[0] < 0 {
			return nil, nil
		}
		return text[match[0]:match[1]], nil
	}
	return nil, fmt.Errorf("extract needs a text, not %s", inWords(args[0]))
}

// number reads the first number of a text.
func number(e *Evaluation, args []any) (any, error) {
	switch v := args[0].(type) {
	case nil:
		return nil, nil
	case int, float64:
		return v, nil
	case string:
		if err := e.pay(wordCost * len(v)); err != nil {
			return nil, err
		}
		if n, ok := spelling.FirstNumber(v); ok {
			return n, nil
		}
		return nil, nil
	}
	return nil, fmt.Errorf("number needs a text, not %s", inWords(args[0]))
}
