package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	connectTimeout = 5 * time.Second // for TCP, and again for TLS
	keepAlive      = 30 * time.Second
	idleTimeout    = 90 * time.Second
	pingAfter      = 15 * time.Second // a dead connection would block every call until the system notices
	maxIdle        = 256
	maxHeader      = 1 << 20
)

// newTransport keeps more idle connections to one host than net/http does by default (2): the
// workers of an engine all talk to the same one, and a new TLS connection costs more than the
// request. Compression costs more than it saves on answers of a few KiB.
func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            (&net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    connectTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: connectTimeout},
	}
}

type response struct {
	status int
	header http.Header
	cut    error // why the rest of the body could not be read; the status counts nevertheless
}

// roundTrip sends a request and reads the answer's body into a buffer. If there is no answer, it
// reports whether the request may have left this machine.
func (c *Client) roundTrip(req *http.Request, changes bool, body *bytes.Buffer) (_ response, left bool, err error) {
	var way connTrace
	if changes {
		req = req.WithContext(way.trace(req.Context()))
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return response{}, c.mayHaveLeft(&way, err), err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusSwitchingProtocols {
		return response{status: res.StatusCode, header: res.Header}, true, nil // the body is the connection, which does not end
	}
	return response{res.StatusCode, res.Header, readBody(body, res.Body)}, true, nil
}

// readBody reads an answer's body, up to the size limit.
func readBody(to *bytes.Buffer, from io.Reader) error {
	n, err := to.ReadFrom(io.LimitReader(from, maxResponse+1))
	if n > maxResponse {
		err = fmt.Errorf("the answer is larger than %d MiB", maxResponse>>20)
	}
	return err
}

// connTrace tracks whether a request got a connection. Before that nothing has left this machine;
// after it, that is uncertain.
type connTrace struct{ asked, got atomic.Bool }

func (w *connTrace) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.got.Store(true) },
	})
}

// mayHaveLeft returns true if in doubt: a transport other than net/http's may not report its
// connections.
func (c *Client) mayHaveLeft(w *connTrace, err error) bool {
	if _, reports := c.transport.(*http.Transport); reports || w.asked.Load() {
		return w.got.Load()
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return !ok || dial.Op != "dial"
}
