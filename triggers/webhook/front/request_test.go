package front

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const delivery = "POST /webhook HTTP/1.1\r\nHost: quando.example:8080\r\nContent-Type: application/json\r\nx-service-event: message.received\r\nX-Service-Signature: sha256=00ff\r\nContent-Length: 2\r\n\r\n{}"

// FuzzRequest holds what is read without net/http to what net/http reads.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(delivery))
	for _, line := range []string{
		"POST /webhook/shop-2 HTTP/1.1", "POST  /webhook HTTP/1.1", "POST /webhook  HTTP/1.1", "POST /a/../webhook HTTP/1.1", "POST //webhook HTTP/1.1", "POST /web%68ook HTTP/1.1", "POST http://x/webhook HTTP/1.1",
		"POST /webhook?a=b HTTP/1.1", "POST /webhook HTTP/1.0", "PUT /webhook HTTP/1.1", "POST webhook HTTP/1.1", "POST * HTTP/1.1", "post /webhook HTTP/1.1", "POST /webhook HTTP/1.1 ",
	} {
		f.Add([]byte(strings.Replace(delivery, "POST /webhook HTTP/1.1", line, 1)))
	}
	for _, field := range []string{
		"Host: other", "Host:", "Content-Length: 2", "Content-Length: 3", "Transfer-Encoding: chunked", "transfer-encoding: identity", "Connection: close", "Connection: keep-alive", "Connection: Upgrade", "Expect: 100-continue",
		"Trailer: X", "Upgrade: h2c", "X-Service-Event: other", "X : y", " X: y", "X: a\nTransfer-Encoding: chunked", "X: a\rY: b", "X: \x00", "Pragma: no-cache", "X-Empty:", "Te: trailers", "X_y: z",
	} {
		f.Add([]byte(strings.Replace(delivery, "Content-Type", field+"\r\nContent-Type", 1)))
		f.Add([]byte(strings.Replace(delivery, "Content-Length: 2", field, 1)))
	}
	f.Fuzz(func(t *testing.T, come []byte) {
		r, size, ok := request(come)
		if !ok {
			return
		}
		rest := bufio.NewReader(bytes.NewReader(come))
		want, err := http.ReadRequest(rest)
		if err != nil {
			t.Fatalf("net/http finds that %q is %v", come, err)
		}
		if r.Method != want.Method || r.RequestURI != want.RequestURI || r.Host != want.Host || r.Proto != want.Proto || r.ContentLength != want.ContentLength || want.Close || want.TransferEncoding != nil || want.Trailer != nil {
			t.Errorf("%q: %+v; net/http reads %+v", come, r, want)
		}
		if diff := cmp.Diff(want.URL, r.URL); diff != "" {
			t.Errorf("%q: -net/http +here\n%s", come, diff)
		}
		if diff := cmp.Diff(want.Header, r.Header); diff != "" {
			t.Errorf("%q: -net/http +here\n%s", come, diff)
		}
		if left := rest.Buffered(); size != len(come)-left {
			t.Errorf("%q: the head has %d bytes, want %d", come, size, len(come)-left)
		}
	})
}

// What can be understood in two ways is not plain, and neither is what asks for more than an answer.
func TestPlain(t *testing.T) {
	for was, is := range map[string]string{
		"POST":                           "GET",
		"/webhook HTTP/1.1":              "/webhook?x HTTP/1.1",
		"/webhook":                       "/webhook/../console",
		"HTTP/1.1":                       "HTTP/1.0",
		"Host: quando.example:8080\r\n":  "",
		"quando.example:8080":            "quando.example:8080\r\nHost: other",
		"Content-Length: 2":              "Content-Length: 2\r\nContent-Length: 2",
		"Content-Length: 2\r\n":          "",
		"Content-Type":                   "Content-Type : x\r\nContent-Type",
		"application/json":               "application/json\r\nTransfer-Encoding: chunked",
		"application/json\r\n":           "application/json\r\nConnection: close\r\n",
		"Content-Type: application":      "Expect: 100-continue\r\nContent-Type: application",
		"Content-Type: application/json": "Content-Type: application/json\n",
		"\r\n\r\n{}":                     "\r\n",
	} {
		changed := strings.Replace(delivery, was, is, 1)
		if _, _, ok := request([]byte(changed)); ok || changed == delivery {
			t.Errorf("%q is plain", changed)
		}
	}
	if _, size, ok := request([]byte(delivery)); !ok || size != len(delivery)-len("{}") {
		t.Errorf("%q is not plain, or its head has %d bytes", delivery, size)
	}
}
