package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

// newServer returns a server that nobody can hold up by being slow. Its own messages may repeat what strangers send, so they are for those who look for them.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// A health says whether the process is alive and able to record.
type health struct {
	ready    func(context.Context) error // why it is not
	stopping atomic.Bool
}

// routes adds the addresses of health.
func (h *health) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerText(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case h.stopping.Load():
			answerText(w, http.StatusServiceUnavailable, "stopping")
		case h.ready(r.Context()) != nil:
			// Why is for the log: this is a public address.
			answerText(w, http.StatusServiceUnavailable, "not able to record")
		default:
			answerText(w, http.StatusOK, "ready")
		}
	})
}

func answerText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // who asked may have gone away
}

// publicHandler serves the webhooks and health. The default workspace's webhook has the short address too.
func publicHandler(h *health, receivers map[string]http.Handler, count func(workspace string, o webhook.Outcome)) http.Handler {
	mux := http.NewServeMux()
	h.routes(mux)
	deliver := func(w http.ResponseWriter, r *http.Request, workspace string) {
		receiver := receivers[workspace]
		switch {
		case receiver == nil:
			http.NotFound(w, r)
		case h.stopping.Load():
			count(workspace, webhook.Unavailable)
			w.Header().Set("Connection", "close")
			answerText(w, http.StatusServiceUnavailable, "stopping, deliver it again")
		default:
			receiver.ServeHTTP(w, r)
		}
	}
	mux.HandleFunc("/webhook", func(w http.ResponseWriter, r *http.Request) { deliver(w, r, defaultWorkspaceName) })
	mux.HandleFunc("/webhook/{workspace}", func(w http.ResponseWriter, r *http.Request) { deliver(w, r, r.PathValue("workspace")) })
	return mux
}

// consoleHandler serves what is for the people who run the engine. Health is for everybody.
func consoleHandler(h *health, g *guard, metrics http.Handler) http.Handler {
	inner := http.NewServeMux()
	inner.Handle("GET /metrics", metrics)
	mux := http.NewServeMux()
	h.routes(mux)
	mux.Handle("/", g.protect(inner))
	return mux
}

// A guard lets in whoever may look at the console.
type guard struct {
	loopback bool // only this machine can connect
	token    service.Secret
}

// newGuard refuses an address that others can reach without a token.
func newGuard(address string, token service.Secret) (*guard, error) {
	g := &guard{loopback: isLoopback(address), token: token}
	if !g.loopback && token == "" {
		return nil, fmt.Errorf("console.listen %s can be reached from other machines: set console.token, or listen on 127.0.0.1:8081", address)
	}
	return g, nil
}

func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.loopback && !namesLoopback(r.Host):
			// A page of another site can make its own name lead here, and would then read what it likes.
			answerText(w, http.StatusForbidden, "this address is for this machine: ask for it as localhost or 127.0.0.1")
		case g.token != "" && !g.has(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="quando"`)
			answerText(w, http.StatusUnauthorized, "Authorization: Bearer with the token of console.token is needed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// has compares the token in a time that tells nothing, not even its length.
func (g *guard) has(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// namesLoopback reports whether a Host header names this machine.
func namesLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || (ip != nil && ip.IsLoopback())
}

// listen opens an address, and says which setting to change where it cannot be had.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; is another quando running, or something else on this port?", setting, err)
	}
	return l, nil
}

// serve serves until the server is shut down.
func serve(s *http.Server, l net.Listener) error {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}
