package front

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// start serves a handler, and returns where.
func start(t *testing.T, s *Server) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving ended with %v", err)
		}
	})
	return l.Addr().String()
}

// echo answers with what came, and whether net/http has read it.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	by := "front"
	if r.Context().Value(http.ServerContextKey) != nil {
		by = "net/http"
	}
	w.Header().Set("X-By", by)
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "%s %s %s %v", r.Method, r.URL.Path, body, err)
})

// A line is a connection of a client.
type line struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, address string) *line {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &line{t, c, bufio.NewReader(c)}
}

func (l *line) send(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l, text); err != nil {
		l.t.Fatal(err)
	}
}

// hears reads an answer.
func (l *line) hears(by, want string) {
	l.t.Helper()
	res, err := http.ReadResponse(l.r, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusAccepted || res.Header.Get("X-By") != by || string(body) != want || res.Header.Get("Date") == "" {
		l.t.Errorf("%s says %d %q %v, want %q by %s", res.Header.Get("X-By"), res.StatusCode, body, err, want, by)
	}
}

// ends expects that the connection is closed.
func (l *line) ends() {
	l.t.Helper()
	if b, err := l.r.ReadByte(); !errors.Is(err, io.EOF) {
		l.t.Errorf("the connection is open: %q %v", b, err)
	}
}

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// TestServe shows that everything is answered over one connection, whoever reads it.
func TestServe(t *testing.T) {
	l := dial(t, start(t, &Server{Server: &http.Server{Handler: echo}}))
	l.send(post("/a", "one"))
	l.hears("front", "POST /a one <nil>")
	l.send(post("/b", "two") + post("/c", "") + post("/d", "four"))
	l.hears("front", "POST /b two <nil>")
	l.hears("front", "POST /c  <nil>")
	l.hears("front", "POST /d four <nil>")
	long := strings.Repeat("x", 60_000)
	l.send(post("/long", long)[:5000])
	time.Sleep(20 * time.Millisecond) // so that it comes in two pieces
	l.send(post("/long", long)[5000:] + post("/e", "five"))
	l.hears("front", "POST /long "+long+" <nil>")
	l.hears("front", "POST /e five <nil>")
	l.send("POST /f HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nsix\r\n0\r\n\r\n" + post("/g", "seven"))
	l.hears("net/http", "POST /f six <nil>")
	l.hears("net/http", "POST /g seven <nil>")
	l.send("GET /h HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
	l.hears("net/http", "GET /h  <nil>")
	l.ends()
}

// TestEmptyLines shows that empty lines behind a POST are passed over, whoever reads it, and nowhere else.
func TestEmptyLines(t *testing.T) {
	address := start(t, &Server{Server: &http.Server{Handler: echo}})
	for by, first := range map[string]string{"front": post("/a", "one"), "net/http": strings.Replace(post("/a", "one"), "Host", "Pragma: x\r\nHost", 1)} {
		l := dial(t, address)
		l.send(first + "\r\n" + post("/b", "two") + "\r\n")
		l.hears(by, "POST /a one <nil>")
		l.hears(by, "POST /b two <nil>")
		l.send("\r\n")
		time.Sleep(20 * time.Millisecond) // so that it comes by itself
		l.send(post("/c", "three"))
		l.hears(by, "POST /c three <nil>")
	}
	l := dial(t, address)
	l.send("\r\n" + post("/a", "one"))
	res, err := http.ReadResponse(l.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusBadRequest {
		t.Errorf("before the first request: %d", res.StatusCode)
	}
}

// TestPieces shows that a head which comes in pieces is understood, and so is a body above the size of plain ones.
func TestPieces(t *testing.T) {
	address := start(t, &Server{Server: &http.Server{Handler: echo}})
	l := dial(t, address)
	for _, piece := range strings.SplitAfter(post("/a", "one"), "\n") {
		l.send(piece)
		time.Sleep(5 * time.Millisecond)
	}
	l.hears("net/http", "POST /a one <nil>")
	l = dial(t, address)
	long := strings.Repeat("y", 1<<20)
	l.send(post("/b", long))
	l.hears("net/http", "POST /b "+long+" <nil>")
}

// TestPatience shows that who sends nothing, or not all of it, is not waited for.
func TestPatience(t *testing.T) {
	const short, long = 50 * time.Millisecond, time.Hour
	for name, s := range map[string]*http.Server{
		"":                         {ReadHeaderTimeout: short, ReadTimeout: long, IdleTimeout: long},
		"POST /a HTTP":             {ReadHeaderTimeout: short, ReadTimeout: long, IdleTimeout: long},
		post("/a", "one")[:53]:     {ReadHeaderTimeout: long, ReadTimeout: short, IdleTimeout: long},
		post("/idle", "one") + " ": {ReadHeaderTimeout: long, ReadTimeout: long, IdleTimeout: short},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Handler = echo
			l := dial(t, start(t, &Server{Server: s}))
			if whole, ok := strings.CutSuffix(name, " "); ok {
				l.send(whole)
				l.hears("front", "POST /idle one <nil>")
			} else {
				l.send(name)
			}
			if _, err := io.Copy(io.Discard, l.r); err != nil {
				t.Errorf("the connection is open: %v", err)
			}
		})
	}
}

// TestBrokenOff shows that the handler hears of a body that does not come to its end.
func TestBrokenOff(t *testing.T) {
	heard := make(chan string, 1)
	l := dial(t, start(t, &Server{Server: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		heard <- fmt.Sprint(string(body), " ", err)
	})}}))
	whole := post("/a", "one")
	l.send(whole[:len(whole)-1])
	_ = l.Conn.(*net.TCPConn).CloseWrite()
	if got := <-heard; got != "on unexpected EOF" {
		t.Error(got)
	}
}

// TestPanic shows that a handler which comes to nothing ends one connection and is told of.
func TestPanic(t *testing.T) {
	var told safeBuilder
	address := start(t, &Server{Server: &http.Server{ErrorLog: log.New(&told, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			panic("out of luck")
		}
		echo(w, r)
	})}})
	other, l := dial(t, address), dial(t, address)
	other.send(post("/a", "one"))
	other.hears("front", "POST /a one <nil>")
	l.send(post("/bad", ""))
	l.ends()
	other.send(post("/a", "two"))
	other.hears("front", "POST /a two <nil>")
	if !strings.Contains(told.String(), "out of luck") {
		t.Errorf("told: %q", told.String())
	}
}

// A safeBuilder is a strings.Builder for several goroutines.
type safeBuilder struct {
	mu sync.Mutex
	strings.Builder
}

func (b *safeBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *safeBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

// TestShutdown shows that what is under way is answered, and that nothing comes after it.
func TestShutdown(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	s := &Server{Server: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- true
			<-goOn
		}
		echo(w, r)
	})}}
	address := start(t, s)
	idle, slow := dial(t, address), dial(t, address)
	idle.send(post("/a", "one"))
	idle.hears("front", "POST /a one <nil>")
	slow.send(post("/slow", "two"))
	<-begun
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(impatient); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a shutdown that something keeps from its end says %v", err)
	}
	idle.ends()
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
		_ = c.Close()
		t.Error("a connection begins after the end")
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(t.Context()) }()
	goOn <- true
	slow.hears("front", "POST /slow two <nil>")
	slow.ends()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestConnectionClose shows that a handler can end the connection.
func TestConnectionClose(t *testing.T) {
	l := dial(t, start(t, &Server{Server: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	})}}))
	l.send(post("/a", "one"))
	l.hears("front", "POST /a one <nil>")
	l.ends()
}
