package builtin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// An HTTPHost is a system that http_request may call.
type HTTPHost struct {
	// Host is a name or an address, perhaps with a port: hooks.example.com, erp.example.com:8443,
	// 10.0.0.5:8080. Without a port, the default ports of http and https are allowed.
	Host string
	// Private allows the name to resolve to this machine or to a private network. Otherwise only
	// public addresses are called, unless Host is itself the address. Link-local addresses, where
	// clouds keep their credentials, are called only if Host is one.
	Private bool
	// Headers are sent with every call, such as Authorization. They come from the configuration, so
	// that no rule and no journal contains them.
	Headers map[string]string
	// PlainHTTP allows Headers to be sent unencrypted to another machine.
	PlainHTTP bool
}

const (
	defaultHTTPTimeout = 10 * time.Second
	maxHTTPTimeout     = time.Minute
	maxHTTPAnswer      = 256 << 10
)

// outside is the allow-list, with a transport for each of its entries.
type outside struct {
	hosts      map[string]*outsideHost // by host or host:port, in lower case
	substitute *outsideHost            // replaces every host in tests of rules without a list; otherwise nil
	timeout    time.Duration
}

type outsideHost struct {
	HTTPHost
	literal   netip.Addr // if the entry is an address
	transport http.RoundTripper
}

func newOutside(options Options) (*outside, error) {
	timeout := options.Timeout
	if timeout <= 0 {
		timeout = defaultHTTPTimeout
	}
	o := &outside{hosts: make(map[string]*outsideHost, len(options.HTTP)), timeout: min(timeout, maxHTTPTimeout)}
	if options.Outside != nil && options.HTTP == nil {
		o.substitute = &outsideHost{transport: options.Outside}
		return o, nil
	}
	for _, entry := range options.HTTP {
		u, err := url.Parse("http://" + entry.Host)
		if err != nil || u.Host != entry.Host || u.Hostname() == "" {
			return nil, fmt.Errorf("http: %q is not a host, or a host and port", entry.Host)
		}
		key := strings.ToLower(u.Hostname())
		if port := u.Port(); port != "" {
			key = net.JoinHostPort(key, port)
		}
		if o.hosts[key] != nil {
			return nil, fmt.Errorf("http: %s is listed twice", entry.Host)
		}
		for name, value := range entry.Headers {
			if err := checkHeader(name, value); err != nil {
				return nil, fmt.Errorf("http: %s: %w", entry.Host, err)
			}
		}
		h := &outsideHost{HTTPHost: entry}
		h.literal, _ = netip.ParseAddr(u.Hostname())
		if strings.EqualFold(u.Hostname(), "localhost") {
			h.Private = true // the name itself means this machine
		}
		if h.transport = options.Outside; h.transport == nil {
			h.transport = h.dialing()
		}
		o.hosts[key] = h
	}
	return o, nil
}

// dialing returns the transport that calls the host.
func (h *outsideHost) dialing() *http.Transport {
	return &http.Transport{
		// No proxy: its address would be checked in place of the system's.
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, Control: h.control}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		// A kept connection may be closed when it is used next, and then it is unknown whether the call
		// was carried out.
		DisableKeepAlives:  true,
		DisableCompression: true, // the bound on answers applies to their uncompressed size
	}
}

// An AllowList is the systems that rules may call, for checking rules without calling anything.
type AllowList struct{ outside *outside }

// NewAllowList returns the list. Its error names a host that cannot be on one.
func NewAllowList(hosts []HTTPHost) (*AllowList, error) {
	o, err := newOutside(Options{HTTP: hosts})
	return &AllowList{o}, err
}

// Check returns why http_request would not call an address, or nil.
func (l *AllowList) Check(address string) error {
	_, _, err := l.outside.find(address)
	return err
}

// find returns the entry that allows an address. Its errors name the host alone, since the rest may
// hold secrets.
func (o *outside) find(address string) (*url.URL, *outsideHost, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, nil, phrases.Sprintf("url is not an address such as https://example.com/hook")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, nil, phrases.Sprintf("url must begin with https://, not with %s", u.Scheme)
	case u.User != nil:
		return nil, nil, phrases.Sprintf("url must not hold a user or password: send a header instead")
	case hasDotSegment(u.EscapedPath()):
		return nil, nil, phrases.Sprintf("url has a part of its path that is only dots, which leads elsewhere")
	}
	if o.substitute != nil {
		return u, o.substitute, nil
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if port == "" {
		port = usual
	}
	h := o.hosts[net.JoinHostPort(host, port)]
	if h == nil && port == usual {
		h = o.hosts[host]
	}
	if h == nil {
		return nil, nil, phrases.Sprintf("%s is not on the list of systems that rules may call: add it to http_request.allow in the configuration", u.Host)
	}
	if u.Scheme == "http" && len(h.Headers) > 0 && !h.PlainHTTP && host != "localhost" && !h.literal.Unmap().IsLoopback() {
		return nil, nil, phrases.Sprintf("the configuration has headers for %s, which everybody on the way could read: write https:// in the rule, or where nobody else is on the way set http_request.plain_http: true", u.Host)
	}
	return u, h, nil
}

// hasDotSegment reports whether an escaped path has a segment . or .., which would change the path.
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if dots, err := url.PathUnescape(segment); err == nil && (dots == "." || dots == "..") {
			return true
		}
	}
	return false
}

// errAddress says that a name resolved to an address that may not be called.
type errAddress struct{ address string }

func (e errAddress) Error() string {
	return "the name leads to " + e.address + ", which is not a public address: list the address itself in http_request.allow"
}

func isAddressError(err error) bool { _, ok := errors.AsType[errAddress](err); return ok }

// control checks each address just before it is dialled, after the name was resolved. So a name
// that resolves to another address the second time is checked the second time.
func (h *outsideHost) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress{address}
	}
	ip := to.Addr().Unmap().WithZone("")
	switch {
	case h.literal.IsValid():
		if ip == h.literal.Unmap().WithZone("") {
			return nil
		}
	case isPublic(ip), h.Private && isInside(ip):
		return nil
	}
	return errAddress{ip.String()}
}

// specialNetworks are neither public nor private according to package netip.
var specialNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	// IPv6 addresses that contain IPv4 ones.
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// carrierNAT is the range that providers use between themselves and their customers.
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || isInside(ip) {
		return false
	}
	for _, p := range specialNetworks {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

func isInside(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsPrivate() || carrierNAT.Contains(ip)
}
