package store

import (
	"iter"
	"math"
	"slices"
)

// blockSize bounds what one change has to move: a few kilobytes, however many
// values there are.
const blockSize = 256

// Ordered holds values by a rising key and gives them newest (highest key)
// first. It is a list of sorted blocks, so that finding, adding and removing
// stay cheap among a hundred thousand values, and a page is read without
// touching the rest.
type Ordered[T any] struct {
	blocks [][]slot[T]
	n      int
}

type slot[T any] struct {
	key   uint64
	value *T
}

// Len returns how many values there are.
func (o *Ordered[T]) Len() int {
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
func (o *Ordered[T]) block(key uint64) int {
	n, _ := slices.BinarySearchFunc(o.blocks, key, func(b []slot[T], key uint64) int {
		return bySlot(b[len(b)-1], key)
	})
	return min(n, len(o.blocks)-1)
}

// Put adds a value, or replaces the one that has the key.
func (o *Ordered[T]) Put(key uint64, value *T) {
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
		o.Put(key, value)
	}
}

// Delete removes the value that has the key, if there is one.
func (o *Ordered[T]) Delete(key uint64) {
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

// Newest gives all values, the highest key first.
func (o *Ordered[T]) Newest() iter.Seq[*T] { return o.Before(math.MaxUint64) }

// Before gives the values whose key is lower than key, the highest first.
func (o *Ordered[T]) Before(key uint64) iter.Seq[*T] {
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

// Oldest gives all values, the lowest key first.
func (o *Ordered[T]) Oldest() iter.Seq[*T] {
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

// Grouped is an index: one ordered set for each id.
type Grouped[T any] map[ID]*Ordered[T]

// Put adds a value to the set of an id.
func (g Grouped[T]) Put(id ID, key uint64, value *T) {
	set := g[id]
	if set == nil {
		set = new(Ordered[T])
		g[id] = set
	}
	set.Put(key, value)
}

// Delete removes a value from the set of an id.
func (g Grouped[T]) Delete(id ID, key uint64) { g[id].Delete(key) }

// Smallest returns the set with the fewest values, where a search is cheapest.
func Smallest[T any](first *Ordered[T], others ...*Ordered[T]) *Ordered[T] {
	for _, o := range others {
		if o.Len() < first.Len() {
			first = o
		}
	}
	return first
}
