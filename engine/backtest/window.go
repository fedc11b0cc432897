package backtest

import (
	"regexp"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// longReach is the warm-up for rules without a known length, such as a wait until a time that an
// expression gives.
const longReach = 30 * 24 * time.Hour

var counted = regexp.MustCompile(`count_events\([^)]*["']([0-9.]+[a-z0-9.]*)["']\s*\)`)

// reach starts the replay as long before the window as the limits, gathers and waits of rules
// reach, so that their state is right when it begins.
func (b *bench) reach(set *rules.Set) {
	for _, r := range set.Rules {
		b.warmUp = max(b.warmUp, reachOf(r))
	}
	if !b.Since.IsZero() {
		b.from = b.Since.Add(-b.warmUp)
	}
}

func reachOf(r *rules.Rule) time.Duration {
	reach := time.Minute
	if r.Limit != nil {
		reach = max(reach, r.Limit.Per)
	}
	if r.Gather != nil {
		reach = max(reach, r.Gather.AtMost)
	}
	for _, found := range counted.FindAllStringSubmatch(r.Source(), -1) {
		if d, err := duration.Parse(found[1]); err == nil {
			reach = max(reach, d)
		}
	}
	var waits time.Duration
	for s := range r.Steps() {
		switch {
		case s.Verb != "wait" && s.Verb != "wait_for":
		case s.Verb == "wait" && s.Condition != nil:
			waits += longReach
		case s.Span.Calendar != "":
			waits += 10*s.Span.Length + 7*24*time.Hour // nights and holidays lie in between
		default:
			waits += s.Span.Length
		}
	}
	return max(reach, waits)
}
