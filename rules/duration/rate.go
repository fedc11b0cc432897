package duration

import (
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// A Rate is a maximum in any window of a length.
type Rate struct {
	Times int
	Per   time.Duration
}

// ParseRate reads a rate such as 5 per 10m.
func ParseRate(s string) (Rate, error) {
	number, window, _ := strings.Cut(s, " per ")
	times, err := strconv.Atoi(strings.TrimSpace(number))
	per, perErr := Parse(strings.TrimSpace(window))
	if err != nil || times < 1 || perErr != nil || per <= 0 {
		return Rate{}, phrases.Sprintf("%q is not a bound", s)
	}
	return Rate{times, per}, nil
}
