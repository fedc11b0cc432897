package main

import "time"

// A scale is the size of a run.
type scale struct {
	rounds      int
	duration    time.Duration // of one load
	connections []int         // of the measure of acknowledgements; elsewhere the middle one
	latency     time.Duration // how long events come at a steady rate
	rules       []int
	backlog     int // events
	waiting     int // runs
	fewRows     int
	manyRows    int
	kills       int
}

// busy is how many connections deliver where their number is not what is measured.
func (s scale) busy() int { return s.connections[len(s.connections)/2] }

// scales by name. The smallest is for tests: it measures nothing and checks every account.
var scales = map[string]scale{
	"test": {
		rounds: 1, duration: 150 * time.Millisecond, connections: []int{1, 8, 16}, latency: 300 * time.Millisecond, rules: []int{10, 100},
		backlog: 300, waiting: 300, fewRows: 100, manyRows: 5000, kills: 2,
	},
	"short": {
		rounds: 3, duration: 2 * time.Second, connections: []int{1, 64, 256}, latency: 5 * time.Second, rules: []int{10, 100, 1000, 10_000},
		backlog: 10_000, waiting: 50_000, fewRows: 10_000, manyRows: 500_000, kills: 3,
	},
	"full": {
		rounds: 5, duration: 5 * time.Second, connections: []int{1, 64, 256}, latency: 30 * time.Second, rules: []int{10, 100, 1000, 10_000},
		backlog: 1_000_000, waiting: 1_000_000, fewRows: 10_000, manyRows: 10_000_000, kills: 20,
	},
}
