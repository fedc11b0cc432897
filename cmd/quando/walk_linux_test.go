package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// A stop is a file that an event comes through, with the function that it enters by.
type stop struct {
	file, function string
	times          int
}

// sharedWriter are stops through which the console, too, writes how far it has followed the
// journal.
var sharedWriter = map[string]bool{"engine/journal/batch/batch.go": true, "engine/journal/sqlite/write.go": true}

var stopRow = regexp.MustCompile("^\\| \\d+ \\| `([^`]+)` \\| `([^`]+)`( twice)? \\|")

// stops reads the walk of one event from docs/architecture.md.
func stops(t *testing.T) (out []stop) {
	t.Helper()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if m := stopRow.FindStringSubmatch(line); m != nil {
			s := stop{m[1], m[2], 1}
			if m[3] != "" {
				s.times = 2
			}
			out = append(out, s)
		}
	}
	return out
}

// TestWalk holds the walk of one message.received with one send_message in docs/architecture.md
// true: it is short, each stop is a file of its own, and each is entered once for each event, but
// for what commits. A process with counters is given one delivery, another twenty-one; what ran
// twenty times more is on the walk.
func TestWalk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the program with counters")
	}
	list := stops(t)
	files, packages := map[string]bool{}, map[string]bool{}
	for _, s := range list {
		if files[s.file] {
			t.Errorf("%s is listed twice", s.file)
		}
		files[s.file], packages[filepath.Dir(s.file)] = true, true
	}
	if n, m := len(files), len(packages); n < 15 || n > 25 || m > 9 {
		t.Errorf("%d files in %d packages", n, m)
	}
	counting := filepath.Join(t.TempDir(), "quando")
	counted := []string{"github.com/quandohq/quando/cmd/quando"} // it writes the counters when it ends
	for folder := range packages {
		counted = append(counted, "github.com/quandohq/quando/"+folder)
	}
	slices.Sort(counted)
	// Without the paths of this folder, what another checkout has compiled can be taken.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-cover", "-covermode=atomic", "-coverpkg="+strings.Join(counted, ","), "-o", counting, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const times = 20
	once, often := blocks(t, counting, 1), blocks(t, counting, 1+times)
	for _, s := range list {
		var entered []int
		for _, body := range bodiesOf(t, s) {
			entered = append(entered, often[body]-once[body])
		}
		// Each process also calls the service and writes for itself, now and then.
		right := func(n int) bool {
			return n > s.times*times-times/2 && (n < s.times*times+times/2 || sharedWriter[s.file])
		}
		if !slices.ContainsFunc(entered, right) {
			t.Errorf("%s: %s was entered %d times by %d events, want %d", s.file, s.function, entered, times, s.times*times)
		}
	}
}

// bodiesOf returns where the body of a stop's function begins, and those of functions in it, as
// counters name them.
func bodiesOf(t *testing.T, s stop) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, filepath.Join("../..", s.file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		if ok && f.Name.Name == s.function {
			ast.Inspect(f, func(n ast.Node) bool {
				body := f.Body
				switch n := n.(type) {
				case *ast.FuncDecl:
				case *ast.FuncLit:
					body = n.Body
				default:
					return true
				}
				at := set.Position(body.Lbrace)
				out = append(out, fmt.Sprintf("%s:%d.%d", s.file, at.Line, at.Column))
				return true
			})
		}
		return !ok
	})
	return out
}

// blocks returns how often each block of code ran in a process that got some deliveries.
func blocks(t *testing.T, counting string, deliveries int) map[string]int {
	t.Helper()
	defer func(before string) { *program = before }(*program)
	*program = counting
	a := newWalked(t)
	for i := range deliveries {
		a.deliver(i)
	}
	a.stop()
	out := filepath.Join(t.TempDir(), "profile")
	if text, err := exec.CommandContext(t.Context(), "go", "tool", "covdata", "textfmt", "-i", a.folder, "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	counts := map[string]int{}
	for s := bufio.NewScanner(file); s.Scan(); {
		block, count, _ := strings.Cut(strings.TrimPrefix(s.Text(), "github.com/quandohq/quando/"), ",")
		n, _ := strconv.Atoi(count[strings.LastIndexByte(count, ' ')+1:])
		counts[block] = n
	}
	return counts
}

// A walked is an office whose quando gets deliveries one by one, from the test, and whose calls can
// be kept waiting.
type walked struct {
	*apart
	bodies      chan string
	called, let chan struct{} // while let is not nil, calls that send a message wait for it
}

func newWalked(t *testing.T) *walked {
	t.Helper()
	a := &walked{apart: newApart(t), bodies: make(chan string, 100), called: make(chan struct{}, 100)}
	caught := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"message.received"`) {
			a.bodies <- string(body)
		}
	}))
	t.Cleanup(caught.Close)
	to, err := url.Parse(a.address.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host }, ErrorLog: log.New(io.Discard, "", 0)}
	calls := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/messages") && a.let != nil {
			a.called <- struct{}{}
			<-a.let
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(calls.Close)
	a.address.BaseURL = calls.URL + to.Path
	a.write("rules/r.yaml", "rules:\n  - { id: r, when: message.received, do: [{ send_message: Thank you }] }\n")
	a.begin(1024, a.service())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = caught.URL
	return a
}

// message is the delivery of another customer's message.
func (a *walked) message(customer int) string {
	a.t.Helper()
	a.writes("+55119888877"+strconv.Itoa(10+customer), "hello")
	return <-a.bodies
}

// deliver gives quando another customer's message, and waits until it is answered by one.
func (a *walked) deliver(customer int) {
	a.t.Helper()
	body := a.message(customer)
	if got, text := a.asks("POST", a.public+"/webhook", signed(string(a.secret), body), body); got != http.StatusAccepted {
		a.t.Fatalf("%d %s", got, text)
	}
	clitest.Eventually(a.t, func() (bool, string) { return a.calls.of("/messages") == customer+1, "no message was sent" })
}

// TestWalkStacks shows that the walk leaves no file out: every file that is on a stack while an
// event is recorded, while its call is under way, and while the receipt is recorded, is a stop.
func TestWalkStacks(t *testing.T) {
	known := map[string]bool{}
	for _, s := range stops(t) {
		known[s.file] = true
	}
	idle := stacks(t, "idle")
	for moment, through := range map[string]string{
		"recording": "engine/journal/sqlite/write.go", "calling": "service/transport.go", "recording the receipt": "engine/journal/sqlite/write.go",
	} {
		t.Run(moment, func(t *testing.T) {
			met := map[string]bool{}
			for range 5 { // a busy machine may not be that far when its stacks are taken
				for begun, files := range stacks(t, moment) {
					for _, file := range files {
						if idle[begun] == nil {
							met[file] = true
						}
					}
				}
				if met[through] {
					break
				}
			}
			for file := range met {
				if !known[file] {
					t.Errorf("%s is on the way and is no stop of docs/architecture.md", file)
				}
			}
			if !met[through] {
				t.Errorf("it was not caught in %s: %v", through, met)
			}
		})
	}
}

// stacks ends a process at a moment of an event's walk. It returns the files on the stacks of its
// goroutines by the function that each began with.
func stacks(t *testing.T, moment string) map[string][]string {
	t.Helper()
	a := newWalked(t)
	a.deliver(0) // what happens once in a process is over then
	db := openFile(t, filepath.Join(a.folder, "quando.db"))
	defer db.Close()
	db.SetMaxOpenConns(1)
	lock := func() {
		if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
	}
	if moment != "idle" {
		body := a.message(1)
		if moment == "recording" {
			lock()
		} else {
			a.let = make(chan struct{})
			defer close(a.let)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.public+"/webhook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range signed(string(a.secret), body) {
			request.Header.Set(k, v)
		}
		go func() {
			if res, err := http.DefaultClient.Do(request); err == nil {
				res.Body.Close()
			}
		}()
		if moment != "recording" {
			<-a.called
		}
		if moment == "recording the receipt" {
			lock()
			a.let <- struct{}{}
		}
	}
	time.Sleep(time.Second)
	if err := syscall.Kill(a.pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-a.done
	a.done <- 2
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for goroutine := range strings.SplitSeq(a.log.String(), "\n\n") {
		var files []string
		var function, begun string
		for line := range strings.Lines(goroutine) {
			if strings.HasPrefix(line, "created by ") {
				break
			}
			file, ok := strings.CutPrefix(line, "\t"+root+"/")
			if !ok { // make test compiles without the paths of this folder
				file, ok = strings.CutPrefix(line, "\tgithub.com/quandohq/quando/")
			}
			if ok {
				file, _, _ = strings.Cut(file, ":")
				files, begun = append(files, file), function
			}
			function, _, _ = strings.Cut(line, "(0x")
		}
		out[begun] = append(out[begun], files...)
	}
	return out
}
