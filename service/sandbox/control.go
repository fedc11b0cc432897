package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// newControl returns the HTTP handler of the control interface: what people and tests do to the
// company.
func (s *Sandbox) newControl() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /clock", answering(func(context.Context, struct{}) (any, error) { return nowView(s.Now()), nil }))
	mux.HandleFunc("POST /clock", answering(s.controlClock))
	mux.HandleFunc("POST /settle", answering(func(ctx context.Context, _ struct{}) (any, error) {
		return struct{}{}, s.Settle(ctx)
	}))
	mux.HandleFunc("GET /overview", func(w http.ResponseWriter, r *http.Request) {
		with, _ := ParseID(r.URL.Query().Get("with")) // an invalid id matches nothing
		write(w, store.Answer{Status: http.StatusOK, Body: encode(s.Overview(overviewMost, with))})
	})
	s.controlPeople(mux)
	mux.HandleFunc("POST /faults", answering(func(_ context.Context, in faultRequest) (any, error) { return in.Fault, in.add(s) }))
	mux.HandleFunc("DELETE /faults", answering(func(context.Context, struct{}) (any, error) {
		s.ClearFaults()
		return struct{}{}, nil
	}))
	mux.HandleFunc("POST /keys", answering(func(_ context.Context, in NewKey) (any, error) { return s.NewKey(in) }))
	mux.HandleFunc("DELETE /keys/{id}", s.controlRevoke)
	mux.HandleFunc("POST /rate", answering(func(_ context.Context, in rate) (any, error) {
		s.SetRateLimit(in.PerSecond)
		return in, nil
	}))
	mux.HandleFunc("GET /effects", answering(func(context.Context, struct{}) (any, error) {
		effects := s.Effects()
		if effects == nil {
			effects = []Effect{}
		}
		return map[string][]Effect{"effects": effects}, nil
	}))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// A client that has stopped reading must not block the sandbox.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
		_ = s.WriteState(w)
	})
	mux.HandleFunc("PUT /state", takingState(s.SetState))
	mux.HandleFunc("POST /state", takingState(s.AddState))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, refuse(store.NotFound("control", r.Method+" "+r.URL.Path)))
	})
	return sameMachine(http.NewCrossOriginProtection().Handler(mux))
}

// controlPeople adds the routes for customers and the team.
func (s *Sandbox) controlPeople(mux *http.ServeMux) {
	mux.HandleFunc("POST /customers/message", answering(func(_ context.Context, in CustomerMessage) (any, error) {
		return s.CustomerMessage(in)
	}))
	mux.HandleFunc("POST /team/message", answering(func(_ context.Context, in TeamMessage) (any, error) {
		id, err := s.TeamMessage(in)
		return map[string]ID{"message": id}, err
	}))
	mux.HandleFunc("POST /team/close", answering(func(_ context.Context, in TeamClose) (any, error) {
		id, err := s.TeamClose(in)
		return map[string]ID{"attendance": id}, err
	}))
	mux.HandleFunc("POST /team/transfer", answering(func(_ context.Context, in TeamTransfer) (any, error) {
		return s.TeamTransfer(in)
	}))
	mux.HandleFunc("POST /team/labels", answering(func(_ context.Context, in TeamLabels) (any, error) {
		return s.TeamLabels(in)
	}))
	mux.HandleFunc("POST /cards", answering(func(_ context.Context, in NewCard) (any, error) { return s.CreateCard(in) }))
	mux.HandleFunc("POST /cards/move", answering(func(_ context.Context, in MoveCard) (any, error) { return s.MoveCard(in) }))
	mux.HandleFunc("POST /cards/edit", answering(func(_ context.Context, in EditCard) (any, error) { return s.EditCard(in) }))
	mux.HandleFunc("POST /events", answering(func(_ context.Context, in bareEvent) (any, error) {
		id, err := s.Raise(in.Type, in.Data)
		return map[string]ID{"event": id}, err
	}))
}

// sameMachine refuses DNS rebinding: a page whose own name resolves to this machine would be
// same-origin. Requests over the loopback interface must use one of its names.
func sameMachine(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		name := r.Host
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		ip := net.ParseIP(strings.Trim(name, "[]"))
		if at != nil && at.IP.IsLoopback() && !strings.EqualFold(name, "localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "the control interface is not served under this name: ask for it as localhost or 127.0.0.1", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// faultRequest tells a share or a count of 0, which is never, from one that was left out.
type faultRequest struct {
	Fault
	Share *float64 `json:"share"`
	Count *int     `json:"count"`
}

func (f *faultRequest) add(s *Sandbox) error {
	if f.Share != nil {
		f.Fault.Share = *f.Share
	}
	if f.Count != nil {
		f.Fault.Count = *f.Count
	}
	if (f.Share != nil && *f.Share == 0) || (f.Count != nil && *f.Count == 0) {
		return f.check() // a share or count of 0 never applies
	}
	return s.AddFault(f.Fault)
}

// overviewMost is the number of items in an overview.
const overviewMost = 50

type bareEvent struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

type rate struct {
	PerSecond int `json:"per_second"`
}

// answering turns a function from a body to an answer into a handler. It refuses unknown members,
// which are mistakes.
func answering[In any](do func(context.Context, In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		body, err := io.ReadAll(r.Body)
		if err == nil && !utf8.Valid(body) {
			err = store.Invalid("the body is not valid UTF-8, so it is not JSON")
		}
		if err == nil && len(body) > 0 {
			err = strict(body, &in)
		}
		var out any
		if err == nil {
			out, err = do(r.Context(), in)
		}
		if err != nil {
			write(w, refuse(err))
			return
		}
		write(w, store.Answer{Status: http.StatusOK, Body: encode(out)})
	}
}

func takingState(take func([]byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = take(body)
		}
		if err != nil {
			write(w, refuse(err))
			return
		}
		write(w, store.Answer{Status: http.StatusOK, Body: []byte("{}")})
	}
}

type clockMove struct {
	Advance Duration  `json:"advance"`
	Set     time.Time `json:"set"`
}

func (s *Sandbox) controlClock(ctx context.Context, in clockMove) (any, error) {
	if (in.Advance == 0) == in.Set.IsZero() {
		return nil, store.Invalid(`send either {"advance":"15m"} or {"set":"2026-11-13T17:50:00-03:00"}`)
	}
	var now time.Time
	var err error
	if in.Set.IsZero() {
		now, err = s.Advance(ctx, time.Duration(in.Advance))
	} else {
		now, err = s.SetClock(ctx, in.Set)
	}
	return nowView(now), err
}

func nowView(t time.Time) map[string]Instant { return map[string]Instant{"now": store.InstantOf(t)} }

func (s *Sandbox) controlRevoke(w http.ResponseWriter, r *http.Request) {
	id, err := ParseID(r.PathValue("id"))
	if err == nil {
		err = s.RevokeKey(id)
	}
	if err != nil {
		write(w, refuse(err))
		return
	}
	write(w, store.Answer{Status: http.StatusNoContent})
}
