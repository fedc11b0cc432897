package builtin

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestControl(t *testing.T) {
	for _, c := range []struct {
		host    HTTPHost
		address string
		allowed bool
	}{
		{HTTPHost{Host: "a.example"}, "93.184.216.34:443", true},
		{HTTPHost{Host: "a.example"}, "[2606:2800:220:1::1]:443", true},
		{HTTPHost{Host: "a.example"}, "127.0.0.1:443", false},
		{HTTPHost{Host: "a.example"}, "10.1.2.3:443", false},
		{HTTPHost{Host: "a.example"}, "169.254.169.254:80", false},
		{HTTPHost{Host: "a.example"}, "[fe80::1%eth0]:443", false},
		{HTTPHost{Host: "a.example"}, "[fd00:ec2::254]:80", false},
		{HTTPHost{Host: "a.example"}, "[::1]:443", false},
		{HTTPHost{Host: "a.example"}, "[::ffff:10.0.0.1]:443", false},
		{HTTPHost{Host: "a.example"}, "[64:ff9b::a00:1]:443", false},
		{HTTPHost{Host: "a.example"}, "0.0.0.0:443", false},
		{HTTPHost{Host: "a.example"}, "100.64.0.1:443", false},
		{HTTPHost{Host: "a.example"}, "224.0.0.1:443", false},
		{HTTPHost{Host: "a.example", Private: true}, "10.1.2.3:443", true},
		{HTTPHost{Host: "a.example", Private: true}, "127.0.0.1:443", true},
		{HTTPHost{Host: "a.example", Private: true}, "169.254.169.254:80", false},
		{HTTPHost{Host: "localhost"}, "127.0.0.1:80", true},
		{HTTPHost{Host: "10.0.0.5"}, "10.0.0.5:80", true},
		{HTTPHost{Host: "10.0.0.5"}, "10.0.0.6:80", false},
		{HTTPHost{Host: "169.254.169.254"}, "169.254.169.254:80", true},
	} {
		o, err := newOutside(Options{HTTP: []HTTPHost{c.host}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range o.hosts {
			if err := h.control("tcp", c.address, nil); (err == nil) != c.allowed {
				t.Errorf("%+v to %s: %v", c.host, c.address, err)
			}
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// TestNameThatLeadsInside resolves localhost with the real resolver, and shows that it is refused.
func TestNameThatLeadsInside(t *testing.T) {
	o, err := newOutside(Options{HTTP: []HTTPHost{{Host: "localhost"}}})
	if err != nil {
		t.Fatal(err)
	}
	h := o.hosts["localhost"]
	h.Private = false
	_, err = h.transport.(*http.Transport).DialContext(t.Context(), "tcp", "localhost:1")
	if err == nil || !isAddressError(err) {
		t.Errorf("dialled localhost: %v", err)
	}
}

// TestHeadersOfTheConfigurationNeedEncryption shows that the configured headers of another system
// are not sent unencrypted, unless the configuration allows it, and that a rule's call fails before
// anything is sent.
func TestHeadersOfTheConfigurationNeedEncryption(t *testing.T) {
	token := map[string]string{"Authorization": "Bearer hunter2"}
	for _, tt := range []struct {
		name, url string
		host      HTTPHost
		ok        bool
	}{
		{"plain", "http://erp.example.com/x", HTTPHost{Host: "erp.example.com", Headers: token}, false},
		{"plain, in capitals", "HTTP://ERP.example.com/x", HTTPHost{Host: "erp.example.com", Headers: token}, false},
		{"plain, in a private network", "http://10.0.0.5:8080/x", HTTPHost{Host: "10.0.0.5:8080", Headers: token}, false},
		{"encrypted", "https://erp.example.com/x", HTTPHost{Host: "erp.example.com", Headers: token}, true},
		{"plain, without a header", "http://erp.example.com/x", HTTPHost{Host: "erp.example.com"}, true},
		{"plain, as the configuration says", "http://erp.example.com/x", HTTPHost{Host: "erp.example.com", Headers: token, PlainHTTP: true}, true},
		{"this machine", "http://127.0.0.1:8080/x", HTTPHost{Host: "127.0.0.1:8080", Headers: token}, true},
		{"this machine, IPv6", "http://[::1]:8080/x", HTTPHost{Host: "[::1]:8080", Headers: token}, true},
		{"this machine by its name", "http://localhost:8080/x", HTTPHost{Host: "localhost:8080", Headers: token}, true},
	} {
		o, err := newOutside(Options{HTTP: []HTTPHost{tt.host}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = o.find(tt.url)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "http_request.plain_http") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
