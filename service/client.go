package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	defaultTimeout       = 10 * time.Second
	defaultUploadTimeout = 2 * time.Minute
)

// Options configure a Client. BaseURL and APIKey are required; every other zero value works.
type Options struct {
	// BaseURL is the service's address with its version segment, https://example.com/api/v1. A
	// sub-path and a trailing slash are fine.
	BaseURL string
	// APIKey is sent to the host of BaseURL and nowhere else.
	APIKey Secret
	// Profile fits the client to the service; nil means DefaultProfile.
	Profile *Profile

	// Rate is our own limit in requests per second; 0 means none. It is ignored if a Limiter is given.
	Rate float64
	// Limiter is shared by all clients that use the same key; nil makes one for this client.
	Limiter *Limiter
	// MaxWait bounds how long a call waits for the limiter: 0 means as long as its context allows,
	// less than 0 not at all. A call that would wait longer fails at once with a local 429 that says
	// how long.
	MaxWait time.Duration

	// Timeout bounds one request, from when the limiter admits it until its answer is read; 10 seconds
	// by default.
	Timeout time.Duration
	// UploadTimeout is the same for media uploads; 2 minutes by default.
	UploadTimeout time.Duration
	// Transport carries the requests; nil means one that keeps enough connections for many workers.
	Transport http.RoundTripper

	// Allow is called before each call. Its error ends the call; nil allows all.
	Allow func(context.Context) error

	// Now and Sleep are the clock of pauses and limits; nil means the real one.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error

	UserAgent string
	Logger    *slog.Logger // nil means no log
}

// Client calls the service with one key. It is safe for concurrent use.
type Client struct {
	base      url.URL // no trailing slash in its path
	key       Secret
	profile   *Profile
	limiter   *Limiter
	maxWait   time.Duration
	timeout   time.Duration
	upload    time.Duration
	transport http.RoundTripper
	now       func() time.Time
	log       *slog.Logger
	patient   bool
	allow     func(context.Context) error
	beside    *Beside

	authorization, userAgent string // header values

	learned *observed
}

// observed is what the service's answers have shown so far.
type observed struct {
	etag      atomic.Bool // it has sent an ETag
	bareETag  atomic.Bool // its ETag has no quotes
	cardGet   atomic.Bool // a GET of one card has succeeded
	noCardGet atomic.Bool // a GET of one card failed for a card that the list shows
	ahead     atomic.Int64
	calls     callLog
}

// Ahead is how far the service's clock is ahead of ours, by the Date of its last answer; negative
// is behind. Differences within the precision of a Date and the duration of the call count as none.
func (c *Client) Ahead() time.Duration { return time.Duration(c.learned.ahead.Load()) }

// compareClocks updates Ahead from an answer.
func (c *Client) compareClocks(sent time.Time, date string) {
	served, err := http.ParseTime(date)
	if err != nil {
		return
	}
	least, most := served.Sub(c.now()), served.Add(time.Second).Sub(sent)
	c.learned.ahead.Store(int64(max(least, min(most, 0))))
}

// New makes a client. It connects to nothing.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.APIKey == "" {
		return nil, errors.New("service: api_key is missing")
	}
	if strings.ContainsFunc(string(o.APIKey), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("service: api_key contains blanks, line breaks or other characters that no key has; was it copied whole?")
	}
	c := &Client{
		base: *base, key: o.APIKey, profile: o.Profile, limiter: o.Limiter, maxWait: o.MaxWait,
		timeout: o.Timeout, upload: o.UploadTimeout, now: o.Now, log: o.Logger, allow: o.Allow,
		authorization: "Bearer " + string(o.APIKey), userAgent: cmp.Or(o.UserAgent, "quando"), learned: &observed{},
	}
	if c.profile == nil {
		p := DefaultProfile()
		c.profile = &p
	}
	if errs := c.profile.check(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.limiter == nil {
		c.limiter = newLimiter(o.Rate, o.Now, o.Sleep)
	}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	if c.upload <= 0 {
		c.upload = max(defaultUploadTimeout, c.timeout)
	}
	if c.transport = o.Transport; c.transport == nil {
		c.transport = newTransport(http.ProxyFromEnvironment)
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.Exposed() {
		c.log.Warn("service: the API key travels unencrypted; use an https base_url", "host", c.base.Host)
	}
	return c, nil
}

func parseBase(s string) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("service: base_url is missing")
	}
	u, err := url.Parse(s)
	if err != nil {
		// The parser's error repeats the URL, which may hold a password.
		return nil, errors.New("service: base_url is not an address; expected something like https://example.com/v1")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("service: base_url must not hold a user or password; the key belongs into api_key")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return nil, fmt.Errorf("service: base_url %q must begin with https:// and a host", s)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("service: base_url must not hold a query or a fragment")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/"), RawPath: strings.TrimRight(u.RawPath, "/")}, nil
}

// Profile is the profile the client decodes with.
func (c *Client) Profile() *Profile { return c.profile }

// Limiter is the limiter of the client's key, to share it, to pause it, or to read its state.
func (c *Client) Limiter() *Limiter { return c.limiter }

// Exposed reports whether the key travels unencrypted to another machine.
func (c *Client) Exposed() bool {
	if c.base.Scheme == "https" {
		return false
	}
	host := c.base.Hostname()
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// Patient returns the same client for callers that wait instead of getting a 429: it waits out the
// pause and repeats the call until the context ends. A 429 means that nothing happened, so this is
// the one repeat that is always safe. It does not repeat uploads, because their content has been
// read.
func (c *Client) Patient() *Client {
	p := *c
	p.patient = true
	p.maxWait = 0
	return &p
}

// Beside configures a caller whose calls have low priority.
type Beside struct {
	// Wait is called before each request, to yield to others. Its error ends the call.
	Wait func(context.Context) error
	// Again reports whether to retry a read after a temporary error; times counts the retries.
	Again func(ctx context.Context, times int, err error) bool
}

// Beside returns the same client for a background caller. It is patient.
func (c *Client) Beside(b Beside) *Client {
	p := c.Patient()
	p.beside = &b
	return p
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
