package sandbox

import "container/heap"

// agenda holds what is to happen at a later time of the sandbox's clock.
type agenda struct {
	entries entries
	added   uint64
}

type entry struct {
	at    Instant
	order uint64 // entries of the same time happen as they were added
	do    func()
}

// add has do called, with the sandbox's lock held, at the given time.
func (a *agenda) add(at Instant, do func()) {
	a.added++
	heap.Push(&a.entries, entry{at, a.added, do})
}

func (a *agenda) next() (Instant, bool) {
	if len(a.entries) == 0 {
		return 0, false
	}
	return a.entries[0].at, true
}

// run does what is due at now.
func (a *agenda) run(now Instant) {
	for len(a.entries) > 0 && a.entries[0].at <= now {
		heap.Pop(&a.entries).(entry).do()
	}
}

type entries []entry

func (e entries) Len() int { return len(e) }
func (e entries) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].order < e[j].order
}
func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *entries) Push(x any)   { *e = append(*e, x.(entry)) }
func (e *entries) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = entry{}
	*e = (*e)[:len(*e)-1]
	return last
}
