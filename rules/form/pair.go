package form

import "encoding/json"

// pairUp matches each value to its earlier version, or -1: first equal ones, in order and then
// elsewhere, and the others between the same neighbours, similar ones first.
func pairUp[T any](old, list []T, likeness func(T) string) []int {
	p := pairing{at: make([]int, len(list)), taken: make([]bool, len(old))}
	for i := range p.at {
		p.at[i] = -1
	}
	number := make(map[string]int)
	p.inOrder(numbers(old, number, exactly), numbers(list, number, exactly))
	p.elsewhere(numbers(old, number, exactly), numbers(list, number, exactly))
	p.between(numbers(old, number, likeness), numbers(list, number, likeness))
	p.between(make([]int, len(old)), make([]int, len(list)))
	return p.at
}

// exactly is a likeness under which only equal values match.
func exactly[T any](v T) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // fields of a form always have a JSON form
	}
	return string(text)
}

// numbers gives equal numbers to values with an equal key.
func numbers[T any](list []T, number map[string]int, say func(T) string) []int {
	out := make([]int, len(list))
	for i, v := range list {
		text := say(v)
		if _, known := number[text]; !known {
			number[text] = len(number)
		}
		out[i] = number[text]
	}
	return out
}

// A pairing says which of the old values each of the others was.
type pairing struct {
	at    []int
	taken []bool
}

func (p *pairing) setPair(i, j int) { p.at[i], p.taken[j] = j, true }

// inOrder pairs the equal values that stand in the same order in both lists, as many as there are.
// Of very long lists only the ends are compared.
func (p *pairing) inOrder(old, list []int) {
	first, last := 0, 0
	for first < len(old) && first < len(list) && old[first] == list[first] {
		p.setPair(first, first)
		first++
	}
	for last < len(old)-first && last < len(list)-first && old[len(old)-1-last] == list[len(list)-1-last] {
		p.setPair(len(list)-1-last, len(old)-1-last)
		last++
	}
	old, list = old[first:len(old)-last], list[first:len(list)-last]
	if len(old)*len(list) > 1_000_000 {
		return
	}
	length := make([][]int, len(old)+1)
	for i := range length {
		length[i] = make([]int, len(list)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(list) - 1; j >= 0; j-- {
			if old[i] == list[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(list); {
		switch {
		case old[i] == list[j]:
			p.setPair(first+j, first+i)
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// elsewhere pairs the equal values that are left.
func (p *pairing) elsewhere(old, list []int) {
	free := make(map[int][]int)
	for j, v := range old {
		if !p.taken[j] {
			free[v] = append(free[v], j)
		}
	}
	for i, v := range list {
		if p.at[i] < 0 && len(free[v]) > 0 {
			p.setPair(i, free[v][0])
			free[v] = free[v][1:]
		}
	}
}

// between pairs values that are alike and stand between the same neighbours.
func (p *pairing) between(old, list []int) {
	low := -1
	for i, v := range list {
		if p.at[i] >= 0 {
			low = max(low, p.at[i])
			continue
		}
		for j := low + 1; j < len(old) && !p.taken[j]; j++ {
			if old[j] == v {
				p.setPair(i, j)
				low = j
				break
			}
		}
	}
}
