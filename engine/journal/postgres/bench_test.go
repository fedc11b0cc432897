package postgres

import (
	"fmt"
	"sync"
	"testing"

	"github.com/quandohq/quando/engine/journal/journaltest"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// durable returns a server that syncs, for measurements.
var durable = sync.OnceValues(func() (*postgrestest.Server, error) { return postgrestest.Start(true) })

// engines opens a journal in an empty database for n engines.
func engines(b *testing.B, n int) (list []journaltest.Journal) {
	server, err := durable()
	if err != nil {
		b.Fatal(err)
	}
	address := server.Database(b)
	for range n {
		list = append(list, open(b, address, Options{}))
	}
	return list
}

func BenchmarkAccept(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) { journaltest.BenchmarkAccept(b, engines(b, 1), callers) })
	}
}

// BenchmarkCycle takes events from their arrival to a finished run, with one engine and with two.
func BenchmarkCycle(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { journaltest.BenchmarkCycle(b, engines(b, n), 64, 1) })
	}
}
