package cli

import (
	"fmt"
	"time"

	"github.com/quandohq/quando/rules/duration"
)

// Count writes a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Size writes a number of bytes.
func Size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Span formats a duration in readable precision: 45s, 12m, 3h20m, 2d4h, 30d.
func Span(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= 10*24*time.Hour:
		unit = 24 * time.Hour
	case d >= 24*time.Hour:
		unit = time.Hour
	case d >= time.Minute:
		unit = time.Minute
	}
	return duration.Format(max(0, d.Truncate(unit)))
}
