package builtin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

// classify marks an error with what follows from it. It is the one place that knows what the
// service's answers mean:
//
//	400, 404, 413, other 4xx, a wrong name    permanent: no repeat mends it
//	401, a redirect                           held: the workspace waits for a person
//	403                                       denied: what asked waits for the scope; others go on
//	429                                       the workspace waits for Retry-After
//	409 version_conflict, 428                 stale: read again, plan anew
//	5xx, time-outs, broken connections        uncertain if it may have had its effect, else passing
//
// An error that is marked already keeps its marks.
func classify(err error) error {
	if actions.IsMarked(err) {
		return err
	}
	err = phrased(err)
	if _, ok := errors.AsType[*service.NameError](err); ok {
		return actions.Permanent(err)
	}
	e, ok := errors.AsType[*service.Error](err)
	if !ok {
		return err
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return actions.RetryAfter(e.RetryAfter, err)
	case e.Local && e.Err != nil:
		return err // it gave up while it waited for the rate limit, and was never sent
	case e.Local:
		return actions.Permanent(err)
	case e.Status == http.StatusForbidden:
		return actions.Denied(err)
	case e.Status == http.StatusUnauthorized, e.Status >= 300 && e.Status < 400:
		return actions.Held(err)
	case service.IsVersionConflict(err), e.Status == http.StatusPreconditionRequired:
		return actions.Stale(err)
	case e.Pending, e.Uncertain:
		err = actions.Uncertain(err)
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooEarly:
		return err
	case e.Status >= 400 && e.Status < 500:
		return actions.Permanent(err)
	}
	if e.RetryAfter > 0 {
		return actions.Later(e.RetryAfter, err)
	}
	return err
}

// A phrasedError is an error of the service with what people are told of it.
type phrasedError struct {
	error
	phrase *phrases.Phrase
}

func (e *phrasedError) Unwrap() error           { return e.error }
func (e *phrasedError) Phrase() *phrases.Phrase { return e.phrase }

// phrased adds to an error of the service what people are told of it. What it says stays the same.
func phrased(err error) error {
	said := err.Error()
	if name, ok := errors.AsType[*service.NameError](err); ok {
		code, args := phrases.NameUnknown, []any{said, phrases.New(cmp.Or(kindCodes[name.Kind], phrases.KindOther)), name.Name}
		switch {
		case len(name.IDs) > 0:
			code = phrases.NameShared
		case len(name.Near) > 0:
			code, args = phrases.NameNear, append(args, "“"+strings.Join(name.Near, "”, “")+"”")
		}
		return &phrasedError{err, phrases.New(code, args...)}
	}
	e, ok := errors.AsType[*service.Error](err)
	switch {
	case !ok || e.Local:
		return err
	case serviceCode(e) == phrases.ServiceRefused:
		return &phrasedError{err, phrases.New(phrases.ServiceRefused, said, e.Message)}
	}
	return &phrasedError{err, phrases.New(serviceCode(e), said)}
}

var kindCodes = map[service.Kind]phrases.Code{
	service.KindLabel: phrases.KindLabel, service.KindSector: phrases.KindSector, service.KindPerson: phrases.KindPerson,
	service.KindChannel: phrases.KindChannel, service.KindBoard: phrases.KindBoard, service.KindStage: phrases.KindStage,
}

// serviceCode says what an answer of the service means to people.
func serviceCode(e *service.Error) phrases.Code {
	switch {
	case e.Status == 0 && errors.Is(e.Err, context.DeadlineExceeded), e.Status == http.StatusGatewayTimeout, e.Status == http.StatusRequestTimeout:
		return phrases.ServiceLate
	case e.Status == 0:
		return phrases.ServiceAway
	case e.Status == http.StatusUnauthorized:
		return phrases.ServiceKey
	case e.Status == http.StatusForbidden:
		return phrases.ServiceDenied
	case e.Status == http.StatusTooManyRequests:
		return phrases.ServiceBusy
	case e.Status >= http.StatusInternalServerError:
		return phrases.ServiceDown
	case e.Message != "":
		return phrases.ServiceRefused
	case e.Status == http.StatusNotFound:
		return phrases.ServiceGone
	case e.Status == http.StatusConflict, e.Status == http.StatusPreconditionRequired:
		return phrases.ServiceConflict
	}
	return phrases.ServiceNoReason
}

// isConflict reports whether the service refused a call because of the object's state.
func isConflict(err error) bool {
	e, ok := errors.AsType[*service.Error](err)
	return ok && !e.Local && e.Status == http.StatusConflict
}

// isPending reports whether an earlier call with the same key has no stored answer.
func isPending(err error) bool {
	e, ok := errors.AsType[*service.Error](err)
	return ok && e.Pending
}
