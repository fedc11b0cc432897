package stored

import (
	"math"
	"time"

	"github.com/quandohq/quando/rules"
)

// DataOfFindings returns the stored form of the data of found events.
func DataOfFindings(found []rules.Finding) ([]string, error) {
	events := make([]rules.Event, len(found))
	for i := range found {
		events[i] = found[i].Event
	}
	return AllData(events)
}

// Until returns the stored form of the end of a period; the zero time is no end.
func Until(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMicro()
}
