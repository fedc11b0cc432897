package backtest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
)

// A recordedEvent is a recorded event with its runs.
type recordedEvent struct {
	event    *journal.Event // nil if it was never recorded, as a computed tick
	recorded []*journal.Run

	reading sync.Once
	read    []*recordedRun
}

// runs returns the recorded runs. They are read on demand: most are never needed.
func (p *recordedEvent) runs() []*recordedRun {
	p.reading.Do(func() {
		for _, r := range p.recorded {
			p.read = append(p.read, newRecordedRun(r))
		}
		p.recorded = nil
	})
	return p.read
}

// A recordedRun is a recorded run with its steps.
type recordedRun struct {
	*journal.Run
	queued bool // it had to wait for another one
	steps  []recordedStep
}

// A recordedStep is a recorded step.
type recordedStep struct {
	*journal.Step
	engine.Record
	passed engine.Passed // the waits that the run had behind it
}

// An eventCache caches events. It is safe for concurrent use.
type eventCache struct {
	mu          sync.Mutex
	young, aged map[string]*recordedEvent
}

// maxCachedEvents bounds each half of it: evicted events are read from the journal again.
const maxCachedEvents = 5000

func (m *eventCache) find(id string) *recordedEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.young[id]; p != nil {
		return p
	}
	return m.aged[id]
}

func (m *eventCache) put(id string, p *recordedEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= maxCachedEvents {
		m.young, m.aged = make(map[string]*recordedEvent, maxCachedEvents), m.young
	}
	m.young[id] = p
}

// past returns an event, from the cache or the journal.
func (b *bench) past(ctx context.Context, id string) (*recordedEvent, error) {
	if p := b.memory.find(id); p != nil {
		return p, nil
	}
	e, err := b.Journal.FindEvent(ctx, b.Workspace, id)
	if errors.Is(err, journal.ErrNoEvent) {
		p := &recordedEvent{}
		b.memory.put(id, p)
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := b.read(ctx, []*journal.Event{e})
	if err != nil {
		return nil, err
	}
	b.memory.put(id, list[0])
	return list[0], nil
}

// recall caches events with their runs.
func (b *bench) recall(ctx context.Context, events []*journal.Event) error {
	list, err := b.read(ctx, slices.DeleteFunc(slices.Clone(events), func(e *journal.Event) bool { return b.memory.find(e.ID) != nil }))
	if err != nil {
		return err
	}
	for _, p := range list {
		b.memory.put(p.event.ID, p)
	}
	return nil
}

// read reads the runs of events.
func (b *bench) read(ctx context.Context, events []*journal.Event) ([]*recordedEvent, error) {
	list := make([]*recordedEvent, len(events))
	bySeq := make(map[int64]*recordedEvent)
	for i, e := range events {
		list[i] = &recordedEvent{event: e}
		if fired(e) {
			bySeq[e.Seq] = list[i]
		}
	}
	runs, err := b.runsOf(ctx, slices.Collect(maps.Keys(bySeq))...)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		p := bySeq[r.Event]
		p.recorded = append(p.recorded, r)
	}
	return list, nil
}

// fired reports whether an event started a run, or was to start one.
func fired(e *journal.Event) bool {
	return slices.ContainsFunc(e.Verdicts, func(v journal.Verdict) bool { return v.Run != "" })
}

// aWhile bounds the time between two moments of one decision.
const aWhile = 5 * time.Second

func newRecordedRun(r *journal.Run) *recordedRun {
	out := &recordedRun{Run: r}
	var passed engine.Passed
	for i, s := range r.Steps {
		rec, err := engine.ReadRecord(s)
		if err != nil {
			break // what cannot be read is not recorded
		}
		if i == 0 {
			out.queued = rec.At.Sub(r.StartedAt) > aWhile
		}
		out.steps = append(out.steps, recordedStep{s, rec, passed})
		passed = rec.Passed(s, passed)
	}
	return out
}

// answers iterates over the answers recorded at the moment of a question, the nearest first.
func (p *recordedEvent) answers(q engine.Inquiry) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		if p.event == nil {
			return
		}
		queued := q.Run != nil && q.Passed == "" && q.Now.Sub(q.Run.StartedAt) > aWhile
		lists := p.ofRuns(q, queued)
		if q.Passed == "" && !queued {
			lists = append(p.ofDecision(q), lists...)
		}
		lists = append(p.ofStep(q), lists...)
		for _, answers := range lists {
			for question, raw := range answers {
				if !yield(question, raw) {
					return
				}
			}
		}
	}
}

// ofDecision are the answers that the rules had when they decided on the event, those first that a
// rule alone had that has gathered.
func (p *recordedEvent) ofDecision(q engine.Inquiry) []journal.Answers {
	rule := q.Rule
	if q.Run != nil {
		rule = q.Run.Rule
	}
	alone, suffix := make(journal.Answers), journal.Gathering(rule, "")
	for question, raw := range p.event.Answers {
		if question, ok := strings.CutSuffix(question, suffix); ok {
			alone[question] = raw
		}
	}
	return []journal.Answers{alone, p.event.Answers}
}

// ofStep are the answers of the same step of the run: an earlier step may have changed something.
func (p *recordedEvent) ofStep(q engine.Inquiry) (lists []journal.Answers) {
	for _, r := range p.runs() {
		for _, s := range r.steps {
			if q.Run != nil && r.Key == q.Run.Key && s.Path == q.Step && s.passed == q.Passed {
				lists = append(lists, s.Answers)
			}
		}
	}
	return lists
}

// ofRuns are the answers that runs had at the same point, the same run first: another rule's
// question at the same moment had the same answer.
func (p *recordedEvent) ofRuns(q engine.Inquiry, queued bool) (lists []journal.Answers) {
	var others []journal.Answers
	for _, r := range p.runs() {
		if r.queued != queued {
			continue
		}
		for _, s := range r.steps {
			switch {
			case s.passed != q.Passed: // another point of time: not behind the same waits, or they ended in another way
			case q.Run != nil && r.Key == q.Run.Key:
				lists = append(lists, s.Answers)
			default:
				others = append(others, s.Answers)
			}
		}
	}
	return append(lists, others...)
}

// answer finds the recorded answer to a question.
func (p *recordedEvent) answer(q engine.Inquiry, question string) (json.RawMessage, bool) {
	for asked, raw := range p.answers(q) {
		if asked == question {
			return raw, true
		}
	}
	return nil, false
}

// matchingStep finds the recorded step of the same run with the same arguments at the same point.
// Used are the steps that others have matched.
func (p *recordedEvent) matchingStep(q engine.Inquiry, verb string, used map[string]bool, fits func(args string) bool) *recordedStep {
	for _, r := range p.runs() {
		if r.Key != q.Run.Key {
			continue
		}
		for i := range r.steps {
			s := &r.steps[i]
			if s.Verb == verb && !used[s.Key] && s.passed == q.Passed && len(s.Args) > 0 && fits(string(s.Args)) {
				return s
			}
		}
	}
	return nil
}
