package service

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// FuzzPlainHead holds what is read without net/http to what net/http reads.
func FuzzPlainHead(f *testing.F) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, a := range answers {
		if len(a.answer) > mostHostile {
			continue
		}
		f.Add([]byte(a.answer))
		for range 20 {
			f.Add(spoilt(random, a.answer))
		}
	}
	for _, fields := range []string{
		"Content-Length: 2\r\nConnection: Keep-Alive\r\nETag:\"7\" \r\netag: 8\r\nX:\r\n", "content-length:2\r\nDate: now\t\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n", "Content-Length: +2\r\n",
		"Content-Length: 2\r\n X: y\r\n", " X: y\r\nContent-Length: 2\r\n", "Content-Length : 2\r\n", "Content-Length: 2, 2\r\n", "Content-Length: 2\r\nX: a\nY: b\r\n", "Content-Length: 2\r\nPragma: no-cache\r\n",
		"Content-Length: 2\r\nX: a\rTransfer-Encoding: chunked\r\n", "Content-Length: 2\r\nTrailer: X\r\n", "Content-Length: 02\r\n", "Content-Length: 0x2\r\n", "Content-Length:\r\n", "Content-Length: 2\r\nConnection: keep-alive, close\r\n",
	} {
		f.Add([]byte("HTTP/1.1 200 OK\r\n" + fields + "\r\n{}"))
	}
	for _, line := range []string{"HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1 2000", "HTTP/1.1 999 \t", "HTTP/1.1 204 No", "HTTP/1.1 +20 x", "HTTP/1.1 099 x", "http/1.1 200 OK", "HTTP/1.10 200 OK"} {
		f.Add([]byte(line + "\r\nContent-Length: 2\r\n\r\n{}"))
	}
	f.Fuzz(func(t *testing.T, come []byte) {
		h, size, ok := plainHead(come)
		if !ok {
			return
		}
		r := bufio.NewReader(bytes.NewReader(come))
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("net/http finds that %q is %v", come, err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != h.status || res.ContentLength != int64(h.length) || res.Close != h.last || res.TransferEncoding != nil || res.Trailer != nil {
			t.Errorf("%q: %+v; net/http reads %+v", come, h, res)
		}
		for name := range res.Header {
			if got, want := h.header.Get(name), res.Header.Get(name); got != want && name != "Cache-Control" { // which net/http adds
				t.Errorf("%q: %s is %q, want %q", come, name, got, want)
			}
		}
		theirs, cut := io.ReadAll(res.Body)
		var ours bytes.Buffer
		own := bufio.NewReader(bytes.NewReader(come[size:]))
		if err := h.readBody(own, &ours); (err == nil) != (cut == nil) || err != nil && err.Error() != cut.Error() || !bytes.Equal(ours.Bytes(), theirs) {
			t.Errorf("%q: the body is %q, %v; want %q, %v", come, ours.Bytes(), err, theirs, cut)
		}
		left, _ := io.ReadAll(own)
		if want, _ := io.ReadAll(r); !bytes.Equal(left, want) {
			t.Errorf("%q: %q is left, want %q", come, left, want)
		}
	})
}

// What most services answer is read without net/http, and what is not so plain is not.
func TestPlainHead(t *testing.T) {
	for answer, want := range map[string]bool{
		created201: true,
		withLength("HTTP/1.1 404 Not Found\r\nServer: nginx/1.29\r\nConnection: keep-alive\r\n", "{}"): true,
		"HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n":                                             true,
		"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n":                                             false,
		"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618\r\n\r\n":                              false,
		created201[:strings.Index(created201, "{")-1]:                                                  false,
		withLength("HTTP/1.1 200 OK\r\nConnection: close\r\n", "{}"):                                   false,
		withLength("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "{}"):                          false,
		withLength("HTTP/1.0 200 OK\r\n", "{}"):                                                        false,
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n":                                       false,
		"HTTP/1.1 200 OK\r\nDate: now\r\n\r\n{}":                                                       false,
		"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}\r\n\r\n":                                             false,
		withLength("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", "{}"):                                   false,
		withLength("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n", "{}"):                                          false,
	} {
		if _, _, ok := plainHead([]byte(answer)); ok != want {
			t.Errorf("%q is plain: %v", answer, ok)
		}
	}
}
