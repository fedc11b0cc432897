package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/rules/duration"
)

// A WaitFlag is how long a command waits for the engine.
type WaitFlag struct{ time.Duration }

// Add adds --wait to a command, with its default.
func (f *WaitFlag) Add(cmd *cobra.Command) {
	f.Duration = 5 * time.Second
	cmd.Flags().Var(f, "wait", "how long to wait for the engine; 0s does not wait")
}

// Set reads a duration of the rule language, or 0.
func (f *WaitFlag) Set(s string) error {
	if s == "0" {
		s = "0s"
	}
	d, err := duration.Parse(s)
	f.Duration = d
	return err
}

// String writes the duration for the help.
func (f *WaitFlag) String() string { return duration.Format(f.Duration) }

// Type names the value for the help.
func (f *WaitFlag) Type() string { return "duration" }

// TimeoutText says what happens to something that no engine has done within the time.
func (f *WaitFlag) TimeoutText() string {
	if f.Duration == 0 {
		return "The engine does it: the one that runs, or else the next one."
	}
	return fmt.Sprintf("No engine has taken it up in %s. It happens as soon as one runs (quando run).", f)
}

// Until polls done until it returns true or the time is over, and reports whether it did.
func (f *WaitFlag) Until(ctx context.Context, done func() (bool, error)) (bool, error) {
	over := time.Now().Add(f.Duration)
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if !time.Now().Before(over) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
