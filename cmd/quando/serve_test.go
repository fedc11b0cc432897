package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestStalledBody shows that a body which does not come to its end is not waited for: the service
// itself would not have waited for the answer.
func TestStalledBody(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for five seconds")
	}
	t.Parallel()
	o := newOffice(t)
	o.start(o.service())
	for name, length := range map[string]string{"told": "Content-Length: 1000\r\n\r\n{", "not told": "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", strings.TrimPrefix(o.public, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			head := signed("guess", "")
			if _, err := fmt.Fprintf(c, "POST /webhook HTTP/1.1\r\nHost: here\r\nX-Service-Timestamp: %s\r\nX-Service-Signature: %s\r\n%s",
				head["X-Service-Timestamp"], head["X-Service-Signature"], length); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(70 * time.Second))
			text, err := io.ReadAll(c)
			if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400") {
				t.Errorf("the connection ends with %.40q %v", text, err)
			}
		})
	}
}
