package sandbox

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// query reads a request's query parameters and keeps the first problem, so that a handler reads
// them all and checks once.
type query struct {
	values map[string][]string
	err    error
}

func (c *call) query() *query { return &query{values: c.http.URL.Query()} }

func (q *query) text(name string) string {
	if v := q.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = store.Invalid(format, args...)
	}
}

// id reads a UUID; ok is false when the parameter is absent.
func (q *query) id(name string) (id ID, ok bool) {
	text := q.text(name)
	if text == "" {
		return ID{}, false
	}
	id, err := ParseID(text)
	if err != nil {
		q.fail("%s: %v", name, err)
	}
	return id, true
}

// oneOf reads a parameter with a fixed set of values.
func (q *query) oneOf(name string, allowed ...string) string {
	text := q.text(name)
	if text != "" && !slices.Contains(allowed, text) {
		q.fail("%s is one of %s, not %q", name, strings.Join(allowed, ", "), text)
	}
	return text
}

// number reads an integer within bounds.
func (q *query) number(name string, otherwise, low, high int) int {
	text := q.text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		if high == maxOffset {
			q.fail("%s is an integer of at least %d, not %q", name, low, text)
		} else {
			q.fail("%s is an integer from %d to %d, not %q", name, low, high, text)
		}
	}
	return n
}

const (
	defaultLimit = 30
	maxLimit     = 100
	maxOffset    = 1 << 31
)

func (q *query) limit() int { return q.number("limit", defaultLimit, 1, maxLimit) }

// cappedLimit is the limit of lists for which the reference sets no bound: one page.
func (q *query) cappedLimit() int {
	return min(q.number("limit", defaultLimit, 1, maxOffset), maxLimit)
}

func (q *query) offset() int { return q.number("offset", 0, 0, maxOffset) }

// cursor reads a position in the store's order; 0 is the beginning.
func (q *query) cursor() uint64 {
	text := q.text("cursor")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "c"), 36, 64)
	if err != nil || n == 0 || text[0] != 'c' {
		q.fail("cursor is the next_cursor of the page before, not %q", text)
	}
	return n
}

// cursorAt encodes a position opaquely, so that clients do not compute with it.
func cursorAt(order uint64) Optional { return Optional("c" + strconv.FormatUint(order, 36)) }

// moment reads RFC 3339, or a date as its first moment in the given zone.
func (q *query) moment(name string, zone *time.Location) Instant {
	text := q.text(name)
	if text == "" {
		return 0
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return store.InstantOf(t)
	}
	t, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		q.fail("%s is a time (RFC 3339) or a date (YYYY-MM-DD), not %q", name, text)
	}
	return store.InstantOf(t)
}
