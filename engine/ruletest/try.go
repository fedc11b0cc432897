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
	Effects []Effect // everything that was done to the service and asked of other systems, in order
	Trace   Trace
	Until   time.Time // when the story ends
}

// A StoryError says, in words for people, why a story cannot be told.
type StoryError struct{ Message string }

// Error returns the reason.
func (e *StoryError) Error() string { return e.Message }

// Try tells a story once, without faults, and returns what the rules did in it; what it expects is
// not looked at. Drafts and rules in shadow act as if they were live: the service is an imitation,
// so that nobody is reached.
func Try(ctx context.Context, o Options, test *rules.Test) (*Trial, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	o.Look, o.Set = nil, alive(o.Set)
	told := *test
	told.Faults, told.Steps = nil, nil
	for _, step := range test.Steps {
		step.Expects, step.Expected = false, nil
		told.Steps = append(told.Steps, step)
	}
	folder, err := os.MkdirTemp(o.folder(), "quando-try-")
	if err != nil {
		return nil, fmt.Errorf("try rules: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left is the system's temporary folder's affair
	s, err := newStory(ctx, o, &told, folder)
	if err != nil {
		return nil, fmt.Errorf("try rules: %w", err)
	}
	trial := &Trial{}
	s.end = func(ctx context.Context, t *telling) {
		trial.Effects, trial.Trace, trial.Until = t.effects(), t.readTrace(ctx), t.now()
	}
	_, err = s.tell(ctx, plan{})
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
		twin := *r
		twin.Stage, twin.Sample = rules.Live, 1
		list = append(list, &twin)
	}
	return (&rules.Set{Calendars: set.Calendars}).With(list...)
}
