package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// standing says in a sentence where a run stands and why.
func (v *view) standing(r *journal.Run) string {
	s := v.standingAlone(r)
	if r.Asked != nil {
		s = strings.TrimPrefix(s+"; "+askWords(r.Asked.What)+" as soon as an engine looks at it", "; ")
	}
	return s
}

func (v *view) standingAlone(r *journal.Run) string {
	switch r.State {
	case journal.Queued:
		return cmp.Or(r.Reason, "waits for an earlier run of the rule to finish")
	case journal.Waiting:
		if r.WakeAt.IsZero() {
			return "waits for an event"
		}
		return cmp.Or(r.Reason, "waits until "+v.ahead(r.WakeAt))
	case journal.Running:
		return v.running(r)
	case journal.Done:
		if r.Stage == rules.Shadow {
			return wouldHave(r)
		}
		return verbs(r, journal.StepDone)
	case journal.Uncertain, journal.FailedRun:
		return stepTrouble(r)
	}
	return r.Reason
}

// running says what a run at work does, or when it tries again.
func (v *view) running(r *journal.Run) string {
	if !r.WakeAt.After(v.now) {
		return cmp.Or(verbs(r, journal.StepOpen), "has steps to take")
	}
	words := "goes on at " + v.ahead(r.WakeAt)
	if s := lastStep(r, journal.StepOpen); s != nil && s.Error != "" {
		words = fmt.Sprintf("%s is tried again at %s: %s", s.Verb, v.ahead(r.WakeAt), s.Error)
	}
	return words
}

// stepTrouble says which step went wrong, and how.
func stepTrouble(r *journal.Run) string {
	s := lastStep(r, journal.StepFailed, journal.StepUncertain)
	switch {
	case s == nil:
		return r.Reason
	case s.Error == "":
		return strings.TrimSuffix(s.Verb+": "+r.Reason, ": ")
	case strings.HasPrefix(s.Error, s.Verb+":"):
		return s.Error
	}
	return s.Verb + ": " + s.Error
}

// wouldHave says what a shadow run would have done.
func wouldHave(r *journal.Run) string {
	if list := verbs(r, journal.StepWould); list != "" {
		return "would have done: " + list
	}
	return "would have changed nothing"
}

// verbs lists the verbs of the steps in a state.
func verbs(r *journal.Run, state journal.StepState) string {
	var list []string
	for _, s := range r.Steps {
		if s.State == state {
			list = append(list, s.Verb)
		}
	}
	return strings.Join(list, ", ")
}

// lastStep returns the newest step in one of the states, or nil.
func lastStep(r *journal.Run, states ...journal.StepState) *journal.Step {
	for _, s := range slices.Backward(r.Steps) {
		if slices.Contains(states, s.State) {
			return s
		}
	}
	return nil
}

// askWords says what is asked of a run.
func askWords(k journal.AskKind) string {
	switch k {
	case journal.AskCancel:
		return "it is to be cancelled"
	case journal.AskRetry:
		return "the step that failed is to be taken once more"
	case journal.AskDone:
		return "the call is to be taken as done"
	case journal.AskRepeat:
		return "the call is to be made again"
	}
	return string(k)
}
