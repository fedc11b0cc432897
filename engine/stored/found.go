package stored

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
)

// DataOfFindings is how the data of events that were found is kept.
func DataOfFindings(found []rules.Finding) ([]string, error) {
	events := make([]rules.Event, len(found))
	for i := range found {
		events[i] = found[i].Event
	}
	return AllData(events)
}

// Until is how the end of a time is kept; the zero time is none.
func Until(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMicro()
}

// Leased is how a lease is kept.
func Leased(holder string, until time.Time) string {
	return strconv.FormatInt(Micros(until), 10) + " " + holder
}

// MayLease reports whether a holder may take what is leased like this.
func MayLease(kept, holder string, now time.Time) bool {
	until, who, _ := strings.Cut(kept, " ")
	micros, err := strconv.ParseInt(until, 10, 64)
	return err != nil || who == holder || micros <= Micros(now)
}
