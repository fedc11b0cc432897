package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/service"
)

// A verb is a schema, a plan, and the calls that the plan may ask for.
type verb struct {
	schema rules.Schema
	plan   planner
	calls  calls
}

func (v *verb) operation() string {
	if len(v.calls) == 0 {
		return ""
	}
	return v.calls[len(v.calls)-1].operation
}

// An action is a verb of a desk.
type action struct {
	verb
	desk *desk
}

// A planner returns what comes next in a step.
type planner func(context.Context, *desk, *actions.Step) (actions.Next, error)

// calls are the kinds of calls that a plan may ask for.
type calls []kind

// A kind of call has a name, by which intents and receipts are recorded, and the name of its
// operation in the service's reference; empty if it is no operation of the service.
type kind struct {
	name, operation string
	on              func(*desk) call
}

// on returns the calls of a kind for a desk.
func on[C interface {
	~struct{ *desk }
	call
}](d *desk) call {
	return C(struct{ *desk }{d})
}

// Schema describes the verb.
func (v *action) Schema() rules.Schema { return v.schema }

// Plan returns what comes next in a step.
func (v *action) Plan(ctx context.Context, s *actions.Step) (actions.Next, error) {
	next, err := v.plan(ctx, v.desk, s)
	if errors.Is(err, errNoConversation) {
		return withoutConversation(&v.schema), nil
	}
	if err != nil {
		return actions.Next{}, v.failed(err)
	}
	if i := next.Intent; i != nil && i.Generation > maxGenerations {
		return actions.Next{}, v.givenUp(s, i.Generation)
	}
	return next, nil
}

// givenUp is the end of a call that was refused, or undone, at every attempt. It contains the text
// of the last refusal without its mark, which would ask for yet another attempt.
func (v *action) givenUp(s *actions.Step, tries int) error {
	reason := phrases.New(phrases.ChangedEachTime)
	if s.Failed != nil {
		reason = phrases.Of(s.Failed)
	}
	return actions.Permanent(fmt.Errorf("%s: %w", v.schema.Verb, phrases.New(phrases.TriedInVain, tries, reason)))
}

// Do makes the call of a recorded intent.
func (v *action) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	c, err := v.desk.call(i)
	if err != nil {
		return actions.Receipt{}, err
	}
	if !s.Until.IsZero() {
		if service.Over(s.Until) {
			return actions.Receipt{}, fmt.Errorf("%s: %w", v.schema.Verb, phrases.New(phrases.OutOfTime))
		}
		// An upload is harmless whenever it comes, and a call to another system has a timeout of its own.
		if i.Call != callUpload && i.Call != callHTTP {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, s.Until)
			defer cancel()
		}
	}
	r, err := c.do(ctx, s, i)
	if err != nil {
		return actions.Receipt{}, v.failed(err)
	}
	r.Call = i.Call
	return v.desk.dropHidden(r), nil
}

// Settle finds out what became of a call.
func (v *action) Settle(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error) {
	c, err := v.desk.call(i)
	if err != nil {
		return actions.Settlement{}, err
	}
	out, err := c.settle(ctx, s, i)
	if err != nil {
		return actions.Settlement{}, v.failed(err)
	}
	out.Receipt.Call = i.Call
	out.Receipt = v.desk.dropHidden(out.Receipt)
	return out, nil
}

// Made reports whether a call made the object that an event is about.
func (v *action) Made(ctx context.Context, i actions.Intent, about actions.Subject) (bool, error) {
	c, err := v.desk.call(i)
	if err != nil {
		return false, err
	}
	maker, ok := c.(maker)
	if !ok {
		return false, nil
	}
	made, err := maker.made(ctx, i, about)
	if err != nil {
		return false, v.failed(err)
	}
	return made, nil
}

// failed adds the verb to an error and marks it.
func (v *action) failed(err error) error { return classify(fmt.Errorf("%s: %w", v.schema.Verb, err)) }

// A call is one kind of request, with what makes it safe to repeat.
type call interface {
	do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error)
	settle(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error)
}

// A maker is a call whose object can be recognised even without the answer.
type maker interface {
	made(ctx context.Context, i actions.Intent, about actions.Subject) (bool, error)
}

// sameID reports whether two ids are equal.
func sameID(a, b string) bool { return a != "" && plain.FoldUUID(a) == plain.FoldUUID(b) }

// A desk is what the verbs and their calls share.
type desk struct {
	client       *service.Client // nil if there is no service to ask
	profile      *service.Profile
	directory    *service.Directory
	facts        *Facts
	media        fs.FS
	people       service.People
	location     *time.Location
	outside      *outside
	calls        map[string]call
	hiddenFields map[string]bool // what calls set and no event shows
}

// Profile says how the service's objects are decoded.
func (d *desk) Profile() *service.Profile { return d.profile }

func newDesk(o Options) (*desk, error) {
	if o.Client == nil {
		return nil, errors.New("builtin: a client is required")
	}
	d := &desk{client: o.Client, profile: o.Client.Profile(), directory: o.Directory, media: o.Media, people: o.People, location: o.Location, calls: map[string]call{}}
	d.hiddenFields = hiddenFields(d.profile)
	if d.directory == nil {
		d.directory = service.NewDirectory(o.Client)
	}
	if d.location == nil {
		d.location = time.UTC
	}
	d.facts = NewFacts(d.directory, o.Own)
	var err error
	if d.outside, err = newOutside(o); err != nil {
		return nil, err
	}
	for _, v := range verbs() {
		for _, k := range v.calls {
			d.calls[k.name] = k.on(d)
		}
	}
	return d, nil
}

func (d *desk) call(i actions.Intent) (call, error) {
	c := d.calls[i.Call]
	if c == nil {
		return nil, actions.Permanent(fmt.Errorf("there is no call %q; was it recorded by another version?", i.Call))
	}
	return c, nil
}

// planCall returns a plan whose next step is a call.
func planCall(s *actions.Step, call string, i actions.Intent, request, before any) (actions.Next, error) {
	i.Call, i.At, i.Planned = call, s.Now, request
	var err error
	if i.Request, err = json.Marshal(request); err != nil {
		return actions.Next{}, actions.Permanent(fmt.Errorf("the request cannot be recorded: %w", err))
	}
	if before != nil {
		if i.Before, err = json.Marshal(before); err != nil {
			return actions.Next{}, actions.Permanent(fmt.Errorf("the state before the request cannot be recorded: %w", err))
		}
	}
	return actions.Next{Intent: &i}, nil
}

// decodeRecorded decodes a recorded request, state or answer.
func decodeRecorded[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, actions.Permanent(fmt.Errorf("what was recorded cannot be read: %w", err))
	}
	return v, nil
}

// decodeIntent decodes the request of an intent, and the state before it.
func decodeIntent[Request, Before any](i actions.Intent) (in Request, before Before, err error) {
	if in, err = decodeRecorded[Request](i.Request); err == nil {
		before, err = decodeRecorded[Before](i.Before)
	}
	return in, before, err
}

// receipt returns a receipt with an answer and the events that the call causes.
func receipt(answer any, caused ...actions.Caused) actions.Receipt {
	r := actions.Receipt{Caused: caused}
	if answer != nil {
		// The call has been made, so an answer that cannot be encoded must not fail it.
		r.Answer, _ = plain.Append(make([]byte, 0, 512), answer)
	}
	return r
}

// encodeSet encodes what a call set, for a Caused.
func encodeSet(fields map[string]any) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	raw, _ := plain.Encode(fields) // texts and flags can always be encoded
	return raw
}

// done ends a step.
func done(value any) (actions.Next, error) {
	return actions.Next{Result: &actions.Result{Outcome: actions.Done, Value: value}}, nil
}

// alreadyDone ends a step that has nothing to change.
func alreadyDone(value any, code phrases.Code) (actions.Next, error) {
	return actions.Next{Result: &actions.Result{Outcome: actions.Done, Why: phrases.New(code), Value: value}}, nil
}

// Settlements.

func happened(r actions.Receipt) (actions.Settlement, error) {
	return actions.Settlement{Verdict: actions.Happened, Receipt: r}, nil
}

func repeat() (actions.Settlement, error) { return actions.Settlement{Verdict: actions.Repeat}, nil }

func settled(v actions.Verdict, code phrases.Code) (actions.Settlement, error) {
	return actions.Settlement{Verdict: v, Why: phrases.New(code)}, nil
}

// id turns the name in an argument into an id; empty if the argument is not given. An argument that
// is given and empty is a mistake: without it the step would do something else than it says.
func (d *desk) id(ctx context.Context, a args, arg string, kind service.Kind) (string, error) {
	if !a.has(arg) {
		return "", nil
	}
	name, err := a.requiredText(arg)
	if err != nil {
		return "", err
	}
	return d.directory.ID(ctx, kind, name)
}

// result ends a step with the facts in a receipt, after it has added the names that belong to them.
func result(ctx context.Context, r actions.Receipt, t *rules.Type, name func(context.Context, map[string]any) error) (actions.Next, error) {
	v := r.Fact
	if v == nil {
		var err error
		if v, err = actions.Typed(t, r.Answer); err != nil {
			return actions.Next{}, actions.Permanent(err)
		}
	}
	if fact, ok := v.(map[string]any); ok && name != nil {
		if err := name(ctx, fact); err != nil {
			return actions.Next{}, err
		}
	}
	return done(v)
}

// read ends a step that only reads.
func read[T any](value T, err error) (actions.Next, error) {
	if err != nil {
		return actions.Next{}, err
	}
	return done(value)
}
