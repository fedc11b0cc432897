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

// outgoing is a request as it leaves.
type outgoing struct {
	method  string
	address url.URL
	header  []field
	room    [6]field // of header
	body    []byte   // nil means none
	upload  *upload  // instead of body
	changes bool     // whether it may have an effect
}

type field struct{ name, value string }

// response is what came back.
type response struct {
	status int
	header header
	cut    error // why the rest of its body could not be read; the status counts nevertheless
}

// carrier takes a request to the service and writes the answer's body into a buffer. It gives up when the context ends, or at the given time.
// Where nothing of the request has left this machine, its error is a notSent.
type carrier interface {
	carry(ctx context.Context, end time.Time, r *outgoing, body *bytes.Buffer) (response, error)
	CloseIdleConnections()
}

// notSent says that nothing of a request has left.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

func mayHaveLeft(err error) bool {
	_, not := errors.AsType[notSent](err)
	return !not
}

// newCarrier returns what brings requests to the host of an address: connections of our own, or net/http's where a proxy is to be asked, or where the host's name is
// written differently on the wire.
func newCarrier(base *url.URL, proxy func(*http.Request) (*url.URL, error)) carrier {
	rest := &transport{newTransport(proxy)}
	if through, err := proxy(&http.Request{URL: base}); through != nil || err != nil || !isPlainHost(base.Host) {
		return rest
	}
	return newDirect(base, rest)
}

// newTransport keeps more idle connections to one host than net/http does by default (2): the workers of an engine all
// talk to the same one, and a new TLS connection costs more than the request. Compression costs more than
// it saves on answers of a few KiB.
func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          maxIdle,
		MaxIdleConnsPerHost:   maxIdle,
		IdleConnTimeout:       idleTimeout,
		TLSHandshakeTimeout:   connectTimeout,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}

// transport carries by a RoundTripper.
type transport struct{ http.RoundTripper }

func (t *transport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *transport) carry(ctx context.Context, end time.Time, r *outgoing, body *bytes.Buffer) (response, error) {
	if own, ok := ctx.Deadline(); !ok || end.Before(own) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	var way onItsWay
	if r.changes {
		ctx = way.trace(ctx)
	}
	res, err := t.RoundTrip(r.request(ctx))
	if err != nil {
		if !way.mayHaveLeft(err) {
			err = notSent{err}
		}
		return response{}, err
	}
	defer func() { _ = res.Body.Close() }()
	return response{res.StatusCode, header{fields: res.Header}, readBody(body, res.Body)}, nil
}

// request is the request as net/http knows it.
func (r *outgoing) request(ctx context.Context) *http.Request {
	h, values := make(http.Header, len(r.header)), make([]string, len(r.header))
	for i, f := range r.header {
		values[i] = f.value
		h[f.name] = values[i : i+1 : i+1]
	}
	req := &http.Request{Method: r.method, URL: &r.address, Host: r.address.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	switch {
	case r.upload != nil:
		req.Body, req.ContentLength = io.NopCloser(r.upload.body), r.upload.length
	case r.body != nil:
		req.ContentLength = int64(len(r.body))
		req.Body = io.NopCloser(bytes.NewReader(r.body))
		// With GetBody the transport can repeat a request of which nothing was written, on a connection gone stale.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.body)), nil }
	case r.changes:
		req.Body = http.NoBody
	}
	return req.WithContext(ctx)
}

// readBody reads an answer's body to its end, as far as answers may go.
func readBody(to *bytes.Buffer, from io.Reader) error {
	n, err := to.ReadFrom(io.LimitReader(from, maxResponse+1))
	if n > maxResponse {
		err = fmt.Errorf("the answer is larger than %d MiB", maxResponse>>20)
	}
	return err
}

// onItsWay watches whether a request got hold of a connection. Before that nothing has left this machine; after it, nobody knows.
type onItsWay struct{ asked, got atomic.Bool }

func (w *onItsWay) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.got.Store(true) },
	})
}

// mayHaveLeft is in doubt true: a transport that is not net/http's may not report its connections.
func (w *onItsWay) mayHaveLeft(err error) bool {
	if w.asked.Load() {
		return w.got.Load()
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return !ok || dial.Op != "dial"
}
