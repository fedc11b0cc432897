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

// Keys are the keys of a kind of mention that begin with a text: from it on, and less than an end.
type Keys struct{ Kind, From, To string }

// A LaneFinder is how a journal is looked through for the lanes whose events mention something.
type LaneFinder struct {
	Count func(ctx context.Context, k Keys, most int) (int, error)                        // how many keys there are, up to so many
	Lanes func(ctx context.Context, k Keys, found func(journal.Who, journal.Known)) error // gives lanes that have one of the keys to a function
}

// Find returns the lanes that fit what a text may mean, those that were last mentioned first.
func (f LaneFinder) Find(ctx context.Context, text string, limit int) ([]journal.Who, error) {
	type lane struct{ workspace, name string }
	found := map[lane]journal.Who{}
	for _, s := range journal.LaneSearches(text) {
		keys, err := f.rarest(ctx, s)
		if err != nil {
			return nil, err
		}
		err = f.Lanes(ctx, keys, func(w journal.Who, known journal.Known) {
			if s.Fits(known) {
				found[lane{w.Workspace, w.Lane}] = w
			}
		})
		if err != nil {
			return nil, err
		}
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

// rarest returns the keys that begin with the prefix that the fewest have.
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

// followWait is how long somebody who looks waits for mentions to be taken up.
const followWait = 200 * time.Millisecond

// CatchUp takes up mentions for somebody who looks, so many times. What cannot be recorded at the
// moment is no reason not to look.
func CatchUp(ctx context.Context, times int, follow func(context.Context) (more bool, err error)) {
	ctx, cancel := context.WithTimeout(ctx, followWait)
	defer cancel()
	for range times {
		if more, err := follow(ctx); !more || err != nil {
			return
		}
	}
}

// A Turn to change what is known of lanes is had by one at a time: by whoever has put something in.
type Turn chan struct{}

// Take waits for the turn, and returns what gives it back.
func (t Turn) Take(ctx context.Context) (back func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
