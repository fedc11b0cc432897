package ledger

import "hash/maphash"

// Occupied is a lossy cache of lanes in which something is pending, so that the engine does not try
// to open them in vain. It may be wrong: only the transaction decides. It is not safe for
// concurrent use.
type Occupied struct {
	seed  maphash.Seed
	lanes [1 << 14]uint64 // hashes of lanes; each lane has one bucket
}

// NewOccupied returns an empty cache.
func NewOccupied() *Occupied { return &Occupied{seed: maphash.MakeSeed()} }

func (o *Occupied) bucket(k LaneKey) (bucket *uint64, hash uint64) {
	hash = maphash.Comparable(o.seed, k)
	return &o.lanes[hash%uint64(len(o.lanes))], hash
}

// Note records whether something is pending in a lane.
func (o *Occupied) Note(k LaneKey, left bool) {
	switch bucket, hash := o.bucket(k); {
	case left:
		*bucket = hash
	case *bucket == hash:
		*bucket = 0
	}
}

// Is reports whether something was pending in a lane when it was last noted.
func (o *Occupied) Is(k LaneKey) bool {
	bucket, hash := o.bucket(k)
	return *bucket == hash
}
