package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	connectTimeout = 5 * time.Second // for the connection, and again for its encryption
	keepAlive      = 30 * time.Second
	idleTimeout    = 90 * time.Second
	lookEvery      = 15 * time.Second
	maxIdle        = 256

	// maxAtOnce is how long a body may be to be written before anything is read. It fits into the socket's buffer, so that writing does
	// not wait for a service that refuses the request without reading it.
	maxAtOnce = 16 << 10
)

// direct carries by connections of its own to one host. A call is written and read by the goroutine that makes it, over HTTP/1.1: net/http hands each call to
// two others and back, which costs as much as all the rest of it.
type direct struct {
	host   string // as the Host header has it
	dialer net.Dialer
	target string // host and port
	tls    *tls.Config
	idle   idle

	rest      carrier     // for what is not written at once, and for hosts that speak something else
	elsewhere atomic.Bool // the host speaks something else
}

func newDirect(base *url.URL, rest carrier) *direct {
	d := &direct{host: base.Host, dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}, rest: rest, idle: idle{timeout: idleTimeout, look: lookEvery}}
	port := base.Port()
	if base.Scheme == "https" {
		d.tls = &tls.Config{ServerName: base.Hostname(), NextProtos: []string{"http/1.1"}, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
		if port == "" {
			port = "443"
		}
	} else if port == "" {
		port = "80"
	}
	d.target = net.JoinHostPort(base.Hostname(), port)
	return d
}

// isPlainHost reports whether a host is sent as it is written: names in other scripts, and zones of addresses, are not.
func isPlainHost(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || r == '%' })
}

func (d *direct) CloseIdleConnections() {
	d.idle.close()
	d.rest.CloseIdleConnections()
}

func (d *direct) carry(ctx context.Context, end time.Time, r *outgoing, body *bytes.Buffer) (response, error) {
	if d.elsewhere.Load() || r.upload != nil || len(r.body) > maxAtOnce {
		return d.rest.carry(ctx, end, r, body)
	}
	request := buffers.Get().(*bytes.Buffer)
	defer putBuffer(request)
	if err := r.write(request, d.host); err != nil {
		return response{}, notSent{err}
	}
	if c := d.idle.take(end); c != nil {
		a, err := d.exchange(ctx, c, request.Bytes(), body)
		if err == nil || !mayRepeat(ctx, r, err) {
			return a, err
		}
	}
	c, err := d.connect(ctx, end)
	if err != nil {
		if isRefused(err) {
			return d.carryElsewhere(ctx, end, r, body)
		}
		return response{}, notSent{err}
	}
	return d.exchange(ctx, c, request.Bytes(), body)
}

// mayRepeat reports whether a request that failed on a kept connection may be sent once more on a new one: the service closes connections that it has not heard of for a
// while, which may cross with a request. A call that may have an effect is only repeated where nothing of it has left.
func mayRepeat(ctx context.Context, r *outgoing, err error) bool {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, silent := errors.AsType[noAnswer](err)
	return !mayHaveLeft(err) || silent && !r.changes
}

// carryElsewhere leaves a call to net/http, and from then on every call if that is where it succeeds: a host that refuses HTTP/1.1 may speak HTTP/2.
func (d *direct) carryElsewhere(ctx context.Context, end time.Time, r *outgoing, body *bytes.Buffer) (response, error) {
	a, err := d.rest.carry(ctx, end, r, body)
	if err == nil {
		d.elsewhere.Store(true)
	}
	return a, err
}

// isRefused reports whether encryption failed because the host did not like what it was offered.
func isRefused(err error) bool {
	alert, ok := errors.AsType[*net.OpError](err)
	return ok && alert.Op == "remote error"
}

// connect makes a new connection, to be used until the given time.
func (d *direct) connect(ctx context.Context, end time.Time) (*connection, error) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	socket, err := d.dialer.DialContext(ctx, "tcp", d.target)
	if err != nil {
		return nil, err
	}
	l := newLink(socket)
	_ = l.SetDeadline(end) // fails on a connection that is closed, and so does what follows
	if d.tls == nil {
		return newConnection(l, l), nil
	}
	encrypted := tls.Client(l, d.tls)
	if err := shakeHands(ctx, encrypted); err != nil {
		_ = l.Close()
		return nil, ended(ctx, err)
	}
	return newConnection(encrypted, l), nil
}

func shakeHands(ctx context.Context, c *tls.Conn) error {
	short, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err := c.HandshakeContext(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no encrypted connection within %v", connectTimeout)
	}
	return err
}

var longAgo = time.Unix(1, 0)

// exchange sends a request over a connection and reads the answer. Then the connection is kept, if nothing is left on it and nobody is about to end it.
func (d *direct) exchange(ctx context.Context, c *connection, request []byte, body *bytes.Buffer) (response, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(longAgo) })
	a, reusable, err := c.exchange(ctx, request, body)
	if untouched := stop(); untouched && reusable {
		d.idle.put(c)
	} else {
		_ = c.link.Close() // not the encrypted one, which would wait to say goodbye
	}
	return a, err
}

// write writes the request as HTTP/1.1 has it.
func (r *outgoing) write(b *bytes.Buffer, host string) error {
	for _, s := range [...]string{r.method, " ", r.address.RequestURI(), " HTTP/1.1\r\nHost: ", host, "\r\n"} {
		b.WriteString(s)
	}
	for _, f := range r.header {
		if strings.ContainsFunc(f.value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return fmt.Errorf("the value of %s cannot be sent: it has line breaks or other control characters", f.name)
		}
		b.WriteString(f.name)
		b.WriteString(": ")
		b.WriteString(f.value)
		b.WriteString("\r\n")
	}
	if r.body != nil || r.method == "POST" || r.method == "PUT" || r.method == "PATCH" {
		b.WriteString("Content-Length: ")
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(len(r.body)), 10))
		b.WriteString("\r\n")
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	return nil
}
