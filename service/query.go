package service

import (
	"net/url"
	"strconv"
	"time"
)

// query collects the parameters that are set.
type query url.Values

func (q query) set(name, value string) {
	if value != "" {
		q[name] = []string{value}
	}
}

func (q query) num(name string, n int) {
	if n != 0 {
		q[name] = []string{strconv.Itoa(n)}
	}
}

func (q query) time(name string, t time.Time) {
	if !t.IsZero() {
		q.set(name, t.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	}
}

const maxLimit = 100

// pageSize is the limit that an iterator asks for: as few requests as the service allows, unless
// the caller sets it.
func pageSize(limit int) int {
	if limit <= 0 {
		return maxLimit
	}
	return limit
}

func checkLimit(o Operation, limit int) error {
	if limit < 0 || limit > maxLimit {
		return invalid(o, "limit is %d; the service takes 1 to %d", limit, maxLimit)
	}
	return nil
}
