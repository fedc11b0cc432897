package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Optional is a string whose empty value is null in JSON.
type Optional string

// MarshalJSON writes the string, or null when it is empty.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Number is an integer whose zero value is null in JSON.
type Number int

// MarshalJSON writes the number, or null when it is zero.
func (n Number) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// Instant is a time in milliseconds since 1970, the precision the service
// shows. The zero Instant means "not yet" and is null in JSON.
type Instant int64

// InstantOf returns a time to the millisecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Time returns the instant as a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// Add returns the instant that is d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Sub returns how long after another instant this one is.
func (i Instant) Sub(from Instant) time.Duration {
	return time.Duration(i-from) * time.Millisecond
}

func (i Instant) String() string { return i.Time().Format("2006-01-02T15:04:05.999Z07:00") }

// MarshalJSON writes RFC 3339 in UTC, or null.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	out := append(make([]byte, 0, 32), '"')
	out = i.Time().AppendFormat(out, "2006-01-02T15:04:05.999Z07:00")
	return append(out, '"'), nil
}

// UnmarshalJSON reads RFC 3339 or null.
func (i *Instant) UnmarshalJSON(src []byte) error {
	if string(src) == "null" {
		*i = 0
		return nil
	}
	var text string
	if err := json.Unmarshal(src, &text); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%q is not a time such as 2026-11-13T17:50:00-03:00", text)
	}
	*i = InstantOf(t)
	return nil
}

// Duration is a time.Duration written as Go writes it: "15m", "1h30m".
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads a duration such as "90s".
func (d *Duration) UnmarshalJSON(src []byte) error {
	var text string
	if err := json.Unmarshal(src, &text); err != nil {
		return fmt.Errorf("%s is not a duration such as \"15m\"", src)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"15m\" or \"1h30m\"", text)
	}
	*d = Duration(parsed)
	return nil
}
