package ruletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/quandohq/quando/rules"
)

// A Trial is what rules did in a story.
type Trial struct {
	Effects []Effect // all effects on the service and calls to other systems, in order
	Trace   Trace
	Until   time.Time // when the story ends
}

// A StoryError explains to its author why a story cannot be run.
type StoryError struct{ Message string }

// Error returns the reason.
func (e *StoryError) Error() string { return e.Message }

// Try runs a story once, without faults, and returns the effects of the rules; it ignores the
// expectations. Drafts and rules in shadow act as if they were live: the service is an imitation,
// so no message reaches a person.
func Try(ctx context.Context, o Options, test *rules.Test) (*Trial, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	o.Look, o.Set = nil, alive(o.Set)
	told := *test
	told.Faults, told.Steps = nil, nil
	for _, step := range test.Steps {
		step.Expects, step.Expected, step.ExpectsWould, step.Would = false, nil, false, nil
		told.Steps = append(told.Steps, step)
	}
	folder, err := os.MkdirTemp(o.folder(), "quando-try-")
	if err != nil {
		return nil, fmt.Errorf("try rules: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system cleans its temporary folder
	s, err := newStory(ctx, o, &told, folder)
	if err != nil {
		return nil, fmt.Errorf("try rules: %w", err)
	}
	trial := &Trial{}
	s.end = func(ctx context.Context, t *storyRun) {
		trial.Effects, trial.Trace, trial.Until = t.effects(), t.readTrace(ctx), t.now()
	}
	_, err = s.run(ctx, plan{})
	if failure, ok := errors.AsType[*failure](err); ok {
		return nil, &StoryError{failure.message}
	}
	if err != nil {
		return nil, fmt.Errorf("try rules: %w", err)
	}
	return trial, nil
}

// alive returns rules as they would be if all of them were live.
func alive(set *rules.Set) *rules.Set {
	var list []*rules.Rule
	for _, r := range set.Rules {
		live := *r
		live.Stage, live.Sample, live.Split = rules.Live, 1, nil
		list = append(list, &live)
	}
	return (&rules.Set{Calendars: set.Calendars}).With(list...)
}
