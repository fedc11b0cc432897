package story

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

const (
	clockIcon  = "clock"
	officeIcon = "sun" // of a line about opening hours
	maxPauses  = 20    // of one clock
)

// waits tells that a clock was started, when it paused and went on, and that no answer came.
func (t *Teller) waits(rule *rules.Rule, line Line, s step) (lines []Line) {
	started := line
	started.Icon, started.Tone, started.Head = clockIcon, Waits, t.clockWords(s, line.At)
	if s.Verb == "wait" && !strings.HasPrefix(s.Wait, "until ") {
		started.Head, started.Aside = t.T("story.clock", t.span(s.Wait)), t.T("story.until", t.hour(s.Until, line.At))
	}
	if s.State.Finished() {
		started.Tone = Over
	}
	lines = append(lines, started)
	lines = append(lines, t.pauses(rule, line, s)...)
	if s.Verb == "wait_for" && s.State == journal.StepDone && s.Why != nil && s.Why.Code == phrases.NoneCame {
		none := line
		none.At, none.ID, none.Icon, none.Tone, none.Head = s.Ended, line.ID+".none", clockIcon, Over, t.T("story.none_came")
		lines = append(lines, none)
	}
	return lines
}

// clockWords says what a step waits for.
func (t *Teller) clockWords(s step, on time.Time) string {
	until := t.hour(s.Until, on)
	switch {
	case s.Verb == "wait":
		return t.T("story.wait_until", until)
	case len(s.For) == 1 && s.For[0] == vocabulary.MessageReceived:
		return t.T("story.wait_answer", until)
	}
	var list []string
	for _, typ := range s.For {
		list = append(list, t.Or("when.", typ))
	}
	return t.T("story.wait_event", strings.Join(list, t.T("list.or")), until)
}

// pauses tells when a clock of opening hours stood still.
func (t *Teller) pauses(rule *rules.Rule, line Line, s step) (lines []Line) {
	span, err := duration.ParseSpan(s.Wait)
	if err != nil || span.Calendar == "" || rule == nil || rule.Calendar(span.Calendar) == nil {
		return nil
	}
	hours := rule.Calendar(span.Calendar)
	name := upper(engine.Harmless(span.Calendar))
	end := cmp.Or(s.Ended, s.Until)
	at := s.At
	for range maxPauses {
		open := hours.Open(at)
		next, ok := hours.NextOpen(at)
		if open {
			next, ok = hours.NextClose(at)
		}
		if !ok || !next.Before(end) || next.After(t.Now) {
			return lines
		}
		at = next
		l := line
		l.At, l.Icon, l.Tone, l.Aside, l.ID = next, officeIcon, Over, "", line.ID+"."+next.UTC().Format("0102T1504")
		l.Head = t.T("story.goes_on", name)
		if open {
			l.Head = t.T("story.pauses", name, t.Length(hours.Between(s.At, next)), t.Length(span.Length))
		}
		lines = append(lines, l)
	}
	return lines
}

// endings says what would end a run early.
func (t *Teller) endings(rule *rules.Rule) string {
	if rule == nil || len(rule.CancelOn) == 0 {
		return ""
	}
	var list []string
	for _, m := range rule.CancelOn {
		list = append(list, t.ending(m))
	}
	return t.T("story.unless", strings.Join(list, t.T("list.or")))
}

func (t *Teller) ending(m rules.EventMatch) string {
	if m.If == nil {
		return t.Or("when.", m.Event)
	}
	if m.Event == vocabulary.MessageSent && strings.Contains(m.If.Text, `"team"`) {
		return t.T("story.team_answers")
	}
	if said := t.says(m.If.Text); said != "" {
		return t.T("story.and", t.Or("when.", m.Event), said)
	}
	return t.Or("when.", m.Event)
}

// end tells that a run ended before it had done everything.
func (t *Teller) end(r *journal.Run, rule *rules.Rule, steps []step) (Line, bool) {
	line := Line{At: r.FinishedAt, Icon: "x", Tone: Over, Aside: t.Name(r.Rule), Run: r.ID, Event: r.Event, order: [2]int64{math.MaxInt64}}
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		line.ID, line.Step = stepID(r.ID, last.N)+".end", last.N
	}
	switch r.State {
	case journal.Cancelled:
		line.Head = t.T("story.ended_by", t.endedBy(r))
	case journal.Stopped:
		line.Head = t.T("story.stopped", t.stoppedBy(r, steps))
	default:
		return line, false
	}
	return line, true
}

// endedBy says what ended a run early.
func (t *Teller) endedBy(r *journal.Run) string {
	if typ, ok := strings.CutPrefix(r.Reason, "cancel_on: "); ok {
		return t.trigger(typ)
	}
	return t.Told(r.Reason, r.Why)
}

// stoppedBy says why a run stopped.
func (t *Teller) stoppedBy(r *journal.Run, steps []step) string {
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		if last.Verb == "stop_if" && last.rule != nil && last.rule.Condition != nil {
			if said := t.reason(last.rule.Condition.Text, false); said != "" {
				return said
			}
		}
	}
	return t.Told(r.Reason, r.Why)
}

// waiting tells what a run waits for; nil if it is over.
func (t *Teller) waiting(r *journal.Run, rule *rules.Rule, steps []step) *Line {
	if r.State.Finished() {
		return nil
	}
	line := Line{At: r.WakeAt.In(t.Location), Icon: clockIcon, Tone: Waits, Aside: t.Name(r.Rule), Run: r.ID, Event: r.Event, ID: fmt.Sprintf("r%d.waits", r.ID), Ahead: true}
	if len(steps) > 0 {
		line.Step = steps[len(steps)-1].N
	}
	switch {
	case r.State == journal.Waiting && len(steps) > 0:
		line.Head, line.Why = t.clockWords(steps[len(steps)-1], t.Now), t.endings(rule)
	case r.State == journal.Queued:
		line.Head = t.T("story.queued")
	case r.State == journal.Held:
		line.Head, line.Icon = t.T("story.held"), "pause"
	case r.State == journal.Uncertain:
		line.Head, line.Icon, line.Tone = t.T("story.unsure"), "alert", Failed
	case r.State == journal.Running && r.WakeAt.After(t.Now) && len(steps) > 0:
		line.Head = t.T("story.tries_again", t.hour(r.WakeAt, t.Now), t.Or("verb.", steps[len(steps)-1].Verb))
	default:
		return nil
	}
	return &line
}
