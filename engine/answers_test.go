package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/service/sandbox"
)

// TestAnswersAroundAWait shows that the answers to a run's questions, before and after a wait, are
// recorded with the step that asked.
func TestAnswersAroundAWait(t *testing.T) {
	d := newDesk(t, office+`
rules:
  - id: it
    when: message.received
    do:
      - wait: 15m of office
      - stop_if: attendance.status != "open"
      - wait_for: { event: message.received, if: human_active("1h"), timeout: 20m }
      - log: done
`)
	d.customer(ana, "hello")
	d.passTo(time.Date(2026, 11, 14, 9, 6, 0, 0, saoPaulo))
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "hi"}))
	d.customer(ana, "still there?")
	d.pass(time.Hour)
	run := d.runs("it")[0]
	asked := map[string][]string{}
	waits, passed := []string{}, engine.Passed("")
	for _, s := range run.Steps {
		r := must(engine.ReadRecord(s))
		for question := range r.Answers {
			asked[s.Path] = append(asked[s.Path], question)
		}
		if after := r.Passed(s, passed); after != passed {
			waits, passed = append(waits, r.Wait), after
			if ended := must(engine.DecodeValue(r.Value)); (ended != nil) != (s.Verb == "wait_for") {
				t.Errorf("%s was ended by %v", s.Verb, ended)
			}
		}
	}
	if e := must(d.journal.Events(t.Context(), run.Event)); e[0].Answers["attendance"] == nil {
		t.Errorf("which attendance it is about was not asked with the decision: %v", e[0].Answers)
	}
	for path, want := range map[string]string{"2": "attendance", "3": "human_active(1h)"} {
		if !slices.Equal(asked[path], []string{want}) {
			t.Errorf("step %s asked %v, want %s\n%s", path, asked[path], want, d.trace())
		}
	}
	if !slices.Equal(waits, []string{"15m of office", "20m"}) {
		t.Errorf("waits: %v", waits)
	}
}

// TestAnswersOfAGatheringRule shows that a rule that gathers decides later than the others, and may
// get other answers.
func TestAnswersOfAGatheringRule(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: at-once, when: message.received, if: human_active("15m"), do: [log: x] }
  - { id: later, when: message.received, gather: { quiet: 20s, at_most: 1m }, if: human_active("15m"), do: [log: x] }
`)
	d.customer(ana, "hello")
	d.pass(5 * time.Second)
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: ana, Person: "Bruno", Text: "hi"}))
	d.pass(time.Minute)
	d.wantStates("at-once")
	d.wantStates("later", "done")
	e := must(d.journal.Events(t.Context(), d.runs("later")[0].Event))[0]
	before, _ := engine.AnswerTo(e.Answers, "human_active(15m)")
	after, _ := engine.AnswerTo(e.Answers, "human_active(15m) of later")
	if before != false || after != true {
		t.Errorf("was told %v, and then %v", before, after)
	}
}
