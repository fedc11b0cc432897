// Package spelling compares and reads what people write: words without accents, with typing
// mistakes and in the plural, and numbers.
package spelling

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Plain returns the words of a text in lower case, without accents, with one space between
// them.
func Plain(s string) string {
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

// Same reports whether a word is the wanted one, its plural or its singular.
func Same(word, want string) bool {
	return word == want || isPlural(word, want) || isPlural(want, word)
}

// Words of so many letters may have one typing mistake, or two.
const (
	lettersForOneMistake  = 5
	lettersForTwoMistakes = 9
)

// MayBeMistyped reports whether two words are so similar in length that Mistyped may be true.
func MayBeMistyped(word, want string) bool {
	diff := len(word) - len(want)
	return diff <= 2*utf8.UTFMax && diff >= -2*utf8.UTFMax
}

// Mistyped reports whether a word is the wanted one with typing mistakes. A word with a digit in it
// has none.
func Mistyped(word, want string) bool {
	letters := []rune(want)
	mistakes := 0
	switch {
	case slices.ContainsFunc(letters, unicode.IsNumber) || strings.ContainsFunc(word, unicode.IsNumber):
	case len(letters) >= lettersForTwoMistakes:
		mistakes = 2
	case len(letters) >= lettersForOneMistake:
		mistakes = 1
	}
	return mistakes > 0 && withinEdits([]rune(word), letters, mistakes)
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
