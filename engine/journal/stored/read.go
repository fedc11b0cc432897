package stored

import (
	"errors"
	"strings"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
)

// keptName begins the stored form of a run's Kept. It cannot occur inside a JSON string, which
// escapes quotes.
const keptName = `"kept":`

// whyName begins the stored form of a run's phrase, which comes last.
const whyName = `"why":`

// ReadEvent decodes the encoded columns of an event into it.
func ReadEvent(e *journal.Event, created, received int64, data, verdicts, answers *string) error {
	e.CreatedAt, e.ReceivedAt = Moment(created), Moment(received)
	var err error
	if data != nil {
		e.Data, err = plain.DecodeObject(*data)
	}
	return errors.Join(err, Decode(verdicts, &e.Verdicts), Decode(answers, &e.Answers))
}

// ReadRun decodes the encoded columns of a run into it.
func ReadRun(r *journal.Run, started, wake, finished int64, gathered, ancestry, about, asked *string) error {
	r.StartedAt, r.WakeAt, r.FinishedAt = Moment(started), Moment(wake), Moment(finished)
	if about != nil && (strings.Contains(*about, keptName) || strings.Contains(*about, whyName)) {
		with := struct {
			Kept *journal.Kept
			Why  **phrases.Phrase
		}{&r.Kept, &r.Why}
		if err := Decode(about, &with); err != nil {
			return err
		}
	}
	return errors.Join(Decode(gathered, &r.Gathered), Decode(ancestry, &r.Ancestry), Decode(about, &r.About), Decode(asked, &r.Asked))
}

// ReadGather decodes the encoded columns of a gather into it.
func ReadGather(g *journal.Gather, since, until int64, events *string) error {
	g.Since, g.Until = Moment(since), Moment(until)
	return Decode(events, &g.Events)
}

// ReadCaused decodes the encoded columns of a Caused into it.
func ReadCaused(c *journal.Caused, from, to int64, fields, ancestry *string) error {
	c.From, c.To = Moment(from), Moment(to)
	return errors.Join(Decode(fields, &c.Set), Decode(ancestry, &c.Ancestry))
}
