package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/plain"
)

// appendJSON encodes a record as encoding/json does. A record is encoded twice for each call.
// Finding its fields by reflection, and scanning again what is already JSON, would cost more than
// everything else that the engine does for the call.
func (r *record) appendJSON(b []byte) ([]byte, error) {
	w := recordWriter{b: append(b, '{')}
	w.time("at", r.At)
	w.timeUnlessZero("ended", r.Ended)
	w.text("reason", r.Reason)
	if r.Why != nil {
		why, err := json.Marshal(r.Why)
		w.err = errors.Join(w.err, err)
		w.raw("why", why)
	}
	w.raw("value", r.Value)
	w.object("values", r.Values)
	w.raw("args", r.Args)
	w.answers("answers", r.Answers)
	w.text("elsewhere", r.Elsewhere)
	w.flag("allowed", r.Allowed)
	if r.Branch != nil {
		w.b = strconv.AppendInt(w.name("branch"), int64(*r.Branch), 10)
	}
	w.raw("items", r.Items)
	w.timeUnlessZero("until", r.Until)
	w.text("wait", r.Wait)
	list(&w, "for", r.For, func(event string) { w.b = plain.AppendText(w.b, event) })
	w.timeUnlessZero("after", r.After)
	w.number("number", int(r.Number))
	list(&w, "heard", r.Heard, func(seq int64) { w.b = strconv.AppendInt(w.b, seq, 10) })
	w.flag("taken", r.Taken)
	w.text("passed", string(r.Passed))
	w.number("generation", r.Generation)
	if r.Intent != nil {
		w.b = w.name("intent")
		w.intent(r.Intent)
	}
	list(&w, "receipts", r.Receipts, w.receipt)
	list(&w, "sent", r.Sent, w.sent)
	w.timeUnlessZero("tried", r.Tried)
	w.flag("answered", r.Answered)
	w.flag("lost", r.Lost)
	w.flag("doubt", r.Doubt)
	w.flag("confirmed", r.Confirmed)
	w.number("failures", r.Failures)
	w.flag("last", r.Last)
	w.timeUnlessZero("since", r.Since)
	w.number("again", r.Again)
	if len(r.Tries) > 0 {
		tries, err := json.Marshal(r.Tries)
		w.err = errors.Join(w.err, err)
		w.raw("tries", tries)
	}
	return append(w.b, '}'), w.err
}

// A recordWriter writes the members of an object in order. Empty members are left out, unless a
// method says otherwise.
type recordWriter struct {
	b   []byte
	err error
}

// name begins a member.
func (w *recordWriter) name(name string) []byte {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	return append(append(append(w.b, '"'), name...), '"', ':')
}

func (w *recordWriter) time(name string, t time.Time) {
	var err error
	if w.b, err = plain.AppendTime(w.name(name), t); err != nil {
		w.err = err
	}
}

func (w *recordWriter) timeUnlessZero(name string, t time.Time) {
	if !t.IsZero() {
		w.time(name, t)
	}
}

func (w *recordWriter) text(name, s string) {
	if s != "" {
		w.b = plain.AppendText(w.name(name), s)
	}
}

func (w *recordWriter) flag(name string, is bool) {
	if is {
		w.b = append(w.name(name), "true"...)
	}
}

func (w *recordWriter) number(name string, n int) {
	if n != 0 {
		w.b = strconv.AppendInt(w.name(name), int64(n), 10)
	}
}

// raw writes a member whose value is already JSON.
func (w *recordWriter) raw(name string, raw json.RawMessage) {
	if len(raw) > 0 {
		w.b = append(w.name(name), raw...)
	}
}

// request writes the request even if there is none.
func (w *recordWriter) request(raw json.RawMessage) {
	if raw == nil {
		raw = json.RawMessage("null")
	}
	w.b = append(w.name("request"), raw...)
}

func (w *recordWriter) object(name string, object map[string]any) {
	if len(object) == 0 {
		return
	}
	b, err := plain.Append(w.name(name), object)
	if err != nil {
		w.err = err
		return
	}
	w.b = b
}

func (w *recordWriter) answers(name string, answers journal.Answers) {
	if len(answers) == 0 {
		return
	}
	w.b = append(w.name(name), '{')
	for _, question := range slices.Sorted(maps.Keys(answers)) {
		if w.b[len(w.b)-1] != '{' {
			w.b = append(w.b, ',')
		}
		w.b = append(append(plain.AppendText(w.b, question), ':'), answers[question]...)
	}
	w.b = append(w.b, '}')
}

// list writes a list, each item with write.
func list[T any](w *recordWriter, name string, items []T, write func(T)) {
	if len(items) == 0 {
		return
	}
	w.b = append(w.name(name), '[')
	for i, item := range items {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		write(item)
	}
	w.b = append(w.b, ']')
}

func (w *recordWriter) intent(i *actions.Intent) {
	w.b = append(w.b, '{')
	w.b = plain.AppendText(w.name("call"), i.Call)
	w.b = strconv.AppendInt(w.name("generation"), int64(i.Generation), 10)
	w.time("at", i.At)
	w.number("after", int(i.After))
	w.text("lane", i.Lane)
	w.flag("elsewhere", i.Elsewhere)
	w.request(i.Request)
	w.raw("before", i.Before)
	list(w, "emits", i.Emits, func(event string) { w.b = plain.AppendText(w.b, event) })
	w.b = append(w.b, '}')
}

func (w *recordWriter) receipt(r actions.Receipt) {
	w.b = append(w.b, '{')
	w.b = plain.AppendText(w.name("call"), r.Call)
	w.raw("answer", r.Answer)
	w.b = append(w.b, '}')
}

func (w *recordWriter) sent(s sent) {
	w.b = append(w.b, '{')
	w.b = plain.AppendText(w.name("call"), s.Call)
	w.request(s.Request)
	w.b = append(w.b, '}')
}
