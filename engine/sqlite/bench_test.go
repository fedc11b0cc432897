//go:build cgo

package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/engine/journaltest"
)

func BenchmarkAccept(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			journaltest.BenchmarkAccept(b, []journaltest.Journal{open(b, filepath.Join(b.TempDir(), "quando.db"), Options{})}, callers)
		})
	}
}

// BenchmarkCycle takes events from their arrival to a finished run.
func BenchmarkCycle(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			journaltest.BenchmarkCycle(b, []journaltest.Journal{open(b, filepath.Join(b.TempDir(), "quando.db"), Options{})}, workers)
		})
	}
}
