package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
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
// find is called with texts as wordsIn and plainWords return them.
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
				w := plainWords(words)
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
		words = " " + plainWords(text) + " "
		if e.spoken == nil || len(e.spoken) >= maxCachedTexts {
			e.spoken = make(map[string]string)
		}
		e.spoken[text] = words
	}
	return words
}

// maxCachedTexts bounds that cache.
const maxCachedTexts = 100

// plainWords returns the words of a text in lower case, without accents, with one space between
// them.
func plainWords(s string) string {
	// Most texts have no accents; only the others pay for removing them.
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			s = norm.NFC.String(strings.Map(withoutAccent, norm.NFD.String(s)))
			break
		}
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

// withoutAccent drops combining accents of a decomposed text, and makes letters of ª and º.
func withoutAccent(r rune) rune {
	switch {
	case r == 'ª':
		return 'a'
	case r == 'º':
		return 'o'
	case unicode.Is(unicode.Mn, r):
		return -1
	}
	return r
}

// allAlike reports whether words begin with those that are wanted, each with its own forgiveness.
func (e *Evaluation) allAlike(words, wanted []string) (bool, error) {
	for i, want := range wanted {
		if found, err := e.alike(words[i], want); !found || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Words of so many letters may have one typing mistake, or two.
const (
	lettersForOneMistake  = 5
	lettersForTwoMistakes = 9
)

// alike reports whether a word is the wanted one, its plural or singular, or the wanted one with
// typing mistakes. A word with a digit in it has none.
func (e *Evaluation) alike(word, want string) (bool, error) {
	if err := e.pay(itemCost); err != nil {
		return false, err
	}
	if word == want || isPlural(word, want) || isPlural(want, word) {
		return true, nil
	}
	if diff := len(word) - len(want); diff > 2*4 || diff < -2*4 { // a letter has at most four bytes
		return false, nil
	}
	if err := e.pay(editCost * (len(word) + len(want))); err != nil {
		return false, err
	}
	letters := []rune(want)
	mistakes := 0
	switch {
	case slices.ContainsFunc(letters, unicode.IsNumber) || strings.ContainsFunc(word, unicode.IsNumber):
	case len(letters) >= lettersForTwoMistakes:
		mistakes = 2
	case len(letters) >= lettersForOneMistake:
		mistakes = 1
	}
	return mistakes > 0 && withinEdits([]rune(word), letters, mistakes), nil
}

// plurals are the endings of a singular and of its plural, without accents, and the fewest letters
// of the singular.
var plurals = []struct {
	singular, plural string
	least            int
}{
	{"", "s", 3},     // boleto, boletos; invoice, invoices; mão, mãos
	{"", "es", 3},    // flor, flores; box, boxes; canción, canciones
	{"y", "ies", 3},  // city, cities
	{"z", "ces", 3},  // luz, luces
	{"ao", "oes", 3}, // cartão, cartões
	{"ao", "aes", 3}, // pão, pães
	{"m", "ns", 3},   // homem, homens
	{"l", "is", 4},   // papel, papéis; with three letters mais would be the plural of mal
	{"il", "eis", 4}, // fácil, fáceis
	{"il", "is", 4},  // funil, funis
	{"f", "ves", 4},  // half, halves
	{"fe", "ves", 4}, // knife, knives
}

// isPlural reports whether a word is the plural of another, by their endings.
func isPlural(plural, singular string) bool {
	for _, p := range plurals {
		stem, ok := strings.CutSuffix(singular, p.singular)
		if ok && len(singular) >= p.least && len(plural) == len(stem)+len(p.plural) && strings.HasPrefix(plural, stem) && strings.HasSuffix(plural, p.plural) {
			return true
		}
	}
	return false
}

// withinEdits reports whether at most so many insertions, deletions, substitutions and exchanges of
// neighbours make one word of the other. It fills only the diagonals of the matrix that so few
// edits can reach.
func withinEdits(a, b []rune, most int) bool {
	if diff := len(a) - len(b); diff > most || diff < -most {
		return false
	}
	far := most + 1
	before, row, next := make([]int, len(b)+2), make([]int, len(b)+2), make([]int, len(b)+2)
	for j := range row {
		before[j], row[j] = far, min(j, far)
	}
	leastBefore := 0
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-most), min(len(b), i+most)
		next[from-1], next[to+1] = far, far
		if i <= most {
			next[0] = i
		}
		least := far
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost, far)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
			least = min(least, next[j])
		}
		if least > most && leastBefore > most {
			return false
		}
		leastBefore = least
		before, row, next = row, next, before
	}
	return row[len(b)] <= most
}
