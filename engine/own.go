package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/rules/vocabulary"
)

// afterCall is how long after a call's receipt its events may be created.
const afterCall = 30 * time.Second

// An openCallError says that an event may be caused by a call that has no answer yet.
type openCallError struct{ until time.Time }

func (*openCallError) Error() string {
	return "a call that may have caused the event has no answer yet"
}

// recognise finds out whether the engine itself caused an event. A message is recognised by its id,
// a moved card by its stage. Any other event is recognised by its object, by when it was recorded
// and created, and by whether it shows what the call set: a change that was known before the call,
// or that a person made a moment later, is not the call's. Of several calls the one counts that
// sent the conversation's newest message, since no other event but those behind it shows that; else
// the newest, because its event also shows what the earlier ones have set. One call accounts for
// one event of each type, and for an update of a conversation that repeats that event. With again,
// the event was recognised before and may match a used call.
func (v *visit) recognise(ctx context.Context, e *journal.Event, f *facts, again bool) (*journal.Caused, error) {
	if e.Rule != "" || !mayBeOwn(e.Type) {
		return nil, nil // ticks, commands and customers
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	objects := []string{e.Lane, unknownObject}
	for _, id := range []string{f.about.Message, f.about.Card, f.about.Attendance, f.about.Conversation} {
		if id != "" {
			objects = append(objects, ObjectKey(id))
		}
	}
	// The call may have been settled a moment ago, for this very event.
	if len(v.change.Caused)+len(v.ended) > 0 {
		if err := v.save(ctx, false); err != nil {
			return nil, err
		}
	}
	list, err := v.expected(ctx, e, objects, earlier(e.CreatedAt, e.ReceivedAt))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, nil
	}
	told, _, err := f.carriedFact(ctx, vocabulary.ObjectOf(e.Type))
	if err != nil {
		return nil, err
	}
	fact, _ := told.(map[string]any)
	var marks, used []*journal.Caused
	var match *journal.Caused
	for i := range slices.Backward(list) {
		c := &list[i]
		switch {
		case c.Object == unknownObject:
			if !c.Used {
				marks = append(marks, c)
			}
		case match != nil && !sentNewest(c, fact):
		case f.matchesCall(e, fact, c, again):
			if e.Type != vocabulary.ConversationUpdated || sentNewest(c, fact) {
				return c, nil
			}
			match = c
		case c.Used && f.matchesCall(e, fact, c, true):
			used = append(used, c)
		}
	}
	if match != nil {
		return match, nil
	}
	adopted, err := v.checkMarks(ctx, e, f, marks, again)
	if err != nil {
		return nil, err
	}
	if adopted {
		return v.recognise(ctx, e, f, again)
	}
	if len(used) == 0 || fact == nil || e.Type != vocabulary.ConversationUpdated {
		return nil, nil
	}
	return v.recogniseRepeat(ctx, e, fact, used, objects)
}

// expected returns the events that the engine's calls are expected to cause, with the type of an
// event and one of these objects. It leaves out the updates of a conversation that were expected
// before a time: there is one for each message that was sent, and matchesCall accepts none of them.
func (v *visit) expected(ctx context.Context, e *journal.Event, objects []string, since time.Time) ([]journal.Caused, error) {
	var list []journal.Caused
	var err error
	if e.Type == vocabulary.ConversationUpdated {
		// First the marks, which are of any time: a receipt removes them, and is seen after that.
		list, err = v.engine.journal.Caused(ctx, e.Workspace, e.Type, []string{unknownObject}, time.Time{})
		objects = slices.DeleteFunc(slices.Clone(objects), func(o string) bool { return o == unknownObject })
	} else {
		since = time.Time{}
	}
	if err == nil {
		var more []journal.Caused
		more, err = v.engine.journal.Caused(ctx, e.Workspace, e.Type, objects, since)
		list = append(list, more...)
	}
	if err != nil {
		return nil, fmt.Errorf("look for own effects: %w", err)
	}
	for i := range list {
		c := &list[i]
		c.Used = c.Used || slices.Contains(v.change.Used, c.ID) || slices.Contains(v.change.Gone, c.ID)
	}
	return list, nil
}

// recogniseRepeat finds out whether an update of a conversation belongs to a call that already
// accounts for an earlier event. Either the earlier event shows the same: then the conversation has
// not changed, and the service reports the call more than once. Or the earlier event may belong to
// a call that is still unused: a label that was added and removed again leaves the conversation as
// an earlier call left it. If either were taken for a person's change, a rule could react to its
// own calls for ever.
func (v *visit) recogniseRepeat(ctx context.Context, e *journal.Event, fact map[string]any, used []*journal.Caused, objects []string) (*journal.Caused, error) {
	since := slices.MinFunc(used, func(a, b *journal.Caused) int { return a.From.Compare(b.From) }).From
	free, err := v.expected(ctx, e, objects, since.Add(-2*clockSlack))
	if err != nil {
		return nil, err
	}
	shown := throughJSON(fact)
	var repeated *journal.Caused
	for before, err := range v.engine.eventsSince(ctx, e.Workspace, e.Lane, []string{e.Type}, since.Add(-clockSlack)) {
		if err != nil {
			return nil, fmt.Errorf("look for own effects: %w", err)
		}
		if e.Seq != 0 && before.Seq >= e.Seq {
			continue
		}
		f := v.factsOf(before)
		told, ok, err := f.carriedFact(ctx, vocabulary.ObjectOf(e.Type))
		if err != nil {
			return nil, err
		}
		earlier, _ := told.(map[string]any)
		if !ok || earlier == nil {
			continue
		}
		same := reflect.DeepEqual(throughJSON(earlier), shown)
		if !same && before.CreatedAt.Before(e.CreatedAt) {
			repeated = nil // the conversation was changed since, and this event changes it back
		}
		for _, c := range used {
			if recordedBy(before, c.After) {
				continue
			}
			if same {
				repeated = c
				break
			}
			if !f.matchesCall(before, earlier, c, true) {
				continue
			}
			for i := range free {
				if other := &free[i]; !other.Used && other.Object != unknownObject && f.matchesCall(before, earlier, other, false) {
					own := *c
					own.ID = other.ID // this event uses up the other one
					return &own, nil
				}
			}
		}
	}
	return repeated, nil
}

// earliestServiceTime and latestServiceTime bound the service's clock at a time of the engine's
// clock.
func (l *laneState) earliestServiceTime(t time.Time) time.Time { return t.Add(min(l.clockAhead(), 0)) }
func (l *laneState) latestServiceTime(t time.Time) time.Time   { return t.Add(max(l.clockAhead(), 0)) }

func (l *laneState) clockAhead() time.Duration {
	if l.workspace.Ahead == nil {
		return 0
	}
	return l.workspace.Ahead()
}

// matchesCall reports whether an event, whose object is fact, is the one that a call caused.
func (f *facts) matchesCall(e *journal.Event, fact map[string]any, c *journal.Caused, again bool) bool {
	if e.Type == vocabulary.MessageSent && c.Object != "" && c.Object == ObjectKey(f.about.Message) {
		return true
	}
	// An event that was received in time has happened in time. If a card was found in a stage, it may
	// have changed since it came there, and only the time of that change is known.
	late := e.CreatedAt.After(c.To) && e.ReceivedAt.After(c.To) && (c.Stage == "" || !e.Found())
	if c.Used && !again || recordedBy(e, c.After) || e.CreatedAt.Before(c.From.Add(-clockSlack)) || late {
		return false
	}
	if len(c.Set) == 0 && c.Stage == "" {
		return true
	}
	if stage, ok := fact["stage_id"].(string); ok && c.Stage != "" && ObjectKey(stage) != ObjectKey(c.Stage) {
		return false
	}
	return fact == nil || len(c.Set) == 0 || agrees(throughJSON(fact), throughJSON(c.Set))
}

// sentNewest reports whether a call sent the newest message of a conversation.
func sentNewest(c *journal.Caused, conversation map[string]any) bool {
	set, _ := throughJSON(c.Set).(map[string]any)
	sent := idOf(set["last_message"])
	return sent != "" && ObjectKey(sent) == ObjectKey(idOf(conversation["last_message"]))
}

// recordedBy reports whether an event was recorded before a call with this number in its intent:
// then the call did not cause it. An event that is not recorded yet is newer than all others.
func recordedBy(e *journal.Event, newest int64) bool { return e.Seq != 0 && e.Seq <= newest }

// ObjectKey returns an object's id in the form that Caused has it.
func ObjectKey(id string) string { return plain.FoldUUID(id) }

// mayBeOwn reports whether a call of the engine can cause an event of the type. It is true for
// unknown types.
func mayBeOwn(typ string) bool {
	known := vocabulary.EventOf(typ)
	return known == nil || known.Own
}

// agrees reports whether nothing in shown differs from set. A missing value does not differ; a null
// does.
func agrees(shown, set any) bool {
	switch set := set.(type) {
	case map[string]any:
		of, ok := shown.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range set {
			is, told := of[name]
			if is == nil && name == "id" {
				told = false // every object has an id
			}
			if told && !agrees(is, value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := shown.([]any)
		if !ok || len(list) != len(set) {
			return false
		}
		for _, value := range set {
			if !slices.ContainsFunc(list, func(is any) bool { return agrees(is, value) }) {
				return false
			}
		}
		return true
	}
	return shown == set
}

// throughJSON returns a value as it comes back from JSON, so that recorded and new values can be
// compared.
func throughJSON(v any) any {
	raw, err := plain.Encode(v)
	if err != nil {
		return nil
	}
	out, err := plain.Decode(raw)
	if err != nil {
		return nil
	}
	return out
}

// Owns reports whether the engine itself sent a message. If the call that sent it has no answer
// yet, as after a crash, the run that asks recognises the message by its client_id.
func (e *Engine) Owns(ctx context.Context, workspace, message, clientID string) (bool, error) {
	message = ObjectKey(message)
	if e.unsaved.has(messageKey{workspace, message}) {
		return true, nil
	}
	own, err := e.journal.Caused(ctx, workspace, vocabulary.MessageSent, []string{message}, time.Time{})
	if f, ok := ctx.Value(inquiryKey{}).(*facts); ok && err == nil && len(own) == 0 && clientID != "" {
		return f.lane.isSending(clientID)
	}
	return len(own) > 0, err
}

// isSending reports whether a call of the lane without an answer sends a message with this
// client_id. All messages to a conversation are sent in its lane.
func (l *laneState) isSending(clientID string) (bool, error) {
	for _, r := range l.lane.Runs {
		s := r.Current()
		if r.State.Finished() || s == nil || s.State != journal.StepOpen {
			continue
		}
		rec, err := l.record(s)
		if err != nil {
			return false, err
		}
		i := rec.Intent
		if i != nil && slices.Contains(i.Emits, vocabulary.MessageSent) && strings.Contains(string(i.Request), ObjectKey(clientID)) {
			return true, nil
		}
	}
	return false, nil
}

// A messageKey identifies a message of a workspace.
type messageKey struct{ workspace, message string }

// unsaved has the messages that visits have sent and not recorded yet.
type unsaved struct {
	mu   sync.Mutex
	sent map[messageKey]bool
}

func (u *unsaved) add(m messageKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	put(&u.sent, m, true)
}

func (u *unsaved) remove(m messageKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.sent, m)
}

func (u *unsaved) has(m messageKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sent[m]
}

// addCaused adds an event that a call caused to the change. A message counts as the engine's own
// before that is on disk, because the next step may ask.
func (p *pending) addCaused(c journal.Caused) {
	c.Object = ObjectKey(c.Object)
	p.change.Caused = append(p.change.Caused, c)
	if c.Event == vocabulary.MessageSent {
		p.engine.unsaved.add(messageKey{c.Workspace, c.Object})
	}
}

// forgetUnsaved undoes what addCaused did to unsaved.
func (e *Engine) forgetUnsaved(list []journal.Caused) {
	for i := range list {
		if c := &list[i]; c.Event == vocabulary.MessageSent {
			e.unsaved.remove(messageKey{c.Workspace, c.Object})
		}
	}
}

// waitForOpenCalls makes an event wait while a call that may have caused it is open: only the
// receipt tells. It reports whether the event, and those behind it, must wait.
func (v *visit) waitForOpenCalls(ctx context.Context, e *journal.Event, f *facts) (waits bool, err error) {
	for _, r := range slices.Clone(v.lane.Runs) {
		rec, err := v.openCall(r, e)
		if rec == nil || err != nil {
			if err != nil {
				return false, err
			}
			continue
		}
		sender, err := f.clientID(ctx)
		switch {
		case deskFailure(err) != nil:
			return false, err
		case err != nil || sender != "" && !strings.Contains(string(rec.Intent.Request), ObjectKey(sender)):
			continue // another sender's message
		case sender != "" && f.about.Message != "":
			v.attributeToCall(f, journal.Caused{Run: r.ID, Rule: r.Rule, Ancestry: r.Ancestry, After: rec.Intent.After, From: rec.Intent.At})
			continue
		}
		if v.due(r, v.now()) {
			if err := v.settleCall(ctx, r); err != nil {
				return false, err
			}
			if rec, err = v.openCall(r, e); err != nil {
				return false, err
			}
			if rec == nil {
				continue
			}
		}
		if waits, err := v.awaitAnswer(ctx, r, rec, e, f); waits || err != nil {
			return waits, err
		}
	}
	return false, nil
}

// settleCall takes a run to the end of its present step. It does not begin the next one, because
// the event that waits for the answer may end the run.
func (v *visit) settleCall(ctx context.Context, r *journal.Run) error {
	v.settling = r
	defer func() { v.settling = nil }()
	return v.walk(ctx, r, nil)
}

// attributeToCall records that a call without an answer caused an event: the call had its effect,
// whenever its answer comes.
func (p *pending) attributeToCall(f *facts, c journal.Caused) {
	e := f.event
	c.Workspace, c.Lane, c.Event, c.Object, c.To = e.Workspace, e.Lane, e.Type, f.object(), e.CreatedAt.Add(afterCall)
	p.addCaused(c)
	f.carried = nil // it says whose message it is
}

// object returns the id of what an event is about, as in the receipt of the call that caused it.
func (f *facts) object() string {
	object := f.about.Conversation
	switch vocabulary.ObjectOf(f.event.Type) {
	case vocabulary.Message:
		object = f.about.Message
	case vocabulary.Card:
		object = f.about.Card
	}
	if object == "" {
		return f.event.Lane
	}
	return object
}

// awaitAnswer makes an event wait for the answer to a call of its lane. If none comes, the action
// tells whether the call caused the event, or else the call's next settlement does.
func (v *visit) awaitAnswer(ctx context.Context, r *journal.Run, rec *record, e *journal.Event, f *facts) (waits bool, err error) {
	until := rec.Tried.Add(v.workspace.Timeout + afterCall)
	if v.now().Before(until) {
		v.wake(until)
		return true, nil
	}
	made, err := v.madeByCall(ctx, f, r.Current().Verb, rec.Intent)
	if err != nil {
		return false, err
	}
	if made {
		v.attributeToCall(f, journal.Caused{Run: r.ID, Rule: r.Rule, Ancestry: r.Ancestry, After: rec.Intent.After, From: rec.Intent.At})
		return false, nil
	}
	ofLastTry := !e.CreatedAt.Before(v.earliestServiceTime(rec.Tried).Add(-clockSlack)) && !e.CreatedAt.After(v.latestServiceTime(rec.Tried).Add(v.workspace.Timeout+clockSlack))
	if ofLastTry && r.State == journal.Running && r.WakeAt.After(v.now()) {
		v.wake(r.WakeAt)
		return true, nil
	}
	return false, nil
}

// openCall returns the record of a run's call that has no receipt and may cause an event like this
// one.
func (l *laneState) openCall(r *journal.Run, e *journal.Event) (*record, error) {
	if r.State.Finished() || r.Lane != l.lane.Name {
		return nil, nil
	}
	s := r.Current()
	if s == nil || s.State != journal.StepOpen {
		return nil, nil
	}
	rec, err := l.record(s)
	if err != nil || rec.Intent == nil || rec.Answered && !rec.Doubt || !slices.Contains(rec.Intent.Emits, e.Type) {
		return nil, err
	}
	if recordedBy(e, rec.Intent.After) || e.CreatedAt.Before(l.earliestServiceTime(rec.Intent.At).Add(-clockSlack)) {
		return nil, nil
	}
	return rec, nil
}

// clientID returns the client_id that the event's message was sent with; empty if it has none, or
// there is no message.
func (f *facts) clientID(ctx context.Context) (string, error) {
	if f.event.Type != vocabulary.MessageSent {
		return "", nil
	}
	told, _, err := f.carriedFact(ctx, "message")
	if err != nil {
		return "", err
	}
	m, _ := told.(map[string]any)
	id, _ := m["client_id"].(string)
	return id, nil
}
