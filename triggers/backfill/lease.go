package backfill

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// lease is how long a lease lasts without renewal.
const lease = 2 * time.Minute

// formatLease encodes a lease as a cursor: its end in microseconds, and its holder.
func formatLease(holder string, until time.Time) string {
	return strconv.FormatInt(until.UnixMicro(), 10) + " " + holder
}

// mayLease reports whether a holder may acquire the lease in this cursor.
func mayLease(kept, holder string, now time.Time) bool {
	until, who, _ := strings.Cut(kept, " ")
	micros, err := strconv.ParseInt(until, 10, 64)
	return err != nil || who == holder || micros <= now.UnixMicro()
}

// swapLease acquires or renews the lease, or reports false if another engine holds it or wins the
// compare-and-swap. An end that is not after now releases it.
func (s *Source) swapLease(ctx context.Context, now, until time.Time) (taken bool, err error) {
	name := s.name("lease")
	kept, err := s.options.Journal.Cursor(ctx, name)
	if err != nil || !mayLease(kept, s.options.Holder, now) {
		return false, err
	}
	return s.options.Journal.SwapCursor(ctx, name, kept, formatLease(s.options.Holder, until))
}

// acquireLease acquires or renews the lease, and reports whether this engine holds it.
func (s *Source) acquireLease(ctx context.Context, now time.Time) bool {
	if s.options.Alone {
		return true
	}
	taken, err := s.swapLease(ctx, now, now.Add(lease))
	if err != nil {
		s.logOnce("journal", phrases.New(phrases.BackfillJournal), "error", err)
		return false
	}
	s.clearProblem("journal")
	s.leased = now
	return taken
}

// releaseLease releases the lease.
func (s *Source) releaseLease(ctx context.Context) {
	if s.options.Alone {
		return
	}
	now := s.options.Now()
	if _, err := s.swapLease(context.WithoutCancel(ctx), now, now); err != nil {
		s.log.Debug("the lease of the backfill runs out by itself", "error", err)
	}
}
