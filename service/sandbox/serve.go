package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

const (
	maxJSON   = 64 << 10 // of the reference
	maxUpload = 16 << 20 // not shown in the reference
)

// call is a request while it is handled.
type call struct {
	op     *operation
	key    *Key
	id     ID // of the path, where it has one
	http   *http.Request
	body   []byte
	header http.Header // of the answer
	status int         // of the answer

	reservation *store.Reservation // of a Kanban POST
}

func (s *Sandbox) newAPI() http.Handler {
	mux := http.NewServeMux()
	for _, op := range operations() {
		mux.HandleFunc(op.name, func(w http.ResponseWriter, r *http.Request) { s.serve(op, w, r) })
	}
	mux.HandleFunc("GET /media/{id}/content", s.downloadMedia)
	unknown := &operation{name: "*", serve: func(_ *Sandbox, c *call) (any, error) {
		return nil, store.NotFound("operation", c.http.Method+" "+c.http.URL.Path)
	}}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(unknown, w, r) })
	return mux
}

// serve handles every operation in the same steps: key, rate, scope, faults, body, the operation
// itself, faults again, answer.
func (s *Sandbox) serve(op *operation, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	c := &call{op: op, http: r, header: http.Header{}, status: op.status}
	before, err := s.admit(c)
	if err == nil {
		err = s.applyFault(r.Context(), before)
	}
	if err == nil {
		err = c.read()
	}
	if err != nil {
		write(w, refuse(err))
		return
	}
	out := s.execute(c)
	if out.Status < http.StatusBadRequest {
		if err := s.faultAfter(op.name); err != nil {
			write(w, refuse(err)) // the effect stays, and its answer is lost
			return
		}
		// A client that has disconnected has lost the answer as well.
		if c.reservation != nil && r.Context().Err() == nil {
			s.mu.Lock()
			c.reservation.Complete(out)
			s.mu.Unlock()
		}
	}
	write(w, out)
}

// admit checks a request, and picks the fault that applies before it is carried out.
func (s *Sandbox) admit(c *call) (*Fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if c.key, err = s.authenticate(c.http); err != nil {
		return nil, err
	}
	if err := s.limit(c.key); err != nil {
		return nil, err
	}
	if err := checkScope(c.key, c.op); err != nil {
		return nil, err
	}
	return s.pick(c.op.name, before), nil
}

// read reads the path's id and the body.
func (c *call) read() error {
	if text := c.http.PathValue("id"); text != "" {
		id, err := ParseID(text)
		if err != nil {
			return store.Invalid("the id in the path: %v", err)
		}
		c.id = id
	}
	if !c.op.changes {
		return nil
	}
	limit := int64(maxJSON)
	if c.op.upload {
		limit = maxUpload
	}
	tooLarge := &Error{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large",
		Message: "the body is larger than " + strconv.FormatInt(limit>>10, 10) + " KiB"}
	if c.http.ContentLength > limit {
		return tooLarge
	}
	var err error
	c.body, err = io.ReadAll(io.LimitReader(c.http.Body, limit+1))
	if err != nil {
		return store.Invalid("the body could not be read: %v", err)
	}
	if int64(len(c.body)) > limit {
		return tooLarge
	}
	if !c.op.upload && !utf8.Valid(c.body) {
		return store.Invalid("the body is not valid UTF-8, so it is not JSON")
	}
	return nil
}

// execute runs the operation and encodes its answer under one lock: the answer is one moment's
// state.
func (s *Sandbox) execute(c *call) store.Answer {
	if c.op.changes {
		s.mu.Lock()
		defer s.mu.Unlock()
	} else {
		s.mu.RLock()
		defer s.mu.RUnlock()
	}
	var result any
	var err error
	if c.op.idempotent {
		var replay *store.Answer
		if replay, err = s.reserve(c); replay != nil {
			return *replay
		}
	}
	if err == nil {
		if result, err = c.op.serve(s, c); err != nil && c.reservation != nil {
			s.store.ReleaseReservation(c.reservation) // nothing was done, so nothing is stored
		}
	}
	if err != nil {
		return refuse(err)
	}
	out := store.Answer{Status: c.status, Header: c.header}
	if c.status != http.StatusNoContent {
		out.Body = encode(result)
	}
	return out
}

// encode writes JSON; the sandbox's answers can always be encoded.
func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

func refuse(err error) store.Answer {
	var e *Error
	if !errors.As(err, &e) {
		e = store.Invalid("%v", err)
	}
	h := http.Header{}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	return store.Answer{Status: e.Status, Header: h, Body: encode(e)}
}

func write(w http.ResponseWriter, a store.Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if a.Body != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client may have disconnected
}

// list is the envelope of every list but the boards.
type list[T any] struct {
	Data       []T      `json:"data"`
	NextCursor Optional `json:"next_cursor"`
}

func listOf[T any](data []T) list[T] {
	if data == nil {
		data = []T{}
	}
	return list[T]{Data: data}
}
