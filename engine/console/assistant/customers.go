package assistant

import (
	"math"
	"regexp"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/redact"
)

// customerData is what customers wrote or what is known of them. It is in answers only where the
// configuration says so, always under this name, so that an assistant can tell it from the rest.
type customerData struct {
	Name   string         `json:"name,omitempty"`
	Words  string         `json:"words,omitempty"`
	Quote  string         `json:"quote,omitempty"`
	Errors []string       `json:"errors,omitempty"`
	Data   map[string]any `json:"data,omitempty"`
}

// shown returns a recorded text without secrets of other systems.
func shown(text string) string { return redact.Text(engine.Harmless(text)) }

// shownData returns recorded data without secrets of other systems.
func shownData(data map[string]any) map[string]any {
	out, _ := redact.Value(data).(map[string]any)
	return out
}

// maxCount is the largest number that is a count rather than a phone.
const maxCount = 100_000

// plainValues returns the values of a clause that cannot be of a person: yes, no and counts.
func plainValues(values map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range values {
		switch v := value.(type) {
		case bool:
			out[name] = v
		case int:
			if v <= maxCount && v >= -maxCount {
				out[name] = v
			}
		case float64:
			if math.Abs(v) <= maxCount {
				out[name] = v
			}
		}
	}
	return out
}

var phone = regexp.MustCompile(`\+\d{6,}`)

// plainLane returns a lane without a phone.
func plainLane(lane string) string { return phone.ReplaceAllString(engine.Harmless(lane), "(phone)") }
