package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Address is where a started sandbox is reached, and with which key.
type Address struct {
	BaseURL    string `json:"base_url"`
	APIKey     string `json:"api_key"`
	ControlURL string `json:"control_url"`
}

// Start listens on an address such as 127.0.0.1:9090, where port 0 takes any
// free one, and serves the API under /v1 and the control interface under
// /control until ctx ends or Close is called.
func (s *Sandbox) Start(ctx context.Context, listen string) (Address, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return Address{}, fmt.Errorf("start the sandbox: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", http.StripPrefix("/v1", s.api))
	mux.Handle("/control/", http.StripPrefix("/control", s.control))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Address{}, errors.Join(ErrClosed, listener.Close())
	}
	s.running.Go(func() { _ = server.Serve(listener) }) // it ends with ErrServerClosed
	s.running.Go(func() {
		select {
		case <-ctx.Done():
		case <-s.stopped.Done():
		}
		_ = server.Close() // in-flight calls are cut off, as when a service goes down
	})
	url := "http://" + listener.Addr().String()
	return Address{BaseURL: url + "/v1", APIKey: s.firstKey(), ControlURL: url + "/control"}, nil
}
