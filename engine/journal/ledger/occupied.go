package ledger

import "hash/maphash"

// Occupied remembers lanes in which something was left waiting, so that they are not opened in
// vain. It may be wrong: what counts is what the transaction finds. Who uses it has a lock.
type Occupied struct {
	seed  maphash.Seed
	lanes [1 << 14]uint64 // a lane's hash, in its place
}

// NewOccupied returns one that remembers nothing.
func NewOccupied() *Occupied { return &Occupied{seed: maphash.MakeSeed()} }

func (o *Occupied) place(k LaneKey) (place *uint64, hash uint64) {
	hash = maphash.Comparable(o.seed, k)
	return &o.lanes[hash%uint64(len(o.lanes))], hash
}

// Note notes whether something is left in a lane.
func (o *Occupied) Note(k LaneKey, left bool) {
	switch place, hash := o.place(k); {
	case left:
		*place = hash
	case *place == hash:
		*place = 0
	}
}

// Is reports whether something was left in a lane when it was last noted.
func (o *Occupied) Is(k LaneKey) bool {
	place, hash := o.place(k)
	return *place == hash
}
