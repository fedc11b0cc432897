package source

import (
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/phrases"
)

// Near returns the candidate most similar to name, or "" if none is near.
func Near(name string, candidates []string) string {
	best, bestDistance := "", 0
	folded := strings.ToLower(name)
	// assignee_id for assignee, board for board_id: the same thing, said with more or with less.
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if long, short := max(folded, strings.ToLower(c)), min(folded, strings.ToLower(c)); c != name && strings.HasPrefix(long, short+"_") {
			return c
		}
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if c == name {
			continue
		}
		d := distance(folded, strings.ToLower(c))
		if best == "" || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	// One slip in a short name, one in three letters of a longer one.
	if best == "" || bestDistance > max(1, min(len(name), len(best))/3) {
		return ""
	}
	return best
}

// DidYouMean returns the hint for a name that is none of the candidates, or "".
func DidYouMean(name string, candidates []string) *phrases.Message {
	if near := Near(name, candidates); near != "" {
		return phrases.Sprintf("did you mean %q?", near)
	}
	return nil
}

// OneOf returns a hint that names the nearest candidate, or all of them when there are few enough
// to read.
func OneOf(name string, candidates []string) *phrases.Message {
	if hint := DidYouMean(name, candidates); hint != nil {
		return hint
	}
	if len(candidates) == 0 || len(candidates) > 20 {
		return nil
	}
	return phrases.Sprintf("one of: %s", strings.Join(candidates, ", "))
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to make a
// into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 {
		return 64
	}
	before, above, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(t)]
}
