package calendar

import (
	"fmt"
	"time"
)

const (
	// reach is how far ahead Add searches.
	reach = 10 * year
	// longest is the longest stretch that Between measures; a time.Duration holds not much more.
	longest = 290 * year
)

// Between returns how long the calendar is open between two instants. It is negative when to is
// before from: Between(b, a) is -Between(a, b). Of a stretch longer than 290 years it counts the
// first 290.
func (c *Calendar) Between(from, to time.Time) time.Duration {
	if to.Before(from) {
		return -c.Between(to, from)
	}
	if limit := from.Add(longest); to.After(limit) {
		to = limit
	}
	length := since(from, to.Unix()) + time.Duration(to.Nanosecond())
	var open time.Duration
	for start, end := range c.pieces(from.Unix(), ceilSecond(to)) {
		open += min(since(from, end), length) - max(since(from, start), 0)
	}
	return open
}

// Add returns the first instant by which the calendar has been open for d since from: the earliest
// t with Between(from, t) == d. So when d is used up just as the calendar closes, the result is the
// closing, not the next opening; and Add(from, 0) is from, even when it is closed. A negative d is
// an error, and so is a d that ten years do not use up.
func (c *Calendar) Add(from time.Time, d time.Duration) (time.Time, error) {
	if d < 0 {
		return time.Time{}, fmt.Errorf("cannot go back by business time: %s is negative", d)
	}
	if d == 0 {
		return from.In(c.location), nil
	}
	left := d
	for start, end := range c.pieces(from.Unix(), from.Unix()+seconds(reach)) {
		begin := max(since(from, start), 0)
		length := since(from, end) - begin
		if left <= length {
			return from.Add(begin + left).In(c.location), nil
		}
		left -= length
	}
	return time.Time{}, fmt.Errorf("the calendar is open too little: %s of open time do not pass within ten years of %s",
		d, from.In(c.location).Format(time.RFC3339))
}

// since returns the time from an instant to a Unix time.
func since(from time.Time, unix int64) time.Duration {
	return time.Duration(unix-from.Unix())*time.Second - time.Duration(from.Nanosecond())
}
