package stored

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// Keys are the keys of a kind of mention with a common prefix: at or after From, and before To.
type Keys struct{ Kind, From, To string }

// A LaneFinder is the queries of a journal that search lanes by mentions.
type LaneFinder struct {
	Count func(ctx context.Context, k Keys, most int) (int, error)                        // counts keys, up to a maximum
	Lanes func(ctx context.Context, k Keys, found func(journal.Who, journal.Known)) error // passes the lanes that have one of the keys to a function
}

// Find returns the lanes that match a search text, those with the latest mention first. A text that
// is a whole protocol number finds that one and no longer numbers; people also search by the last
// few digits of a phone, so these are found too.
func (f LaneFinder) Find(ctx context.Context, text string, limit int) ([]journal.Who, error) {
	type lane struct{ workspace, name string }
	found, whole := map[lane]journal.Who{}, map[lane]journal.Who{}
	isWhole := false
	for _, s := range journal.LaneSearches(text) {
		keys, err := f.rarest(ctx, s)
		if err != nil {
			return nil, err
		}
		err = f.Lanes(ctx, keys, func(w journal.Who, known journal.Known) {
			if s.Fits(known) {
				found[lane{w.Workspace, w.Lane}] = w
			}
			if s.IsWhole(known) || s.Kind == journal.MentionPhone && len(s.Prefixes[0]) <= fewDigits && s.Fits(known) {
				whole[lane{w.Workspace, w.Lane}] = w
				isWhole = isWhole || s.Kind == journal.MentionProtocol
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if isWhole {
		found = whole
	}
	list := slices.AppendSeq([]journal.Who{}, maps.Values(found))
	slices.SortFunc(list, func(a, b journal.Who) int {
		if c := b.Seen.Compare(a.Seen); c != 0 {
			return c
		}
		return strings.Compare(a.Lane+a.Workspace, b.Lane+b.Workspace)
	})
	return list[:min(len(list), limit)], nil
}

// fewDigits is how many digits at the end of a phone may also be a protocol number.
const fewDigits = 5

// rarest returns the keys with the prefix that the fewest keys have.
func (f LaneFinder) rarest(ctx context.Context, s journal.LaneSearch) (Keys, error) {
	begin := func(prefix string) Keys { return Keys{string(s.Kind), prefix, prefix + "\U0010ffff"} }
	best, fewest := begin(s.Prefixes[0]), math.MaxInt
	if len(s.Prefixes) == 1 {
		return best, nil
	}
	for _, prefix := range s.Prefixes {
		n, err := f.Count(ctx, begin(prefix), fewest)
		if err != nil {
			return best, err
		}
		if n < fewest {
			best, fewest = begin(prefix), n
		}
	}
	return best, nil
}

// followWait bounds how long a search waits for mentions to be indexed.
const followWait = 200 * time.Millisecond

// CatchUp indexes mentions before a search, at most so many times. It ignores errors: a search
// works without the latest mentions.
func CatchUp(ctx context.Context, times int, follow func(context.Context) (more bool, err error)) {
	ctx, cancel := context.WithTimeout(ctx, followWait)
	defer cancel()
	for range times {
		if more, err := follow(ctx); !more || err != nil {
			return
		}
	}
}

// A Turn is a mutex with a context: one goroutine at a time changes what is known of lanes.
type Turn chan struct{}

// Take acquires the mutex, and returns the function that releases it.
func (t Turn) Take(ctx context.Context) (back func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
