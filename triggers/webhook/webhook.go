// Package webhook receives the service's signed deliveries: it verifies, decodes, records and only then answers.
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
	maxAge  = 5 * time.Minute // of a signature, either way
)

// An Outcome says what became of a delivery. Every outcome is counted.
type Outcome string

// The outcomes.
const (
	Recorded    Outcome = "recorded"
	Duplicate   Outcome = "duplicate"
	NoSecret    Outcome = "no_secret"     // none is configured, so nothing can be trusted
	Unsigned    Outcome = "unsigned"      // a header is missing
	Forged      Outcome = "bad_signature" // signed with another secret, or not at all
	Stale       Outcome = "stale"         // rightly signed, but over five minutes ago: perhaps a retry with its first timestamp
	Early       Outcome = "early"         // signed over five minutes ahead of our clock
	TooLarge    Outcome = "too_large"
	NotAnEvent  Outcome = "not_an_event"
	Mismatch    Outcome = "header_mismatch" // the headers, which are not signed, disagree with the body
	Interrupted Outcome = "interrupted"     // the body broke off
	Unavailable Outcome = "unavailable"     // the journal could not record it; the service will deliver it again
)

// Options configure a Receiver. Sink and Secrets are required.
type Options struct {
	Workspace string
	// Secrets returns the signing secrets that are valid now: several while one is being rotated.
	Secrets func() []service.Secret
	// Renew returns the valid secrets once more, when a signature fits none of those that Secrets gave: one may just have been rotated. It may take a few seconds. Nil
	// knows no others.
	Renew func(ctx context.Context) []service.Secret
	// Sink records the events.
	Sink triggers.Sink
	// Profile says what the headers are called and where an event's data carries what it is about; nil is the default one.
	Profile *service.Profile
	// Count is told what became of each delivery; nil is nobody.
	Count func(Outcome)
	// Now is the clock; nil is the real one.
	Now    func() time.Time
	Logger *slog.Logger // nil means no log
}

// A Receiver serves the address of one workspace's webhook.
type Receiver struct {
	options  Options
	headers  struct{ event, id, timestamp, signature string }
	desktops sync.Pool
	refusals refusals
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
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Receiver{options: o, refusals: refusals{log: o.Logger, workspace: o.Workspace}}
	r.desktops.New = func() any { return new(desktop) }
	r.headers.event, r.headers.id = o.Profile.Header("Event"), o.Profile.Header("Event-Id")
	r.headers.timestamp, r.headers.signature = o.Profile.Header("Timestamp"), o.Profile.Header("Signature")
	return r, nil
}

// ServeHTTP answers one delivery: 202 recorded, 200 a duplicate, 401 not to be trusted, 400 not an event, 413 too large, 503 not
// recorded. Nothing but the signature is looked at before the signature is.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "deliveries are POSTed here", http.StatusMethodNotAllowed)
		return
	}
	outcome, reason := r.receive(w, req)
	r.options.Count(outcome)
	if reason != nil {
		r.refusals.tell(outcome, reason)
	}
	status, body := answer(outcome)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // who delivers may have gone away
}

// answer returns what the service is told. Why a delivery is not trusted stays between us and the log.
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
	case Unavailable:
		return http.StatusServiceUnavailable, `{"status":"not recorded, deliver it again"}` + "\n"
	}
	return http.StatusUnauthorized, `{"status":"signature refused"}` + "\n"
}

// receive takes a delivery through its steps, in this order.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (Outcome, error) {
	event, outcome, err := r.open(w, req)
	if err != nil {
		return outcome, err
	}
	if err := r.agrees(req.Header, event.ID, event.Type); err != nil {
		return Mismatch, err
	}
	event.Workspace, event.ReceivedAt = r.options.Workspace, r.options.Now()
	event.Lane = lane(r.options.Profile, event)
	event.Identity = r.options.Profile.EventIdentity(event.Type, event.Data)
	fresh, err := r.options.Sink(req.Context(), event)
	switch {
	case err != nil:
		return Unavailable, err
	case len(fresh) == 1 && !fresh[0]:
		return Duplicate, nil
	}
	return Recorded, nil
}

// open reads a delivery, verifies it and decodes it.
func (r *Receiver) open(w http.ResponseWriter, req *http.Request) (event rules.Event, outcome Outcome, err error) {
	d := r.desktops.Get().(*desktop)
	defer r.clean(d)
	body, err := d.read(req.Header.Get(r.headers.timestamp), http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return event, TooLarge, err
		}
		return event, Interrupted, err
	}
	outcome, err = r.verify(req.Header, d, r.options.Secrets())
	if (outcome == Forged || outcome == NoSecret) && r.options.Renew != nil {
		outcome, err = r.verify(req.Header, d, r.options.Renew(req.Context()))
	}
	if err != nil {
		return event, outcome, err
	}
	event, err = decode(body)
	return event, NotAnEvent, err
}
