package stored

import (
	"math"
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
