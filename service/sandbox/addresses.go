package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// checkAddress refuses a webhook URL that is not https or not public. The dialer checks the address
// again, because a name can resolve differently later.
func checkAddress(text string, allowLoopback bool) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return fmt.Errorf("%q is not an address such as https://hooks.example.com/webhook", text)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	loopback := host == "localhost" || strings.HasSuffix(host, ".localhost")
	ip, ipErr := netip.ParseAddr(host)
	if ipErr == nil {
		loopback = ip.Unmap().IsLoopback()
	}
	switch {
	case u.User != nil:
		return errors.New("an address must not carry a user name or password")
	case u.Scheme == "http" && loopback && allowLoopback:
		return nil
	case u.Scheme != "https":
		return errors.New("only https addresses are accepted")
	case loopback && allowLoopback:
		return nil
	case loopback:
		return errors.New("loopback addresses are refused")
	case ipErr == nil:
		return checkIP(ip, allowLoopback)
	}
	for _, internal := range []string{".internal", ".local", ".lan", ".home.arpa", ".intranet", ".corp"} {
		if strings.HasSuffix(host, internal) {
			return fmt.Errorf("%s is a name of an internal network", host)
		}
	}
	if !strings.Contains(host, ".") {
		return fmt.Errorf("%s is a name of an internal network", host)
	}
	return nil
}

// notPublic lists what netip does not know as private: shared, test,
// benchmark, reserved and translated ranges, and the "this network" block.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // also the metadata address 100.100.100.200
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
}

// checkIP refuses addresses that are not public. Cloud metadata addresses are
// link-local or private ones.
func checkIP(ip netip.Addr, allowLoopback bool) error {
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLoopback() && allowLoopback:
		return nil
	case ip.IsLoopback():
		return errors.New("loopback addresses are refused")
	case ip.IsLinkLocalUnicast():
		return errors.New("link-local and cloud-metadata addresses are refused")
	case ip.IsPrivate(), ip.IsUnspecified(), ip.IsMulticast(),
		slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return fmt.Errorf("%v is an address of an internal network", ip)
	}
	return nil
}

// newDeliveryClient returns a client that follows no redirects and connects
// to public addresses only.
func newDeliveryClient(o Options) *http.Client {
	transport := o.Transport
	if transport == nil {
		dialer := &net.Dialer{
			Timeout: o.DeliveryTimeout,
			// Checks the address that is dialed, so that a name cannot resolve to a private one between
			// check and connection.
			Control: func(_, address string, _ syscall.RawConn) error {
				to, err := netip.ParseAddrPort(address)
				if err != nil {
					return err
				}
				return checkIP(to.Addr(), o.AllowLoopback)
			},
		}
		transport = &http.Transport{ // no proxy, which would dial for us
			DialContext: dialer.DialContext, MaxIdleConnsPerHost: 4,
			IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		}
	}
	return &http.Client{
		Transport:     transport,
		Timeout:       o.DeliveryTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
