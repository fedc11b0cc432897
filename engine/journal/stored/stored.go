// Package stored says how a journal that is a database keeps what the engine knows.
package stored

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
)

// Micros is how a time is kept; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Moment is a time that was kept.
func Moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Text is how a value is kept.
func Text(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// List is how a list is kept; an empty one is nil, which is NULL.
func List[T any](items []T) (*string, error) {
	if len(items) == 0 {
		return nil, nil
	}
	s, err := Text(items)
	return &s, err
}

// Decode reads a value that was kept; NULL leaves it as it is.
func Decode(s *string, into any) error {
	if s == nil {
		return nil
	}
	return json.Unmarshal([]byte(*s), into)
}

// Data is how the data of an event is kept.
func Data(e rules.Event) (string, error) {
	if e.Text != "" {
		return e.Text, nil
	}
	text, err := plain.Encode(e.Data)
	if err != nil {
		return "", fmt.Errorf("accept event %s: its data: %w", e.ID, err)
	}
	return string(text), nil
}

// AllData is how the data of events is kept.
func AllData(events []rules.Event) ([]string, error) {
	data := make([]string, len(events))
	for i, e := range events {
		var err error
		if data[i], err = Data(e); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Ask is how what is asked of a run is kept; nothing is NULL.
func Ask(a *journal.Ask) (*string, error) {
	if a == nil {
		return nil, nil
	}
	at := *a
	at.At = Moment(Micros(a.At))
	text, err := Text(at)
	return &text, err
}

// EndOf is when a finished run ended, at the time of its last change at the latest: by it the run
// is forgotten some day, so that it must have one.
func EndOf(r *journal.Run, at int64) int64 {
	if r.FinishedAt.IsZero() {
		return at
	}
	return Micros(r.FinishedAt)
}

// A Run is what of a run is kept as JSON.
type Run struct {
	Gathered, Ancestry *string
	About              string
}

// RunOf is what of a run is kept as JSON.
func RunOf(r *journal.Run) (t Run, err error) {
	var problems [2]error
	t.Gathered, problems[0] = List(r.Gathered)
	t.Ancestry, problems[1] = List(r.Ancestry)
	t.About = subject(r)
	return t, errors.Join(problems[:]...)
}

// subject is how what a run is about is kept, and with it which of its steps are loaded with its
// lane, where not all are.
func subject(r *journal.Run) string {
	s := &r.About
	b := append(make([]byte, 0, 256), '{')
	for _, id := range [...][2]string{{"conversation", s.Conversation}, {"contact", s.Contact}, {"attendance", s.Attendance}, {"card", s.Card}, {"message", s.Message}} {
		if id[1] == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = plain.AppendText(append(plain.AppendText(b, id[0]), ':'), id[1])
	}
	if !r.Kept.All() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		kept, _ := json.Marshal(r.Kept) // numbers
		b = append(append(b, keptName...), kept...)
	}
	return WithWhy(string(append(b, '}')), r.Why)
}

// WithWhy adds why a run stands where it does to what it is about. Both are in one column so that
// an engine of the version before, which knows nothing of phrases, leaves none beside another
// reason.
func WithWhy(about string, why *phrases.Phrase) string {
	if why == nil || about == "" {
		return about
	}
	if at := strings.LastIndex(about, whyName); at > 0 {
		about = strings.TrimSuffix(about[:at], ",") + "}"
	}
	if about = strings.TrimSuffix(about, "}"); about != "{" {
		about += ","
	}
	return about + whyName + phraseText(why) + "}"
}

// phraseText is how a phrase is kept.
func phraseText(p *phrases.Phrase) string {
	text, _ := json.Marshal(p) // texts and numbers
	return string(text)
}

// Why is how the phrase of a hold is kept; none is NULL.
func Why(p *phrases.Phrase) *string {
	if p == nil {
		return nil
	}
	text := phraseText(p)
	return &text
}

// A Caused is what of a journal.Caused is kept as JSON.
type Caused struct{ Fields, Ancestry *string }

// CausedOf is what of a journal.Caused is kept as JSON.
func CausedOf(c *journal.Caused) (t Caused, err error) {
	if c.Set != nil {
		fields := string(c.Set)
		t.Fields = &fields
	}
	t.Ancestry, err = List(c.Ancestry)
	return t, err
}
