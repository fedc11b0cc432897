package store

import (
	"fmt"
	"strings"
)

// DidYouMean returns " (did you mean …?)" with the name nearest to what was
// written, or nothing when none is near.
func DidYouMean(written string, names []string) string {
	best, distance := "", len([]rune(written))/3+2
	for _, name := range names {
		if d := editDistance(strings.ToLower(written), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance counts the insertions, deletions and replacements between two
// texts.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(to)]
}
