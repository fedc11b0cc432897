package plain_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/rules/plain"
)

// processorTime returns what the process has spent so far.
func processorTime(t *testing.T) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Numbers that are as small as numbers can be take a hundred times as long to read as others. A
// document does not cost more for being full of them, and has as many as any that is meant may
// have.
func TestSmallNumbers(t *testing.T) {
	list := func(number string, n int) string { return "[" + strings.Repeat(number+",", n) + number + "]" }
	cost := func(text string) time.Duration {
		began := processorTime(t)
		for range 5 {
			_, _ = plain.Decode(text)
		}
		return processorTime(t) - began
	}
	for _, small := range []string{"5e-324", "2E-308", "-1e-325", "0.01e-320"} {
		ordinary, took := cost(list("1e+300", 50_000)), cost(list(small, 50_000))
		t.Logf("%s: %v, others %v", small, took, ordinary)
		if took > 10*ordinary+50*time.Millisecond {
			t.Errorf("50,000 of %s take %v of processor time, and others %v", small, took, ordinary)
		}
		if _, err := plain.Decode(list(small, 500)); err != nil {
			t.Errorf("500 of %s: %v", small, err)
		}
	}
	if _, err := plain.Decode(list("1e-300", 50_000)); err != nil {
		t.Error(err)
	}
	if _, err := plain.Decode(list("0e-400", 50_000)); err != nil {
		t.Error(err)
	}
}
