package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A delivery is a delivery in flight to the engines.
type delivery struct {
	due     time.Time
	request *http.Request
	body    []byte
	event   *Event
	tries   int           // that failed because no engine was there
	refuse  bool          // its answer gets lost
	again   time.Duration // and after which delay it is repeated
}

// post puts a delivery in flight.
func (d *desk) post(r *http.Request, cause string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var e struct {
		ID, Type  string
		CreatedAt time.Time `json:"created_at"`
		Data      json.RawMessage
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("read a delivery: %w", err)
	}
	d.world.activity++
	event := &Event{ID: e.ID, Type: e.Type, At: e.CreatedAt, Data: e.Data, Cause: cause, Customer: d.whose(e.Data)}
	d.events = append(d.events, event)
	d.byID[e.ID] = event
	d.told++
	out := &delivery{due: d.world.now, request: r, body: body, event: event}
	for _, t := range d.struck(d.told, TroubleTwice, TroubleLate, TroubleLost, TroubleRefused) {
		d.world.outcome.Coverage[[2]string{event.Type, t.Kind}]++
		switch t.Kind {
		case TroubleTwice:
			again := *out
			again.due = d.world.now.Add(t.For)
			d.world.waiting = append(d.world.waiting, &again)
		case TroubleLate:
			out.due = d.world.now.Add(t.For)
		case TroubleLost:
			if d.world.finding {
				out = nil
			} else {
				out.due = d.world.now.Add(20 * time.Minute)
			}
		case TroubleRefused:
			out.refuse, out.again = true, t.For
		}
		if out == nil {
			return nil
		}
	}
	d.world.waiting = append(d.world.waiting, out)
	return nil
}

// struck returns the troubles that strike the nth of something.
func (d *desk) struck(n int, kinds ...string) (list []Trouble) {
	for _, t := range d.troubles {
		if slices.Contains(kinds, t.Kind) && n >= t.N && n < t.N+max(1, t.More) {
			list = append(list, t)
		}
	}
	return list
}

// whose returns the customer that an event's data is about, and remembers whose conversations and
// cards there are.
func (d *desk) whose(data json.RawMessage) string {
	var o struct {
		Conversation, Card, Attendance *struct {
			ID             string
			ContactID      string `json:"contact_id"`
			ConversationID string `json:"conversation_id"`
		}
	}
	_ = json.Unmarshal(data, &o) // missing fields stay empty
	if c := o.Conversation; c != nil {
		name := d.customer(c.ContactID)
		d.conversations[c.ID] = name
		return name
	}
	if c := o.Card; c != nil {
		name := d.customer(c.ContactID)
		if name == "" {
			name = d.conversations[c.ConversationID]
		}
		d.cards[c.ID] = name
		return name
	}
	return ""
}

// found notes that the backfill has found an event that was lost. A card that is found in a stage
// was moved there by the last of several such moves.
func (d *desk) found(e rules.Event) {
	for _, known := range slices.Backward(d.events) {
		if known.Heard.IsZero() && (known.At.Equal(e.CreatedAt) || e.Type == vocabulary.CardMoved) && known.isCalled(e.ID) {
			known.Heard, known.Found = d.world.now, true
			return
		}
	}
}

// repeats are the service's retry delays. After the last of them it gives up.
var repeats = []time.Duration{30 * time.Second, 2 * time.Minute}

// missed fails the deliveries while no engine is up. The backfill finds what the service gives up;
// without a backfill, the service retries longer than documented. In an exact scenario it retries
// when the engine is back.
func (w *world) missed() {
	if w.scenario.Exact && !w.scenario.Away || slices.ContainsFunc(w.engines, (*process).up) {
		return
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(d *delivery) bool {
		if d.due.After(w.now) {
			return false
		}
		d.due = w.now.Add(repeats[min(d.tries, len(repeats)-1)])
		d.tries++
		return d.tries > len(repeats) && w.finding
	})
}

// deliverable reports whether a delivery is due and an engine is up.
func (w *world) deliverable() bool {
	return slices.ContainsFunc(w.engines, func(p *process) bool { return p.up() && !p.dead }) &&
		slices.ContainsFunc(w.waiting, func(d *delivery) bool { return !d.due.After(w.now) })
}

// deliver passes due deliveries to the engines, round-robin. One that is not acknowledged is
// retried.
func (w *world) deliver() {
	for i := 0; i < len(w.waiting); {
		d := w.waiting[i]
		if d.due.After(w.now) {
			i++
			continue
		}
		var to *process
		for n := range w.engines {
			if p := w.engines[(w.inbox+n)%len(w.engines)]; p.up() && !p.dead {
				to = p
				break
			}
		}
		if to == nil {
			return
		}
		w.inbox++
		w.waiting = slices.Delete(w.waiting, i, i+1)
		w.activity++
		request := d.request.Clone(to.ctx)
		request.Body = io.NopCloser(bytes.NewReader(d.body))
		answer := &answer{header: http.Header{}}
		to.receiver.ServeHTTP(answer, request)
		answer.WriteHeader(http.StatusOK)
		switch {
		case answer.status < 300 && d.refuse:
			d.refuse, d.due = false, w.now.Add(max(d.again, time.Second))
			w.waiting = append(w.waiting, d)
		case answer.status < 300:
			if d.event.Heard.IsZero() {
				d.event.Heard = w.now
			}
		default:
			d.due = w.now.Add(5 * time.Second)
			if to.dead {
				d.due = to.again
			}
			w.waiting = append(w.waiting, d)
		}
	}
}
