package simulation

import (
	"reflect"
	"slices"
	"time"
)

// Shrink removes from a scenario what is not needed for it to fail, until nothing more can be
// removed or the budget of tries is used up. The result fails if the scenario did; it is the
// scenario itself if nothing can be removed. An exact scenario stays exact, and the rules stay
// valid.
//
// A pass lists the edits for the current scenario, large ones first. It keeps an edit that still
// fails, and lists again from there on; passes repeat until none finds anything.
func Shrink(s *Scenario, fails func(*Scenario) bool, budget int) *Scenario {
	h := &shrinker{now: s, fails: fails, budget: budget, exact: s.Exact && keeps(s), right: s.Compiles() == nil}
	for progress := true; progress && h.budget > 0; {
		progress = false
		for _, pass := range passes {
			progress = h.tryEdits(pass) || progress
		}
	}
	return h.now
}

// An edit makes a scenario smaller. It returns false if it does not apply.
type edit func(*Scenario) bool

// passes list edits, those that take away most first.
var passes = []func(*Scenario) []edit{
	dropTroubles, dropOther, dropRules, dropActs, dropSteps, dropConds, dropKeys, dropCustomers, fewerOfTroubles, shorterTimes, simplerSteps, dropOfOther,
}

type shrinker struct {
	now    *Scenario
	fails  func(*Scenario) bool
	budget int
	exact  bool // it is to keep to what exact scenarios do
	right  bool // its rules are to be right
}

// tryEdits goes through the edits of a pass, and reports whether any was kept.
func (h *shrinker) tryEdits(pass func(*Scenario) []edit) (progress bool) {
	for i := 0; h.budget > 0; {
		list := pass(h.now)
		if i >= len(list) {
			break
		}
		if !h.try(list[i]) {
			i++
			continue
		}
		progress = true
	}
	return progress
}

// try makes an edit, and keeps it where the scenario fails still.
func (h *shrinker) try(do edit) bool {
	c := h.now.Clone()
	if !do(c) || reflect.DeepEqual(c, h.now) || h.exact && !keeps(c) || h.right && c.Compiles() != nil {
		return false
	}
	h.budget--
	if !h.fails(c.Clone()) {
		return false
	}
	h.now = c
	return true
}

// chunks lists edits that take stretches out of a list of n: all, halves, quarters, and so on down
// to one. The last come first, because what comes first is mostly what starts the rest.
func chunks(n int, without func(s *Scenario, from, to int) bool) (list []edit) {
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; to -= size {
			from := max(0, to-size)
			list = append(list, func(s *Scenario) bool { return without(s, from, to) })
		}
	}
	return list
}

func dropTroubles(s *Scenario) []edit {
	return chunks(len(s.Troubles), func(s *Scenario, from, to int) bool { s.Troubles = slices.Delete(s.Troubles, from, to); return true })
}

func dropActs(s *Scenario) []edit {
	return chunks(len(s.Story), func(s *Scenario, from, to int) bool { s.Story = slices.Delete(s.Story, from, to); return true })
}

// dropOther removes the reload, or the rules before it.
func dropOther(s *Scenario) []edit {
	if s.Other == nil {
		return nil
	}
	still := func(s *Scenario) {
		s.Other = nil
		s.Story = slices.DeleteFunc(s.Story, func(a Act) bool { return a.Kind == ActReloads })
	}
	return []edit{
		func(s *Scenario) bool { still(s); return true },
		func(s *Scenario) bool { s.Rules = s.Other; still(s); return true },
	}
}

func dropRules(s *Scenario) []edit {
	return chunks(len(s.Rules), func(s *Scenario, from, to int) bool {
		for _, r := range s.Rules[from:to] {
			s.Other = slices.DeleteFunc(s.Other, func(o Rule) bool { return o.ID == r.ID })
			s.Story = slices.DeleteFunc(s.Story, func(a Act) bool {
				return a.Text == r.ID && (a.Kind == ActFires || a.Kind == ActPauses || a.Kind == ActResumes)
			})
		}
		s.Rules = slices.Delete(s.Rules, from, to)
		return len(s.Rules) > 0 && (s.Other == nil || len(s.Other) > 0)
	})
}

// dropOfOther takes rules away that only come with a reload.
func dropOfOther(s *Scenario) []edit {
	return chunks(len(s.Other), func(s *Scenario, from, to int) bool {
		s.Other = slices.Delete(s.Other, from, to)
		return len(s.Other) > 0
	})
}

// dropCustomers merges one customer's acts into another's, and drops idle customers.
func dropCustomers(s *Scenario) (list []edit) {
	rename := func(s *Scenario, from, to string) {
		for i := range s.Story {
			if s.Story[i].Customer == from {
				s.Story[i].Customer = to
			}
		}
		for _, rules := range [][]Rule{s.Rules, s.Other} {
			everyStep(rules, func(x *Step) {
				if x.To == from {
					x.To = to
				}
			})
		}
	}
	used := func(s *Scenario, name string) bool {
		found := slices.ContainsFunc(s.Story, func(a Act) bool { return a.Customer == name })
		for _, rules := range [][]Rule{s.Rules, s.Other} {
			everyStep(rules, func(x *Step) { found = found || x.To == name })
		}
		return found
	}
	for i := len(s.Customers) - 1; i > 0; i-- {
		list = append(list, func(s *Scenario) bool {
			if used(s, s.Customers[i]) {
				return false
			}
			s.Customers = slices.Delete(s.Customers, i, i+1)
			return true
		}, func(s *Scenario) bool {
			rename(s, s.Customers[i], s.Customers[0])
			s.Customers = slices.Delete(s.Customers, i, i+1)
			return true
		})
	}
	return list
}

// fewerOfTroubles makes troubles strike earlier, shorter and less often, and takes the safety
// bounds away.
func fewerOfTroubles(s *Scenario) []edit {
	list := []edit{func(s *Scenario) bool { s.Safety = Safety{}; return true }}
	for i := range s.Troubles {
		change := func(do func(*Trouble)) {
			list = append(list, func(s *Scenario) bool { do(&s.Troubles[i]); return true })
		}
		change(func(t *Trouble) { t.More = min(t.More, 1) })
		change(func(t *Trouble) { t.N = min(t.N, 1) })
		change(func(t *Trouble) { t.N -= t.N / 2 })
		change(func(t *Trouble) { t.N -= min(1, max(0, t.N-1)) })
		for _, shorter := range []time.Duration{time.Second, 5 * time.Second, time.Minute, 10 * time.Minute, time.Hour} {
			if t := s.Troubles[i]; t.For > shorter && t.Kind != TroublePrune {
				change(func(t *Trouble) { t.For = shorter })
			}
		}
		change(func(t *Trouble) { t.At = t.At.Truncate(time.Minute) })
	}
	return list
}

// shorterTimes moves acts together, to rounder times, ends the scenario sooner, and begins on a
// Monday morning.
func shorterTimes(s *Scenario) (list []edit) {
	gap := func(i int, to time.Duration) edit {
		return func(s *Scenario) bool {
			at, before := s.Story[i].At, time.Duration(0)
			if i > 0 {
				before = s.Story[i-1].At
			}
			less := at - before - to
			if s.Exact {
				less -= less % mark
			}
			if less <= 0 {
				return false
			}
			for a := i; a < len(s.Story); a++ {
				s.Story[a].At -= less
			}
			for t := range s.Troubles {
				if s.Troubles[t].At >= at {
					s.Troubles[t].At -= less
				}
			}
			return true
		}
	}
	gaps := []time.Duration{0, time.Second, time.Minute, 10 * time.Minute, mark, time.Hour, 6 * time.Hour}
	for i := range s.Story {
		for _, to := range gaps {
			list = append(list, gap(i, to))
		}
		for _, round := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
			list = append(list, func(s *Scenario) bool {
				a := &s.Story[i]
				a.At = a.At.Truncate(round)
				return i == 0 || a.At >= s.Story[i-1].At
			})
		}
		list = append(list, func(s *Scenario) bool { s.Story[i].Text = firstWord(s.Story[i].Text); return true })
	}
	for _, tail := range []time.Duration{mark, 2 * mark, 4 * mark, 12 * mark, 24 * mark, 48 * mark, 96 * mark} {
		list = append(list, func(s *Scenario) bool {
			end := tail
			if n := len(s.Story); n > 0 {
				end += s.Story[n-1].At.Truncate(mark)
			}
			if s.Exact {
				end += endPhase
			}
			shorter := end < s.Length
			s.Length = min(s.Length, end)
			return shorter
		})
	}
	return append(list, func(s *Scenario) bool { s.Start = time.Date(2026, 11, 9, 12, 3, 0, 0, time.UTC); return true })
}
