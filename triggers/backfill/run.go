package backfill

import (
	"context"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

const (
	atLeast = 10 * time.Second // minimum time between two full passes, even if requested
	retry   = 30 * time.Second // delay before a failed pass is retried; doubles each time
)

// Run searches for undelivered events until ctx ends.
func (s *Source) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		next := s.Tick(ctx)
		timer := time.NewTimer(max(time.Until(next), 100*time.Millisecond))
		select {
		case <-ctx.Done():
		case <-s.woken:
			// Yields to the other sources.
			_ = sleep(ctx, 100*time.Millisecond)
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// Tick does what is due, and returns when to call it next. It logs errors and retries.
func (s *Source) Tick(ctx context.Context) (next time.Time) {
	now := s.options.Now().Round(0)
	if s.began && now.Sub(s.ticked) > 2*s.options.Every {
		s.Wake("no pass for a while")
	}
	s.began, s.ticked = true, now
	needed := slices.DeleteFunc(slices.Clone(s.options.Needs()), func(typ string) bool { return !service.Findable(typ) })
	fast := slices.ContainsFunc(needed, func(typ string) bool {
		return vocabulary.ObjectOf(typ) == vocabulary.Card && s.options.Undelivered(typ)
	})
	s.mu.Lock()
	reason, wanted, silent := s.reason, s.wanted, s.silent
	s.mu.Unlock()

	s.readLastPass(ctx)
	whole := s.due(now, reason != "")
	if !whole && (!fast || now.Sub(s.cards) < s.options.Cards) {
		return s.next(now, fast)
	}
	if !s.acquireLease(ctx, now) {
		return now.Add(min(s.options.Cards, retry))
	}
	p := &pass{Source: s, now: now, told: latest(now.Add(-s.options.Fresh), silent), needed: needed, full: reason != "", reason: reason, fast: fast}
	if p.reason == "" {
		p.reason = "timer"
	}
	if !whole {
		p.reason, p.parts, p.fast = "cards", []string{partCards}, false
	}
	ok := p.run(ctx)
	s.releaseLease(ctx)
	if whole {
		s.mu.Lock()
		if ok && s.wanted == wanted {
			s.reason = ""
		}
		s.mu.Unlock()
	}
	return s.next(s.options.Now().Round(0), fast)
}

// due reports whether a full pass is due.
func (s *Source) due(now time.Time, asked bool) bool {
	since := now.Sub(s.all)
	switch {
	case s.all.IsZero():
		return true
	case s.failed > 0:
		return since >= s.backoff()
	case asked:
		return since >= atLeast
	}
	return since >= s.options.Every
}

// backoff is the backoff after failed passes.
func (s *Source) backoff() time.Duration {
	return min(retry<<min(s.failed-1, 10), s.options.Every)
}

// next is when Tick has something to do again.
func (s *Source) next(now time.Time, fast bool) time.Time {
	wait := s.options.Every
	s.mu.Lock()
	asked := s.reason != ""
	s.mu.Unlock()
	switch {
	case s.failed > 0:
		wait = s.backoff()
	case asked:
		wait = atLeast
	}
	next := s.all.Add(wait)
	if cards := s.cards.Add(s.options.Cards); fast && cards.Before(next) {
		next = cards
	}
	if next.Before(now) {
		return now
	}
	return next
}

func (s *Source) name(part string) string { return "backfill/" + s.options.Workspace + "/" + part }

// readLastPass reads when another engine made the last full pass.
func (s *Source) readLastPass(ctx context.Context) {
	if s.all.IsZero() {
		return // this engine was down and makes its own pass
	}
	value, err := s.options.Journal.Cursor(ctx, s.name("pass"))
	if at, wrong := time.Parse(time.RFC3339Nano, value); err == nil && wrong == nil && at.After(s.all) && s.failed == 0 {
		s.all = at
	}
}
