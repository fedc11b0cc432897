package backfill

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// lease is how long an engine that does not say so any more is thought to be at it.
const lease = 2 * time.Minute

// A lease is kept as a cursor: until when somebody has it, in microseconds, and who.
func leased(holder string, until time.Time) string {
	return strconv.FormatInt(until.UnixMicro(), 10) + " " + holder
}

// mayLease reports whether a holder may take what is kept like this.
func mayLease(kept, holder string, now time.Time) bool {
	until, who, _ := strings.Cut(kept, " ")
	micros, err := strconv.ParseInt(until, 10, 64)
	return err != nil || who == holder || micros <= now.UnixMicro()
}

// lease takes it until a time, or reports that another engine has it, or was quicker. Who has it
// may take it again, and gives it back with a time that is not after now.
func (s *Source) lease(ctx context.Context, now, until time.Time) (taken bool, err error) {
	name := s.name("lease")
	kept, err := s.options.Journal.Cursor(ctx, name)
	if err != nil || !mayLease(kept, s.options.Holder, now) {
		return false, err
	}
	return s.options.Journal.SwapCursor(ctx, name, kept, leased(s.options.Holder, until))
}

// take makes sure that no other engine is at it.
func (s *Source) take(ctx context.Context, now time.Time) bool {
	if s.options.Alone {
		return true
	}
	taken, err := s.lease(ctx, now, now.Add(lease))
	if err != nil {
		s.say("journal", phrases.New(phrases.BackfillJournal), "error", err)
		return false
	}
	s.over("journal")
	s.leased = now
	return taken
}

// give lets another engine have its turn.
func (s *Source) give(ctx context.Context) {
	if s.options.Alone {
		return
	}
	now := s.options.Now()
	if _, err := s.lease(context.WithoutCancel(ctx), now, now); err != nil {
		s.log.Debug("the lease of the backfill runs out by itself", "error", err)
	}
}
