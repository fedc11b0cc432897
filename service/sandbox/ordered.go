package sandbox

import (
	"iter"
	"math"
	"slices"
)

// blockSize bounds what one change has to move: a few kilobytes, however many
// values there are.
const blockSize = 256

// ordered holds values by a rising key and gives them newest (highest key)
// first. It is a list of sorted blocks, so that finding, adding and removing
// stay cheap among a hundred thousand values, and a page is read without
// touching the rest.
type ordered[T any] struct {
	blocks [][]slot[T]
	n      int
}

type slot[T any] struct {
	key   uint64
	value *T
}

func (o *ordered[T]) len() int {
	if o == nil {
		return 0
	}
	return o.n
}

func bySlot[T any](s slot[T], key uint64) int {
	switch {
	case s.key < key:
		return -1
	case s.key > key:
		return 1
	}
	return 0
}

// block returns the position of the block where key is or would be.
func (o *ordered[T]) block(key uint64) int {
	n, _ := slices.BinarySearchFunc(o.blocks, key, func(b []slot[T], key uint64) int {
		return bySlot(b[len(b)-1], key)
	})
	return min(n, len(o.blocks)-1)
}

func (o *ordered[T]) put(key uint64, value *T) {
	if len(o.blocks) == 0 {
		o.blocks = [][]slot[T]{{{key, value}}}
		o.n = 1
		return
	}
	b := o.block(key)
	block := o.blocks[b]
	pos, there := slices.BinarySearchFunc(block, key, bySlot)
	if there {
		block[pos].value = value
		return
	}
	o.n++
	switch {
	case len(block) < blockSize:
		o.blocks[b] = slices.Insert(block, pos, slot[T]{key, value})
	case pos == len(block): // the usual case, a value newer than all others: leave the full block as it is
		o.blocks = slices.Insert(o.blocks, b+1, []slot[T]{{key, value}})
	default:
		half := len(block) / 2
		upper := slices.Clone(block[half:])
		clear(block[half:])
		o.blocks[b] = block[:half]
		o.blocks = slices.Insert(o.blocks, b+1, upper)
		o.n--
		o.put(key, value)
	}
}

func (o *ordered[T]) del(key uint64) {
	if o == nil || len(o.blocks) == 0 {
		return
	}
	b := o.block(key)
	pos, there := slices.BinarySearchFunc(o.blocks[b], key, bySlot)
	if !there {
		return
	}
	o.n--
	o.blocks[b] = slices.Delete(o.blocks[b], pos, pos+1)
	if len(o.blocks[b]) == 0 {
		o.blocks = slices.Delete(o.blocks, b, b+1)
	}
}

// newest gives all values, the highest key first.
func (o *ordered[T]) newest() iter.Seq[*T] { return o.before(math.MaxUint64) }

// before gives the values whose key is lower than key, the highest first.
func (o *ordered[T]) before(key uint64) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		if o == nil || len(o.blocks) == 0 {
			return
		}
		b := o.block(key)
		pos, _ := slices.BinarySearchFunc(o.blocks[b], key, bySlot)
		for ; b >= 0; b-- {
			for pos--; pos >= 0; pos-- {
				if !yield(o.blocks[b][pos].value) {
					return
				}
			}
			if b > 0 {
				pos = len(o.blocks[b-1])
			}
		}
	}
}

// oldest gives all values, the lowest key first.
func (o *ordered[T]) oldest() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		if o == nil {
			return
		}
		for _, block := range o.blocks {
			for _, s := range block {
				if !yield(s.value) {
					return
				}
			}
		}
	}
}

// grouped is an index: one ordered set for each id.
type grouped[T any] map[ID]*ordered[T]

func (g grouped[T]) put(id ID, key uint64, value *T) {
	set := g[id]
	if set == nil {
		set = new(ordered[T])
		g[id] = set
	}
	set.put(key, value)
}

func (g grouped[T]) del(id ID, key uint64) { g[id].del(key) }

// smallest returns the set with the fewest values, where a search is cheapest.
func smallest[T any](first *ordered[T], others ...*ordered[T]) *ordered[T] {
	for _, o := range others {
		if o.len() < first.len() {
			first = o
		}
	}
	return first
}
