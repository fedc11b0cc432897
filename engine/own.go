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

// An openCallError says that an event may be the doing of a call that has no answer yet.
type openCallError struct{ until time.Time }

func (*openCallError) Error() string {
	return "a call that may have caused the event has no answer yet"
}

// recognise finds out whether the engine itself caused an event. A message and a moved card are
// known by what they are; everything else by what it is about, when it was recorded and created,
// and whether it shows what the call set: a change that was known before the call, or that a person
// made a moment later, is a person's. Of several calls the newest counts: its event shows what
// those before it have set too. One call accounts for one event of each type, and for a changed
// conversation that is shown just so once more, unless again says that the event was recognised
// before.
func (v *visit) recognise(ctx context.Context, e *journal.Event, f *facts, again bool) (*journal.Caused, error) {
	if e.Rule != "" || !mayBeOwn(e.Type) {
		return nil, nil // a tick, a command, a customer
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	objects := []string{e.Lane, elsewhere}
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
	list, err := v.engine.journal.Caused(ctx, e.Workspace, e.Type, objects)
	if err != nil {
		return nil, fmt.Errorf("look for own effects: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	told, _, err := f.told(ctx, vocabulary.ObjectOf(e.Type))
	if err != nil {
		return nil, err
	}
	fact, _ := told.(map[string]any)
	var marks, used, free []*journal.Caused
	for i := range slices.Backward(list) {
		c := &list[i]
		c.Used = c.Used || slices.Contains(v.change.Used, c.ID) || slices.Contains(v.change.Gone, c.ID)
		switch {
		case c.Object == elsewhere:
			if !c.Used {
				marks = append(marks, c)
			}
		case f.shows(e, fact, c, again):
			return c, nil
		case c.Used && f.shows(e, fact, c, true):
			used = append(used, c)
		case !c.Used:
			free = append(free, c)
		}
	}
	adopted, err := v.heedMarks(ctx, e, f, marks, again)
	if err != nil {
		return nil, err
	}
	if adopted {
		return v.recognise(ctx, e, f, again)
	}
	if len(used) == 0 || fact == nil || e.Type != vocabulary.ConversationUpdated {
		return nil, nil
	}
	return v.recogniseAgain(ctx, e, fact, used, free)
}

// recogniseAgain finds out whether an event of a conversation is the doing of a call that another
// event was taken for already. Either that one showed just the same: then nobody has changed
// anything, and the service tells of the call more than once. Or that one may be the doing of a
// call that is still free: a label that was put on and taken off again leaves the conversation as
// an earlier call left it. Taken for somebody's doing, both would let a rule answer its own calls
// for ever.
func (v *visit) recogniseAgain(ctx context.Context, e *journal.Event, fact map[string]any, used, free []*journal.Caused) (*journal.Caused, error) {
	since := slices.MinFunc(used, func(a, b *journal.Caused) int { return a.From.Compare(b.From) }).From
	shown := throughJSON(fact)
	var repeated *journal.Caused
	for before, err := range v.engine.happened(ctx, e.Workspace, e.Lane, []string{e.Type}, since.Add(-clockSlack)) {
		if err != nil {
			return nil, fmt.Errorf("look for own effects: %w", err)
		}
		if e.Seq != 0 && before.Seq >= e.Seq {
			continue
		}
		f := v.factsOf(before)
		told, ok, err := f.told(ctx, vocabulary.ObjectOf(e.Type))
		if err != nil {
			return nil, err
		}
		earlier, _ := told.(map[string]any)
		if !ok || earlier == nil {
			continue
		}
		same := reflect.DeepEqual(throughJSON(earlier), shown)
		if !same && before.CreatedAt.Before(e.CreatedAt) {
			repeated = nil // somebody has changed it since, and this changes it back
		}
		for _, c := range used {
			if isUpTo(before, c.After) {
				continue
			}
			if same {
				repeated = c
				break
			}
			if !f.shows(before, earlier, c, true) {
				continue
			}
			for _, other := range free {
				if f.shows(before, earlier, other, false) {
					own := *c
					own.ID = other.ID // the one that is used up by this event
					return &own, nil
				}
			}
		}
	}
	return repeated, nil
}

// servedFrom and servedTo are what a time of the engine's clock may be by the service's.
func (l *laneState) servedFrom(t time.Time) time.Time { return t.Add(min(l.ahead(), 0)) }
func (l *laneState) servedTo(t time.Time) time.Time   { return t.Add(max(l.ahead(), 0)) }

func (l *laneState) ahead() time.Duration {
	if l.workspace.Ahead == nil {
		return 0
	}
	return l.workspace.Ahead()
}

// shows reports whether an event, with what it carries of its object, is the one that an own call
// caused.
func (f *facts) shows(e *journal.Event, fact map[string]any, c *journal.Caused, again bool) bool {
	if e.Type == vocabulary.MessageSent && c.Object != "" && c.Object == ObjectKey(f.about.Message) {
		return true
	}
	// What was received in time has happened in time. A card that was found in a stage may have
	// been changed since it came there, and tells only when that was.
	late := e.CreatedAt.After(c.To) && e.ReceivedAt.After(c.To) && (c.Stage == "" || !e.Found())
	if c.Used && !again || isUpTo(e, c.After) || e.CreatedAt.Before(c.From.Add(-clockSlack)) || late {
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

// isUpTo reports whether an event was recorded before a call whose intent has this number: then it
// is not the call's doing. One that is not recorded yet is newer than all that are.
func isUpTo(e *journal.Event, newest int64) bool { return e.Seq != 0 && e.Seq <= newest }

// ObjectKey is an object's id as Caused has it.
func ObjectKey(id string) string { return plain.FoldUUID(id) }

// mayBeOwn reports whether a call of the engine's can cause an event of the type. Of a type that is
// not known it may.
func mayBeOwn(typ string) bool {
	known := vocabulary.EventOf(typ)
	return known == nil || known.Own
}

// agrees reports whether nothing that is shown differs from what was set. What is not shown does
// not differ; what is shown as null does.
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
				told = false // everything has one
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

// throughJSON returns a value as JSON would give it back, so that recorded and fresh ones can be
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

// Owns reports whether the engine itself sent a message. While the answer to the call that sent
// it is missing, as after a crash, the run that asks knows it by the client_id.
func (e *Engine) Owns(ctx context.Context, workspace, message, clientID string) (bool, error) {
	message = ObjectKey(message)
	if e.unsaved.has(messageKey{workspace, message}) {
		return true, nil
	}
	own, err := e.journal.Caused(ctx, workspace, vocabulary.MessageSent, []string{message})
	if f, ok := ctx.Value(inquiryKey{}).(*facts); ok && err == nil && len(own) == 0 && clientID != "" {
		return f.lane.isSending(clientID)
	}
	return len(own) > 0, err
}

// isSending reports whether a call of the lane that has no answer sends a message with this
// client_id. What is sent to a conversation is sent in its lane.
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

// A messageKey is a message of a workspace.
type messageKey struct{ workspace, message string }

// unsaved are the messages that were sent by visits which have not recorded it yet.
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

// expect notes what an own call caused. A message is known as the engine's own before that is on
// disk: the next step may ask.
func (p *pending) expect(c journal.Caused) {
	c.Object = ObjectKey(c.Object)
	p.change.Caused = append(p.change.Caused, c)
	if c.Event == vocabulary.MessageSent {
		p.engine.unsaved.add(messageKey{c.Workspace, c.Object})
	}
}

// forgetUnsaved ends what expect began.
func (e *Engine) forgetUnsaved(list []journal.Caused) {
	for i := range list {
		if c := &list[i]; c.Event == vocabulary.MessageSent {
			e.unsaved.remove(messageKey{c.Workspace, c.Object})
		}
	}
}

// settleFirst makes an event wait whose own call may still be open: only its receipt tells whose
// doing it is. It reports whether the event, and those behind it, must wait.
func (v *visit) settleFirst(ctx context.Context, e *journal.Event, f *facts) (waits bool, err error) {
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
		case unanswered(err) != nil:
			return false, err
		case err != nil || sender != "" && !strings.Contains(string(rec.Intent.Request), ObjectKey(sender)):
			continue // it is somebody else's message
		case sender != "" && f.about.Message != "":
			v.adopt(f, journal.Caused{Run: r.ID, Rule: r.Rule, Ancestry: r.Ancestry, After: rec.Intent.After, From: rec.Intent.At})
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
		if waits, err := v.await(ctx, r, rec, e, f); waits || err != nil {
			return waits, err
		}
	}
	return false, nil
}

// settleCall takes a run to the end of the step that it is at. The next one is not begun: the
// event that waits for the answer may end the run.
func (v *visit) settleCall(ctx context.Context, r *journal.Run) error {
	v.settling = r
	defer func() { v.settling = nil }()
	return v.walk(ctx, r, nil)
}

// adopt makes an event known as the doing of a call that has no answer: it had its effect, whenever
// it will be answered.
func (p *pending) adopt(f *facts, c journal.Caused) {
	e := f.event
	c.Workspace, c.Lane, c.Event, c.Object, c.To = e.Workspace, e.Lane, e.Type, f.object(), e.CreatedAt.Add(afterCall)
	p.expect(c)
	f.carried = nil // with whose message it is
}

// object is what an event is about, as the answer to the call that caused it names it.
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

// await makes an event wait for the answer to a call of its lane. Where none comes, the action
// tells whether the event is the call's, or else the next look at the call does.
func (v *visit) await(ctx context.Context, r *journal.Run, rec *record, e *journal.Event, f *facts) (waits bool, err error) {
	until := rec.Tried.Add(v.workspace.Timeout + afterCall)
	if v.now().Before(until) {
		v.wake(until)
		return true, nil
	}
	made, err := v.made(ctx, f, r.Current().Verb, rec.Intent)
	if err != nil {
		return false, err
	}
	if made {
		v.adopt(f, journal.Caused{Run: r.ID, Rule: r.Rule, Ancestry: r.Ancestry, After: rec.Intent.After, From: rec.Intent.At})
		return false, nil
	}
	ofLastTry := !e.CreatedAt.Before(v.servedFrom(rec.Tried).Add(-clockSlack)) && !e.CreatedAt.After(v.servedTo(rec.Tried).Add(v.workspace.Timeout+clockSlack))
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
	if isUpTo(e, rec.Intent.After) || e.CreatedAt.Before(l.servedFrom(rec.Intent.At).Add(-clockSlack)) {
		return nil, nil
	}
	return rec, nil
}

// clientID returns the client_id that the event's message was sent with; empty where it is not
// told, or there is no message.
func (f *facts) clientID(ctx context.Context) (string, error) {
	if f.event.Type != vocabulary.MessageSent {
		return "", nil
	}
	told, _, err := f.told(ctx, "message")
	if err != nil {
		return "", err
	}
	m, _ := told.(map[string]any)
	id, _ := m["client_id"].(string)
	return id, nil
}
