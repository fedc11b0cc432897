package service

import (
	"slices"
	"strings"
	"unicode"
)

// match finds the ids of a name: those equal but for case, else those equal but for accents too.
func match(list []entry, name string) []string {
	var exact, folded []string
	plain := fold(name) // once: it may be a long text of a customer
	for _, e := range list {
		if strings.EqualFold(strings.TrimSpace(e.name), name) {
			exact = append(exact, e.id)
		} else if e.folded == plain {
			folded = append(folded, e.id)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return folded
}

// unaccented maps the accented letters of the languages our users write to those without.
var unaccented = func() map[rune]rune {
	m := map[rune]rune{}
	for base, accented := range map[rune]string{'a': "áàâãäåāă", 'c': "çćč", 'e': "éèêëēę", 'i': "íìîïī", 'n': "ñń", 'o': "óòôõöøō", 'u': "úùûüū", 'y': "ýÿ", 's': "šś", 'z': "žźż"} {
		for _, r := range accented {
			m[r] = base
		}
	}
	return m
}()

// fold makes names comparable: lower case, without accents, with single blanks.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) { // an accent written as a character of its own
			return -1
		}
		r = unicode.ToLower(r)
		if p, ok := unaccented[r]; ok {
			return p
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// maxNear is the longest name in bytes that gets suggestions: a longer one is a text and no name.
const maxNear = 200

// nearNames finds at most three similar names.
func nearNames(name string, names []string) []string {
	if len(name) > maxNear {
		return nil
	}
	type near struct {
		name     string
		distance int
	}
	want := fold(name)
	var found []near
	for _, n := range names {
		have := fold(n)
		d := distance(want, have)
		if len(want) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have) && len(have) >= 3) {
			d = min(d, 2)
		}
		if d <= max(2, len(want)/4) && d < len(want) {
			found = append(found, near{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	out := make([]string, 0, 3)
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance is the number of letters to add, drop or exchange to make one word of the other.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			cost := 1
			if x == y {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(to)]
}
