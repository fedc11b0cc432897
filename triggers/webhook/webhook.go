// Package webhook receives the service's signed deliveries: it verifies, decodes and records an
// event, and only then answers.
package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers"
)

const (
	maxBody = 1 << 20

	// MaxAge is how far the time of a signature may be from ours, either way.
	MaxAge = 5 * time.Minute

	// bodyTime is how long a body may take to arrive: the service waits 8 seconds for the answer.
	bodyTime = 5 * time.Second
	// recordTime is how long recording may take. It continues if the sender disconnects.
	recordTime = 8 * time.Second
	// retryAfter is the Retry-After, in seconds, of a delivery refused because of too many bodies.
	retryAfter = "1"
)

// An Outcome says what became of a delivery. Every outcome is counted.
type Outcome string

// The outcomes.
const (
	Recorded    Outcome = "recorded"
	Duplicate   Outcome = "duplicate"
	NoSecret    Outcome = "no_secret"     // none is configured, so no delivery can be trusted
	Unsigned    Outcome = "unsigned"      // a header is missing
	Forged      Outcome = "bad_signature" // signed with another secret, or not at all
	Stale       Outcome = "stale"         // its timestamp is over five minutes old; the signature was not checked
	Early       Outcome = "early"         // its timestamp is over five minutes ahead of our clock
	TooLarge    Outcome = "too_large"
	NotAnEvent  Outcome = "not_an_event"
	Mismatch    Outcome = "header_mismatch" // the headers, which are not signed, differ from the body
	Interrupted Outcome = "interrupted"     // the body ended early, or did not arrive in time
	Crowded     Outcome = "crowded"         // too many unverified bodies arrived at once
	Unavailable Outcome = "unavailable"     // the journal could not record it; the service will deliver it again
)

// Options configure a Receiver. Sink and Secrets are required.
type Options struct {
	Workspace string
	// Secrets returns the signing secrets that are valid for a signature of that time: several while
	// one is being rotated.
	Secrets func(signed time.Time) []service.Secret
	// Renew returns the secrets again if a signature matches none of those from Secrets: one may just
	// have been rotated. It may take a few seconds. Nil means that there are no others.
	Renew func(ctx context.Context, signed time.Time) []service.Secret
	// Sink records the events.
	Sink triggers.Sink
	// Profile has the names of the headers, and where an event's data has the ids of what it is about;
	// nil means the default one.
	Profile *service.Profile
	// Bodies bounds the memory of unverified bodies, over all receivers that share it; nil makes one
	// for this receiver.
	Bodies *Bodies
	// Verified is called with each request whose signature is right; it may be nil.
	Verified func(*http.Request)
	// Count is called with the outcome of each delivery; it may be nil.
	Count func(Outcome)
	// Now is the clock; nil means the real one.
	Now    func() time.Time
	Logger *slog.Logger // nil means no log
}

// A Receiver serves the address of one workspace's webhook.
type Receiver struct {
	options   Options
	headers   struct{ event, id, timestamp, signature string }
	scratches sync.Pool
	refusals  refusals
}

// New returns a receiver.
func New(o Options) (*Receiver, error) {
	if o.Sink == nil || o.Secrets == nil {
		return nil, errors.New("webhook: a receiver needs a sink and its secrets")
	}
	if o.Profile == nil {
		p := service.DefaultProfile()
		o.Profile = &p
	}
	if o.Count == nil {
		o.Count = func(Outcome) {}
	}
	if o.Verified == nil {
		o.Verified = func(*http.Request) {}
	}
	if o.Bodies == nil {
		o.Bodies = NewBodies()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Receiver{options: o, refusals: refusals{log: o.Logger, workspace: o.Workspace}}
	r.scratches.New = func() any { return new(scratch) }
	r.headers.event, r.headers.id = o.Profile.Header("Event"), o.Profile.Header("Event-Id")
	r.headers.timestamp, r.headers.signature = o.Profile.Header("Timestamp"), o.Profile.Header("Signature")
	return r, nil
}

// ServeHTTP answers one delivery: 202 recorded, 200 duplicate, 401 not trusted, 400 not an event,
// 413 too large, 503 not recorded. It checks the head before it reads the body, and the signature
// before anything else of the body.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "deliveries are POSTed here", http.StatusMethodNotAllowed)
		return
	}
	outcome, reason := r.receive(w, req)
	r.options.Count(outcome)
	if reason != nil {
		r.refusals.add(outcome, reason)
	}
	status, body := answer(outcome)
	w.Header().Set("Content-Type", "application/json")
	if outcome == Crowded {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the sender may have disconnected
}

// answer returns the answer to the service. The reason why a delivery is not trusted is in the log
// only.
func answer(o Outcome) (status int, body string) {
	switch o {
	case Recorded:
		return http.StatusAccepted, `{"status":"recorded"}` + "\n"
	case Duplicate:
		return http.StatusOK, `{"status":"duplicate"}` + "\n"
	case TooLarge:
		return http.StatusRequestEntityTooLarge, `{"status":"too large"}` + "\n"
	case NotAnEvent, Mismatch, Interrupted:
		return http.StatusBadRequest, `{"status":"not an event"}` + "\n"
	case Unavailable, Crowded:
		return http.StatusServiceUnavailable, `{"status":"not recorded, deliver it again"}` + "\n"
	}
	return http.StatusUnauthorized, `{"status":"signature refused"}` + "\n"
}

// receive takes a delivery through its steps, in this order.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (Outcome, error) {
	event, outcome, err := r.readEvent(w, req)
	if err != nil {
		return outcome, err
	}
	if err := r.checkHeaders(req.Header, event.ID, event.Type); err != nil {
		return Mismatch, err
	}
	event.Workspace, event.ReceivedAt = r.options.Workspace, r.options.Now()
	event.Lane = lane(r.options.Profile, event)
	event.Identity = r.options.Profile.EventIdentity(event.Type, event.Data)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), recordTime)
	defer cancel()
	fresh, err := r.options.Sink(ctx, event)
	switch {
	case err != nil:
		return Unavailable, err
	case len(fresh) == 1 && !fresh[0]:
		return Duplicate, nil
	}
	return Recorded, nil
}

// readEvent reads a delivery, verifies it and decodes it.
func (r *Receiver) readEvent(w http.ResponseWriter, req *http.Request) (event rules.Event, outcome Outcome, err error) {
	claimed, outcome, err := r.claim(req)
	if err != nil {
		closeAfterAnswer(w, req)
		return event, outcome, err
	}
	d := r.scratches.Get().(*scratch)
	defer r.release(d)
	if outcome, err := r.readVerified(w, req, d, claimed); err != nil {
		return event, outcome, err
	}
	r.options.Verified(req)
	event, err = decode(d.body())
	return event, NotAnEvent, err
}

// closeAfterAnswer closes the connection after the answer, because there is an unread body on it.
// Without the deadline net/http would still read some of it, for as long as it takes to arrive.
// Over HTTP/2 the stream ends by itself.
func closeAfterAnswer(w http.ResponseWriter, req *http.Request) {
	if req.ProtoMajor == 1 && req.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
}

// readVerified reads a body within the bounds of time and memory, and verifies it.
func (r *Receiver) readVerified(w http.ResponseWriter, req *http.Request, d *scratch, claimed claim) (outcome Outcome, err error) {
	control, now := http.NewResponseController(w), time.Now() // not every writer has a connection
	body := &unverified{bodies: r.options.Bodies, began: now, end: func() { _ = control.SetReadDeadline(now.Add(-time.Second)) }}
	defer func() {
		if !body.release() && err != nil {
			outcome, err = Crowded, errCrowded
		}
	}()
	_ = control.SetReadDeadline(now.Add(bodyTime))
	if outcome, err = r.readBody(w, req, d, claimed, body); err != nil {
		closeAfterAnswer(w, req)
		return outcome, err
	}
	_ = control.SetReadDeadline(time.Time{}) // recording may take longer
	outcome, err = r.verify(claimed, d, r.options.Secrets(claimed.at))
	if (outcome == Forged || outcome == NoSecret) && r.options.Renew != nil {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		body.allowEviction(cancel)
		outcome, err = r.verify(claimed, d, r.options.Renew(ctx, claimed.at))
	}
	return outcome, err
}

var errCrowded = errors.New("too many bodies came at once that nobody has verified")

// readBody reads the body.
func (r *Receiver) readBody(w http.ResponseWriter, req *http.Request, d *scratch, claimed claim, body *unverified) (Outcome, error) {
	from := waitingReader{http.MaxBytesReader(w, req.Body, maxBody), body}
	err := d.read(claimed.timestamp, from, req.ContentLength, body.reserve)
	if err == nil && body.complete() {
		return "", nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return TooLarge, err
	}
	if err == nil || errors.Is(err, errCrowded) {
		return Crowded, errCrowded
	}
	return Interrupted, err
}
