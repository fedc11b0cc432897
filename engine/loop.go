package engine

import (
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"slices"
	"strconv"
	"strings"
)

// A run that waits inside of a for_each is walked anew after each wait. To keep this from taking
// longer with every item, finished items are not walked. Of each step in them only the last
// execution is restored, because it replaced the results of all earlier ones. The earlier ones stay
// in the journal for people to see, but are not loaded.

// addStep adds a step that the run has just reached.
func addStep(r *journal.Run, s *journal.Step) *journal.Step {
	if s.N = r.Reached(); s.N < r.Kept.From && !slices.Contains(r.Kept.Also, s.N) {
		r.Kept.Also = append(slices.Clone(r.Kept.Also), s.N) // an earlier visit reached it and did not record it
	}
	r.Steps = append(r.Steps, s)
	return s
}

// stepsToKeep returns the steps that an unfinished run needs to continue: of a step that was taken
// for several items, the last execution that has ended.
func (p *pending) stepsToKeep(r *journal.Run) journal.Kept {
	if !slices.ContainsFunc(r.Steps, func(s *journal.Step) bool { return strings.IndexByte(s.Path, '[') >= 0 }) {
		return r.Kept
	}
	last := make(map[string]*journal.Step)
	var also []int
	called := false
	for _, s := range slices.Backward(r.Steps) {
		written := rulePath(s.Path)
		later := last[written]
		rec := p.records[s]
		switch {
		case !s.State.Finished() || rec != nil && rec.Again > 0: // the retries that people asked for are counted
		case later == nil:
			last[written] = s
		case s.Attempts > 0 && !called: // one call has to be kept: facts are fetched again after it
		case s.State != journal.StepWould || later.State == journal.StepWould: // a step that a shadow run did not really take has to be kept
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

// rulePath returns the path of a step as it is in the rule, without the indexes of items.
func rulePath(path string) string {
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

// itemIndexes calls found with the item indexes in a path, the outermost first, each with the path
// of its for_each.
func itemIndexes(path string, found func(loop string, item int)) {
	for at := 0; ; {
		from, to := strings.IndexByte(path[at:], '['), strings.IndexByte(path[at:], ']')
		if from < 0 || to < from {
			return
		}
		if item, err := strconv.Atoi(path[at+from+1 : at+to]); err == nil {
			found(path[:at+from], item)
		}
		at += to + 1
	}
}

// passedItems returns how many items of each for_each are finished for good: those before the last
// one reached.
func passedItems(steps []*journal.Step) map[string]int {
	var passed map[string]int
	for _, s := range steps {
		itemIndexes(s.Path, func(loop string, item int) {
			if item > passed[loop] {
				put(&passed, loop, item)
			}
		})
	}
	return passed
}

// restoreItems restores the results of a for_each's steps for its first items, which are all
// finished, for the steps behind them.
func (k *walk) restoreItems(loop string, items int) error {
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
		itemIndexes(taken.Path, func(of string, item int) {
			k.indexes = append(k.indexes, item)
			over = over || of == loop && item < items
		})
		if !over {
			continue
		}
		i, known := written[rulePath(taken.Path)]
		if !known || !taken.State.Finished() {
			return fmt.Errorf("step %s cannot have been passed", taken.Path)
		}
		if taken.State == journal.StepDone && hasSubsteps(list[i]) {
			continue // its substeps are restored by themselves
		}
		rec, err := k.record(taken)
		if err != nil {
			return err
		}
		if err := k.restore(list[i], taken, rec); err != nil {
			return err
		}
	}
	return nil
}

// passedAfter returns the waits that the run has passed after another one. In a for_each they are
// recorded with the wait, because the earlier ones may not be kept.
func (k *walk) passedAfter(rec *record, event string) Passed {
	if rec.Passed != "" {
		return rec.Passed
	}
	passed := k.facts.passed.with(rec.Wait, event)
	if len(k.indexes) > 0 {
		rec.Passed = passed
	}
	return passed
}
