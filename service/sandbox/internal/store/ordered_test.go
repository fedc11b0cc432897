package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOrdered holds the index to a plain sorted list.
func TestOrdered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var set Ordered[int]
	var plain []uint64
	for range 20_000 {
		key := uint64(random.IntN(4000) + 1)
		pos, there := slices.BinarySearch(plain, key)
		switch {
		case random.IntN(3) > 0 && !there:
			value := int(key)
			set.Put(key, &value)
			plain = slices.Insert(plain, pos, key)
		case there:
			set.Delete(key)
			plain = slices.Delete(plain, pos, pos+1)
		}
	}
	from := uint64(2000)
	var want, got []uint64
	for _, key := range plain {
		if key < from {
			want = append([]uint64{key}, want...)
		}
	}
	for v := range set.Before(from) {
		got = append(got, uint64(*v))
	}
	if diff := cmp.Diff(want, got); diff != "" || set.Len() != len(plain) {
		t.Errorf("%d of %d (-want +got):\n%s", set.Len(), len(plain), diff)
	}
	var oldest []uint64
	for v := range set.Oldest() {
		oldest = append(oldest, uint64(*v))
	}
	if diff := cmp.Diff(plain, oldest); diff != "" {
		t.Errorf("oldest (-want +got):\n%s", diff)
	}
}
