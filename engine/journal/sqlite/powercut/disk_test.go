//go:build linux && cgo

package powercut

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A disk is the possible contents of a disk. It holds what was synced, and any part of what was
// written since.
type disk struct {
	folder  map[string]*file // as programs see it
	durable map[string]*file // as it was at the last sync of the folder
	changes queue[change]    // changes of the folder since then
	syncs   map[uint64]func()
}

// A file is identified by its inode: one that was removed and created again is another.
type file struct {
	inode  uint64
	synced []byte
	writes queue[entry] // since the last sync, in order
}

// A change gives a name to a file, or with a nil file removes the name.
type change struct {
	name string
	file *file
}

// A queue holds what is not synced yet. The number of an item stays the same when those before it
// are synced.
type queue[T any] struct {
	first int
	list  []T
}

func (q *queue[T]) add(one T) { q.list = append(q.list, one) }
func (q *queue[T]) end() int  { return q.first + len(q.list) }

// upTo returns and removes the items before a number.
func (q *queue[T]) upTo(end int) []T {
	n := max(end-q.first, 0)
	taken := q.list[:n]
	q.first, q.list = q.first+n, q.list[n:]
	return taken
}

func newDisk(files map[string][]byte) *disk {
	d := &disk{folder: map[string]*file{}, durable: map[string]*file{}, syncs: map[uint64]func(){}}
	for name, content := range files {
		f := &file{synced: slices.Clone(content)}
		d.folder[name], d.durable[name] = f, f
	}
	return d
}

// apply applies an entry to the disk.
func (d *disk) apply(e entry) error {
	switch e.kind {
	case opened:
		d.file(e)
	case written, truncated:
		f := d.file(e)
		f.writes.add(e)
	case syncBegun:
		if e.name == "." {
			end := d.changes.end()
			d.syncs[e.at] = func() {
				for _, c := range d.changes.upTo(end) {
					c.apply(d.durable)
				}
			}
			break
		}
		f := d.file(e)
		end := f.writes.end()
		d.syncs[e.at] = func() {
			for _, w := range f.writes.upTo(end) {
				f.synced = w.applyTo(f.synced)
			}
		}
	case syncEnded:
		d.syncs[e.at]()
		delete(d.syncs, e.at)
	case unlinked:
		d.change(change{e.name, nil})
	case renamed:
		f := d.folder[e.name]
		d.change(change{e.name, nil})
		d.change(change{string(e.data), f})
	default:
		return fmt.Errorf("an entry of kind %q", e.kind)
	}
	return nil
}

// file returns the file of an entry, and creates it if it is not known.
func (d *disk) file(e entry) *file {
	if e.name == "." {
		return nil
	}
	f := d.folder[e.name]
	switch {
	case f == nil:
		f = &file{inode: e.inode}
		d.change(change{e.name, f})
	case f.inode == 0:
		f.inode = e.inode // it existed when the record began
	case f.inode != e.inode:
		f = &file{inode: e.inode}
		d.change(change{e.name, f})
	}
	return f
}

func (d *disk) change(c change) {
	c.apply(d.folder)
	d.changes.add(c)
}

func (c change) apply(folder map[string]*file) {
	if c.file == nil {
		delete(folder, c.name)
	} else {
		folder[c.name] = c.file
	}
}

// applyTo writes into the content of a file, or truncates it.
func (e entry) applyTo(content []byte) []byte {
	end := int(e.at) + len(e.data)
	if e.kind == truncated && end < len(content) {
		return content[:end]
	}
	if end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[e.at:], e.data)
	return content
}

// A survival says what of the unsynced writes survives a power cut.
type survival int

const (
	nothing    survival = iota // the disk has exactly what was synced
	everything                 // the machine was reset, and the disk was not
	prefixes                   // the first writes of each file, and of the folder
	sectors                    // the first writes of each sector of each file
)

func (s survival) String() string {
	return [...]string{"nothing unsynced", "everything", "what came first", "sectors"}[s]
}

// cut returns the files after a power cut.
func (d *disk) cut(random *rand.Rand, s survival) map[string][]byte {
	size := []int{512, 4096}[random.IntN(2)]
	folder := map[string]*file{}
	for name, f := range d.durable {
		folder[name] = f
	}
	for _, c := range d.changes.list[:some(random, s, len(d.changes.list))] {
		c.apply(folder)
	}
	files := map[string][]byte{}
	for name, f := range folder {
		content := slices.Clone(f.synced)
		if s == sectors {
			content = f.torn(random, content, size)
		} else {
			for _, w := range f.writes.list[:some(random, s, len(f.writes.list))] {
				content = w.applyTo(content)
			}
		}
		files[name] = content
	}
	return files
}

// some returns how many of n writes survive.
func some(random *rand.Rand, s survival, n int) int {
	switch s {
	case nothing:
		return 0
	case everything:
		return n
	}
	return random.IntN(n + 1)
}

// torn returns a file in which each sector holds the writes up to a different moment.
func (f *file) torn(random *rand.Rand, content []byte, size int) []byte {
	stops := []float64{0.05, 0.5, 0.95}[random.IntN(3)] // how likely a sector misses all further writes
	const length = -1                                   // the length of the file, which is written independently of its sectors
	stopped := map[int]bool{}
	reaches := func(place int) bool {
		stopped[place] = stopped[place] || random.Float64() < stops
		return !stopped[place]
	}
	for _, w := range f.writes.list {
		if w.kind == truncated {
			if reaches(length) {
				content = w.applyTo(content)
			}
			continue
		}
		for at, end := int(w.at), int(w.at)+len(w.data); at < end; {
			next := min(at/size*size+size, end)
			if reaches(at / size) {
				content = entry{kind: written, at: uint64(at), data: w.data[at-int(w.at) : next-int(w.at)]}.applyTo(content)
			}
			at = next
		}
	}
	return content
}
