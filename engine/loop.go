package engine

import (
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"slices"
	"strconv"
	"strings"
)

// A run that waits inside of a for_each is walked anew after each wait. So that this does not take
// longer with every item, items that are over are not walked: of each step in them only what it did
// last is remembered, because everything before that was written over by it. The others stay
// recorded for those who look, but are not kept.

// reach adds a step that the run has just reached.
func reach(r *journal.Run, s *journal.Step) *journal.Step {
	if s.N = r.Reached(); s.N < r.Kept.From && !slices.Contains(r.Kept.Also, s.N) {
		r.Kept.Also = append(slices.Clone(r.Kept.Also), s.N) // it was reached before, and not recorded
	}
	r.Steps = append(r.Steps, s)
	return s
}

// keep returns the steps that a run that is not finished needs to go on: of one that was taken for
// several items, the last time that it came to its end.
func (p *pending) keep(r *journal.Run) journal.Kept {
	if !slices.ContainsFunc(r.Steps, func(s *journal.Step) bool { return strings.IndexByte(s.Path, '[') >= 0 }) {
		return r.Kept
	}
	last := make(map[string]*journal.Step)
	var also []int
	called := false
	for _, s := range slices.Backward(r.Steps) {
		written := writtenPath(s.Path)
		later := last[written]
		rec := p.records[s]
		switch {
		case !s.State.Finished() || rec != nil && rec.Again > 0: // how often a person let something be tried again is counted
		case later == nil:
			last[written] = s
		case s.Attempts > 0 && !called: // that something was changed has to be known
		case s.State != journal.StepWould || later.State == journal.StepWould: // what was not really done has to be known
			continue
		}
		also, called = append(also, s.N), called || s.Attempts > 0
	}
	if len(also) == len(r.Steps) && r.Kept.All() {
		return r.Kept
	}
	slices.Reverse(also)
	return journal.Kept{From: r.Reached(), Also: also}
}

// writtenPath returns the path of a step as its rule has it, without the places of items.
func writtenPath(path string) string {
	var b strings.Builder
	for {
		from, to := strings.IndexByte(path, '['), strings.IndexByte(path, ']')
		if from < 0 || to < from {
			b.WriteString(path)
			return b.String()
		}
		b.WriteString(path[:from+1])
		b.WriteByte(']')
		path = path[to+1:]
	}
}

// placesIn returns the places of the items in a path, the outermost first, each with the path of
// its for_each.
func placesIn(path string, place func(loop string, item int)) {
	for at := 0; ; {
		from, to := strings.IndexByte(path[at:], '['), strings.IndexByte(path[at:], ']')
		if from < 0 || to < from {
			return
		}
		if item, err := strconv.Atoi(path[at+from+1 : at+to]); err == nil {
			place(path[:at+from], item)
		}
		at += to + 1
	}
}

// passedItems returns how many items of each for_each are over for good: those before the last that
// was reached.
func passedItems(steps []*journal.Step) map[string]int {
	var passed map[string]int
	for _, s := range steps {
		placesIn(s.Path, func(loop string, item int) {
			if item > passed[loop] {
				put(&passed, loop, item)
			}
		})
	}
	return passed
}

// rememberItems makes what the steps of a for_each did for so many of its items, all of which are
// over, known to those behind them.
func (k *walk) rememberItems(loop string, items int) error {
	if items == 0 {
		return nil
	}
	written := make(map[string]int)
	list := slices.Collect(k.rule.Steps())
	for i, s := range list {
		written[s.Path] = i
	}
	for _, taken := range k.run.Steps {
		if !strings.HasPrefix(taken.Path, loop+"[") {
			continue
		}
		k.indexes = nil
		over := false
		placesIn(taken.Path, func(of string, item int) {
			k.indexes = append(k.indexes, item)
			over = over || of == loop && item < items
		})
		if !over {
			continue
		}
		i, known := written[writtenPath(taken.Path)]
		if !known || !taken.State.Finished() {
			return fmt.Errorf("step %s cannot have been passed", taken.Path)
		}
		if taken.State == journal.StepDone && nests(list[i]) {
			continue // its steps are remembered themselves
		}
		rec, err := k.record(taken)
		if err != nil {
			return err
		}
		if err := k.remember(list[i], taken, rec); err != nil {
			return err
		}
	}
	return nil
}

// passWait returns the waits that the run has behind it after another one. One in a for_each is
// recorded with them, because those before it may not be kept.
func (k *walk) passWait(rec *record, event string) Passed {
	if rec.Passed != "" {
		return rec.Passed
	}
	passed := k.facts.passed.with(rec.Wait, event)
	if len(k.indexes) > 0 {
		rec.Passed = passed
	}
	return passed
}
