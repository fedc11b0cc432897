// Package lsp is a language server for rule files: the Language Server Protocol over two streams.
//
// It changes no file and sends nothing to the service.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/editor"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/phrases"
)

// A Desk finds out what a rule file belongs to.
type Desk interface {
	// Workspace returns the workspace of a file, which need not exist yet. It reads configurations
	// and lists folders.
	Workspace(file string) (Workspace, error)
	// CheckTemplate checks a file with blanks.
	CheckTemplate(name string, text []byte) rules.Problems
}

// A Workspace is the rule files that are checked together. Its methods may be called by many
// goroutines.
type Workspace interface {
	Key() string     // the same for files of one workspace
	Files() []string // paths of its rule files
	Options() rules.Options
	Compile(ctx context.Context, files []*rules.File) (*rules.Set, rules.Problems, error)
	// Names returns what the desk has, and the files that rules can send. It may take a while.
	Names(ctx context.Context) (choices []editor.Choice, media []string)
	// Test runs the tests of a file; with a name, only that one.
	Test(ctx context.Context, files []*rules.File, file, name string) ([]TestResult, error)
	// Backtest says what a rule would have done on recorded events: in one line, and in full.
	Backtest(ctx context.Context, files []*rules.File, file, rule string) (summary, report string, err error)
}

// A TestResult is what came of one test.
type TestResult struct {
	File, Name string
	OK         bool
	Line       int    // of the step that failed, or of the test
	Message    string // why it failed, in a line
	Report     string
}

// Options are what a server works with.
type Options struct {
	Desk     Desk
	Catalog  *rules.Catalog
	Language phrases.Language
	Version  string
}

// A Server speaks with one editor.
type Server struct {
	desk      Desk
	language  phrases.Language
	version   string
	catalogue form.Catalogue
	out       frameWriter

	state    int // of the protocol; only the goroutine that reads has it
	units    encoding
	watches  bool // the editor can tell of files that change
	requests sync.WaitGroup

	mu       sync.Mutex
	docs     map[string]*document // by URI
	spaces   map[string]*space    // by file
	before   map[string]*space    // as they were found before
	running  map[string]context.CancelFunc
	failures map[string][]TestResult // of tests, by file
	told     string                  // what was wrong with a configuration

	checker *checker
	files   fileCache
}

// The states of the protocol.
const (
	fresh = iota
	initialized
	shutDown
)

// New returns a server.
func New(o Options) *Server {
	s := &Server{
		desk: o.Desk, language: o.Language, version: o.Version, catalogue: form.NewCatalogue(o.Catalog), units: utf16Units,
		docs: make(map[string]*document), spaces: make(map[string]*space), running: make(map[string]context.CancelFunc), failures: make(map[string][]TestResult),
	}
	s.checker = newChecker(s)
	return s
}

// ErrNoShutdown is that the editor ended the conversation without asking for that first.
var ErrNoShutdown = errors.New("the editor went away without shutdown")

// Run serves until the editor says exit, the input ends, or ctx ends. It returns nil after a
// shutdown, and ErrNoShutdown without one.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.out.w = out
	checks := make(chan struct{})
	go func() {
		defer close(checks)
		s.checker.run(ctx)
	}()
	read := make(chan error, 1)
	go func() { read <- s.read(ctx, in) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		return nil // a signal: nobody waits for an answer, and the input may stay open
	}
	stop()
	<-checks
	s.requests.Wait()
	if errors.Is(err, io.EOF) {
		err = ErrNoShutdown
		if s.state == fresh { // nothing was ever asked
			err = nil
		}
	}
	return err
}

// errExit ends the reading of messages after exit.
var errExit = errors.New("exit")

func (s *Server) read(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, maxHeader)
	for {
		body, err := readFrame(r)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.fail(nil, &rpcError{parseError, err.Error()})
			}
			return err
		}
		if err := s.receive(ctx, body); err != nil {
			if errors.Is(err, errExit) && s.state == shutDown {
				return nil
			}
			return io.EOF
		}
	}
}

// receive takes one message. Its error is errExit.
func (s *Server) receive(ctx context.Context, body []byte) error {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		s.fail(nil, &rpcError{parseError, "the message is not JSON: " + err.Error()})
		return nil
	}
	isRequest := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method == "exit":
		return errExit
	case m.Method == "" && isRequest:
		return nil // the answer to a request of ours
	case m.Method == "" || m.JSONRPC != "2.0":
		s.fail(m.ID, &rpcError{invalidRequest, "this is no request of JSON-RPC 2.0"})
	case s.state == fresh && m.Method != "initialize":
		if isRequest {
			s.fail(m.ID, &rpcError{notInitialized, "initialize comes first"})
		}
	case s.state == shutDown && isRequest:
		s.fail(m.ID, &rpcError{invalidRequest, "the server has been shut down"})
	case s.state == shutDown:
	case isRequest:
		s.request(ctx, m)
	default:
		_ = s.protect(func() { s.notification(m) }) // it was logged
	}
	return nil
}

// protect keeps a panic to what caused it.
func (s *Server) protect(f func()) (failed error) {
	defer func() {
		if r := recover(); r != nil {
			failed = fmt.Errorf("panic: %v", r)
			s.log(messageError, fmt.Sprintf("%v\n%s", r, debug.Stack()))
		}
	}()
	f()
	return nil
}

// maxRunning bounds how many requests are under way.
const maxRunning = 64

// request answers a request. Those that change the state of the protocol are answered at once, the
// others by a goroutine of their own, with the documents as they are now.
func (s *Server) request(ctx context.Context, m message) {
	switch m.Method {
	case "initialize":
		s.answer(m.ID)(s.initialize(m.Params))
		return
	case "shutdown":
		s.state = shutDown
		s.answer(m.ID)(nil, nil)
		return
	}
	handle := handlers[m.Method]
	if handle == nil {
		s.fail(m.ID, &rpcError{methodNotFound, fmt.Sprintf("%q is not known here", m.Method)})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	full := len(s.running) >= maxRunning
	if !full {
		s.running[string(m.ID)] = cancel
	}
	view := s.snapshot()
	s.mu.Unlock()
	if full {
		cancel()
		s.fail(m.ID, &rpcError{serverCancelled, "too many requests are under way"})
		return
	}
	s.requests.Go(func() {
		defer cancel()
		var result any
		var err error
		if failed := s.protect(func() { result, err = handle(ctx, view, m.Params) }); failed != nil {
			err = &rpcError{internalError, failed.Error()}
		}
		s.mu.Lock()
		delete(s.running, string(m.ID))
		s.mu.Unlock()
		if ctx.Err() != nil {
			err = &rpcError{requestCancelled, "the request was cancelled"}
		}
		s.answer(m.ID)(result, err)
	})
}

// answer returns what answers a request.
func (s *Server) answer(id json.RawMessage) func(result any, err error) {
	return func(result any, err error) {
		if err != nil {
			known, ok := errors.AsType[*rpcError](err)
			if !ok {
				known = &rpcError{requestFailed, err.Error()}
			}
			s.fail(id, known)
			return
		}
		body, err := json.Marshal(result)
		if err != nil {
			s.fail(id, &rpcError{internalError, err.Error()})
			return
		}
		_ = s.out.write(message{ID: id, Result: body}) // an editor that has gone away ends the input too
	}
}

func (s *Server) fail(id json.RawMessage, e *rpcError) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	_ = s.out.write(message{ID: id, Error: e})
}

// notify tells the editor something.
func (s *Server) notify(method string, params any) {
	body, err := json.Marshal(params)
	if err == nil {
		_ = s.out.write(message{Method: method, Params: body})
	}
}

// show shows a text to the person, log notes it where the editor keeps such things.
func (s *Server) show(kind int, text string) {
	s.notify("window/showMessage", showParams{kind, text})
}

func (s *Server) log(kind int, text string) {
	s.notify("window/logMessage", showParams{kind, text})
}

// params reads the parameters of a message.
func params[T any](raw json.RawMessage) (p T, err error) {
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, &rpcError{invalidParams, err.Error()}
	}
	return p, nil
}
