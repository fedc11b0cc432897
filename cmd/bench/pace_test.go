package main

import (
	"testing"
	"time"
)

// TestPace shows which delays are those of a machine that had lost its pace.
func TestPace(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	p := pace{usual: 10 * time.Microsecond}
	for ms := 0; ms < 100; ms += 2 {
		l := paceSample{at(ms), 11 * time.Microsecond}
		if ms >= 40 && ms < 60 {
			l.took = 110 * time.Microsecond
		}
		p.looks = append(p.looks, l)
	}
	for _, c := range []struct {
		name     string
		from, to int
		lost     bool
	}{
		{"long before", 10, 12, false},
		{"right before", 36, 38, true},
		{"into it", 30, 45, true},
		{"inside", 50, 51, true},
		{"over all of it", 10, 90, true},
		{"right after", 60, 61, true},
		{"long after", 70, 80, false},
		{"after the last look", 200, 210, false},
	} {
		if got := p.lost(at(c.from), at(c.to)); got != c.lost {
			t.Errorf("%s: lost is %t, want %t", c.name, got, c.lost)
		}
	}
	if got := p.share(); got != 0.2 {
		t.Errorf("the pace was lost in %v of the looks, want 0.2", got)
	}
}

// TestPaceOfThisMachine shows that looks are taken, and that a machine is not slower than itself.
func TestPaceOfThisMachine(t *testing.T) {
	stop := watchPace()
	time.Sleep(200 * time.Millisecond)
	p := stop()
	if len(p.looks) < 2 || p.usual <= 0 {
		t.Fatalf("%d looks, usually of %v", len(p.looks), p.usual)
	}
	if p.share() > 0.5 {
		t.Errorf("more than half of the looks are slower than usual: %v of %v", p.share(), p.looks)
	}
}
