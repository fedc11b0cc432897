package editor

import "strings"

// A DiffLine is one line of a comparison.
type DiffLine struct {
	Mark string // "+", "-", " ", or "…" for lines that are left out
	Text string
}

const (
	diffContext = 3
	diffMost    = 1 << 20 // pairs of lines that are compared
)

// Diff compares two texts by their lines.
func Diff(before, after string) []DiffLine {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < min(len(a), len(b))-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var lines []DiffLine
	for _, l := range a[:same] {
		lines = append(lines, DiffLine{" ", l})
	}
	lines = append(lines, diffMiddle(a[same:len(a)-tail], b[same:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		lines = append(lines, DiffLine{" ", l})
	}
	return fold(lines)
}

// diffMiddle compares lines by the longest sequence that both have.
func diffMiddle(a, b []string) (lines []DiffLine) {
	if len(a)*len(b) > diffMost {
		for _, l := range a {
			lines = append(lines, DiffLine{"-", l})
		}
		for _, l := range b {
			lines = append(lines, DiffLine{"+", l})
		}
		return lines
	}
	common := make([][]int32, len(a)+1) // of what is left of both
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, DiffLine{" ", a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, DiffLine{"-", a[i]})
			i++
		default:
			lines = append(lines, DiffLine{"+", b[j]})
			j++
		}
	}
	return lines
}

// fold leaves out lines that are far from any change.
func fold(lines []DiffLine) (out []DiffLine) {
	near := func(i int) bool {
		for k := max(0, i-diffContext); k <= min(len(lines)-1, i+diffContext); k++ {
			if lines[k].Mark != " " {
				return true
			}
		}
		return false
	}
	skipped := false
	for i, l := range lines {
		if near(i) {
			out, skipped = append(out, l), false
		} else if !skipped {
			out, skipped = append(out, DiffLine{Mark: "…"}), true
		}
	}
	return out
}
