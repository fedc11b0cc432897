package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// Standing says in a sentence where a run stands and why.
func (v *View) Standing(r *journal.Run) string {
	s := v.standingAlone(r)
	if r.Asked != nil {
		s = strings.TrimPrefix(s+"; "+AskWords(r.Asked.What)+" as soon as an engine looks at it", "; ")
	}
	return s
}

func (v *View) standingAlone(r *journal.Run) string {
	switch r.State {
	case journal.Queued:
		return cmp.Or(r.Reason, "waits for an earlier run of the rule to finish")
	case journal.Waiting:
		if r.WakeAt.IsZero() {
			return "waits for an event"
		}
		return cmp.Or(r.Reason, "waits until "+v.Ahead(r.WakeAt))
	case journal.Running:
		return v.running(r)
	case journal.Done:
		if r.Stage == rules.Shadow {
			return wouldHave(r)
		}
		return verbs(r, journal.StepDone)
	case journal.Uncertain, journal.FailedRun, journal.Dealt:
		return stepTrouble(r)
	}
	return r.Reason
}

// running says what a run at work does, or when it tries again.
func (v *View) running(r *journal.Run) string {
	if !r.WakeAt.After(v.Now) {
		return cmp.Or(verbs(r, journal.StepOpen), "has steps to take")
	}
	words := "goes on at " + v.Ahead(r.WakeAt)
	if s := storage.LastStep(r, journal.StepOpen); s != nil && s.Error != "" {
		words = fmt.Sprintf("%s is tried again at %s: %s", s.Verb, v.Ahead(r.WakeAt), s.Error)
	}
	return words
}

// stepTrouble says which step went wrong, and how.
func stepTrouble(r *journal.Run) string {
	s := storage.LastStep(r, journal.StepFailed, journal.StepUncertain)
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

// wouldHave describes what a shadow run would have done.
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

// AskWords describes a request for a run.
func AskWords(k journal.AskKind) string {
	switch k {
	case journal.AskCancel:
		return "it is to be cancelled"
	case journal.AskRetry:
		return "the step that failed is to be taken once more"
	case journal.AskDealt:
		return "somebody has dealt with it"
	case journal.AskDone:
		return "the call is to be taken as done"
	case journal.AskRepeat:
		return "the call is to be made again"
	}
	return string(k)
}
