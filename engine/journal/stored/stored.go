// Package stored defines the stored form of a journal in a database, and copies and checks journals
// in that form.
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

// How long a journal keeps what outlives the content of events.
const (
	IDRetention   = 15 * 24 * time.Hour // an event's id, after its content
	SlotRetention = 24 * time.Hour      // a slot, after its window
)

// Micros is the stored form of a time; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Moment decodes a time.
func Moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Text is the stored form of a value.
func Text(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// List is the stored form of a list; nil, which is NULL, if it is empty.
func List[T any](items []T) (*string, error) {
	if len(items) == 0 {
		return nil, nil
	}
	s, err := Text(items)
	return &s, err
}

// Decode decodes a value; NULL leaves it unchanged.
func Decode(s *string, into any) error {
	if s == nil {
		return nil
	}
	return json.Unmarshal([]byte(*s), into)
}

// Data is the stored form of an event's data.
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

// AllData is the stored form of the data of events.
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

// Ask is the stored form of a request to a run; nil, which is NULL, if there is none.
func Ask(a *journal.Ask) (*string, error) {
	if a == nil {
		return nil, nil
	}
	at := *a
	at.At = Moment(Micros(a.At))
	text, err := Text(at)
	return &text, err
}

// EndOf returns when a finished run ended; if it does not say, the time of its last change. Every
// finished run needs a time, because Prune deletes runs by it.
func EndOf(r *journal.Run, at int64) int64 {
	if r.FinishedAt.IsZero() {
		return at
	}
	return Micros(r.FinishedAt)
}

// A Run is the parts of a run that are stored as JSON.
type Run struct {
	Gathered, Ancestry *string
	About              string
}

// RunOf encodes a run.
func RunOf(r *journal.Run) (t Run, err error) {
	var problems [2]error
	t.Gathered, problems[0] = List(r.Gathered)
	t.Ancestry, problems[1] = List(r.Ancestry)
	t.About = aboutText(r)
	return t, errors.Join(problems[:]...)
}

// aboutText encodes what a run is about, and its Kept unless it keeps all steps.
func aboutText(r *journal.Run) string {
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
		kept, _ := json.Marshal(r.Kept) // cannot fail: numbers
		b = append(append(b, keptName...), kept...)
	}
	return WithWhy(string(append(b, '}')), r.Why)
}

// WithWhy adds the phrase of a run's reason to the stored form of what it is about. Both are in one
// column, so that an engine of the previous version, which does not know phrases, overwrites the
// phrase together with the reason.
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

// phraseText encodes a phrase.
func phraseText(p *phrases.Phrase) string {
	text, _ := json.Marshal(p) // cannot fail: texts and numbers
	return string(text)
}

// Why is the stored form of a hold's phrase; nil, which is NULL, if there is none.
func Why(p *phrases.Phrase) *string {
	if p == nil {
		return nil
	}
	text := phraseText(p)
	return &text
}

// A Caused is the parts of a journal.Caused that are stored as JSON.
type Caused struct{ Fields, Ancestry *string }

// CausedOf encodes a Caused.
func CausedOf(c *journal.Caused) (t Caused, err error) {
	if c.Set != nil {
		fields := string(c.Set)
		t.Fields = &fields
	}
	t.Ancestry, err = List(c.Ancestry)
	return t, err
}
