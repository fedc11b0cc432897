package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/trace"
	"github.com/quandohq/quando/triggers/webhook"
)

// newServer returns a server with timeouts against slow clients. Its own messages may repeat what
// clients send, so they are logged at debug level.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// newPublicServer returns the server of the public address. The service waits 8 seconds for an
// answer, so slower clients are cut off. HTTP/2 bodies get little memory beside the receiver's own
// bound: few streams, and small windows.
func newPublicServer(h http.Handler, log *slog.Logger) *http.Server {
	s := newServer(h, log)
	s.ReadTimeout, s.WriteTimeout = 10*time.Second, 20*time.Second
	s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 8, MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10}
	return s
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
	_, _ = io.WriteString(w, text+"\n") // the client may have disconnected
}

// incoming adds the sender's trace context to a request, if there is a tracer.
func incoming(h http.Handler, t *trace.Tracer) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, t.Incoming(r)) })
}

// strictTransport adds HSTS to answers over TLS. It leaves out localhost, which other programs on
// this machine serve without TLS.
func strictTransport(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && !isLocalName(r.Host) {
			w.Header().Set("Strict-Transport-Security", "max-age=15552000")
		}
		h.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host is an IP address or localhost.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return net.ParseIP(strings.Trim(host, "[]")) != nil || strings.EqualFold(host, "localhost")
}

// publicHandler serves the webhooks and health. The default workspace's webhook has the short
// address too. The handler nobody answers for unknown workspaces.
func publicHandler(h *health, receivers map[string]http.Handler, nobody http.Handler, count func(workspace string, o webhook.Outcome)) http.Handler {
	mux := http.NewServeMux()
	h.routes(mux)
	deliver := func(w http.ResponseWriter, r *http.Request, workspace string) {
		receiver := receivers[workspace]
		switch {
		case h.stopping.Load():
			if receiver != nil {
				count(workspace, webhook.Unavailable)
			}
			w.Header().Set("Connection", "close")
			answerText(w, http.StatusServiceUnavailable, "stopping, deliver it again")
		case receiver == nil:
			nobody.ServeHTTP(w, r)
		default:
			receiver.ServeHTTP(w, r)
		}
	}
	mux.HandleFunc("/webhook", func(w http.ResponseWriter, r *http.Request) { deliver(w, r, config.DefaultWorkspaceName) })
	mux.HandleFunc("/webhook/{workspace}", func(w http.ResponseWriter, r *http.Request) { deliver(w, r, r.PathValue("workspace")) })
	return mux
}

// consoleHandler serves what is for operators. Health is public.
func consoleHandler(h *health, console http.Handler) http.Handler {
	mux := http.NewServeMux()
	h.routes(mux)
	mux.Handle("/", console)
	return mux
}

// Listen opens an address, and says which setting to change where it cannot be had.
func Listen(ctx context.Context, setting, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; is another quando running, or something else on this port?", setting, err)
	}
	return l, nil
}

// serve serves until the server is shut down.
func serve(s *http.Server, encrypted bool, l net.Listener) (err error) {
	if encrypted {
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// addressOf is where a server is found that listens there.
func addressOf(encrypted bool, l net.Listener) string {
	if encrypted {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}
