// Package digest sums up what rules did: of a day from their runs, and of weeks from counts.
package digest

import (
	"cmp"
	"slices"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A Sum is what one rule did in a time. From counts, only Started and Failed are known.
type Sum struct {
	journal.RuleName
	Started   int
	Sent      int // messages
	Passed    int // runs that passed a conversation on
	Escalated int // runs that did something after a wait
	Second    int // runs that did something after another wait
	Asked     int // questions, each with a wait for the answer
	Answered  int
	Failed    int // runs

	scores, total float64
}

// Average returns the average of the numbers that answers gave, if there are any.
func (s *Sum) Average() (average float64, ok bool) {
	return s.total / max(s.scores, 1), s.scores > 0
}

// OfRuns sums up what live runs did since a time, each thing at its own time, for each rule. The
// rule that did most comes first.
func OfRuns(runs []*journal.Run, since time.Time) []Sum {
	sums := map[journal.RuleName]*Sum{}
	for _, r := range runs {
		if r.Stage == rules.Shadow {
			continue
		}
		name := journal.RuleName{Workspace: r.Workspace, Rule: r.Rule}
		if sums[name] == nil {
			sums[name] = &Sum{RuleName: name}
		}
		sums[name].add(r, since)
	}
	return ordered(sums)
}

// OfCounts sums up counts of rules.
func OfCounts(counts []journal.Count) []Sum {
	sums := map[journal.RuleName]*Sum{}
	for _, one := range counts {
		if sums[one.RuleName] == nil {
			sums[one.RuleName] = &Sum{RuleName: one.RuleName}
		}
		switch {
		case one.What == journal.CountFired:
			sums[one.RuleName].Started += one.N
		case one.What == journal.CountRuns && one.Detail == string(journal.FailedRun):
			sums[one.RuleName].Failed += one.N
		}
	}
	return ordered(sums)
}

// ordered lists the rules that did something, the one that did most first.
func ordered(sums map[journal.RuleName]*Sum) (list []Sum) {
	for _, s := range sums {
		if s.Started+s.Sent+s.Passed+s.Escalated+s.Asked+s.Answered+s.Failed > 0 {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

// add adds what a run did since a time.
func (s *Sum) add(r *journal.Run, since time.Time) {
	fresh := !r.StartedAt.Before(since) // then everything that it did is
	if fresh {
		s.Started++
	}
	if (r.State == journal.FailedRun || r.State == journal.Dealt) && !r.FinishedAt.Before(since) {
		s.Failed++
	}
	waits, isAnswered, isScored := 0, false, false
	var passed, escalated, second bool
	for _, step := range r.Steps {
		switch step.Verb {
		case "wait":
			if step.State == journal.StepDone {
				waits++
			}
			continue
		case "wait_for":
			record, value := read(step)
			if fresh || !record.At.Before(since) {
				s.Asked++
			}
			if isAnswered = value != nil; isAnswered && !record.Ended.Before(since) {
				s.Answered++
			}
			continue
		case "set":
			if record, value := read(step); isAnswered && !isScored && !record.Ended.Before(since) {
				isScored = s.addScore(value)
			}
			continue
		}
		if !words.HasEffect(step) || !fresh && endedBefore(step, since) {
			continue
		}
		if step.Verb == vocabulary.SendMessage {
			s.Sent++
		}
		passed = passed || step.Verb == vocabulary.Transfer || step.Verb == vocabulary.SetSector
		escalated, second = escalated || waits > 0, second || waits > 1
	}
	s.Passed += number(passed)
	s.Escalated += number(escalated)
	s.Second += number(second)
}

// addScore adds the number that a step set, if it set one alone.
func (s *Sum) addScore(value any) bool {
	set, _ := value.(map[string]any)
	if len(set) != 1 {
		return false
	}
	for _, v := range set {
		switch v := v.(type) {
		case int64:
			s.total += float64(v)
		case int:
			s.total += float64(v)
		case float64:
			s.total += v
		default:
			return false
		}
		s.scores++
	}
	return true
}

// read returns what was recorded of a step, and its value.
func read(step *journal.Step) (engine.Record, any) {
	record, err := engine.ReadRecord(step)
	if err != nil || step.State != journal.StepDone {
		return record, nil
	}
	value, _ := engine.DecodeValue(record.Value) // one that cannot be read counts as none
	return record, value
}

func endedBefore(step *journal.Step, since time.Time) bool {
	record, err := engine.ReadRecord(step)
	return err != nil || record.Ended.Before(since)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
