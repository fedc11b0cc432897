package subscription

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// The test's own program is the engine's process too.
func TestMain(m *testing.M) {
	if text := os.Getenv("SUBSCRIPTION_PROCESS"); text != "" {
		var p process
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			panic(err)
		}
		p.run()
		return
	}
	os.Exit(m.Run())
}

// A process receives deliveries and manages the webhook, until it kills itself.
type process struct {
	Folder, URL     string
	BaseURL, APIKey string
	KillAt          int64 // the step at which it kills itself; 0 is none
}

// steps counts every external operation of a check, and kills the process before or after one of
// them.
type steps struct {
	Cursors
	http.RoundTripper
	at, killAt atomic.Int64
}

func (s *steps) step() {
	if s.at.Add(1) == s.killAt.Load() {
		_ = must(os.FindProcess(os.Getpid())).Kill()
		select {}
	}
}

func (s *steps) SwapCursor(ctx context.Context, name, old, value string) (bool, error) {
	s.step()
	defer s.step()
	return s.Cursors.SwapCursor(ctx, name, old, value)
}

func (s *steps) RoundTrip(r *http.Request) (*http.Response, error) {
	s.step()
	defer s.step()
	return s.RoundTripper.RoundTrip(r)
}

// run is the main function of the process. It prints its address when it listens, and executes
// commands.
func (p process) run() {
	ctx := context.Background()
	recording := must(sqlite.Open(ctx, p.Folder+"/journal.db", sqlite.Options{}))
	counted := &steps{Cursors: recording, RoundTripper: http.DefaultTransport}
	client := must(service.New(service.Options{BaseURL: p.BaseURL, APIKey: service.Secret(p.APIKey), Transport: counted}))
	s := must(New(Options{Workspace: "default", Client: client, Cursors: counted, Keys: KeyFile(p.Folder + "/quando.key"), URL: p.URL, Alone: true}))
	if err := s.Load(ctx); err != nil {
		panic(err)
	}
	set, _ := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte("rules: [{id: a, when: message.received, do: [{log: x}]}]"))}, rules.Options{Catalog: must(rules.NewCatalog())})
	s.SetRules(set)
	receiver := must(webhook.New(webhook.Options{
		Workspace: "default", Secrets: s.Secrets, Renew: s.Renew,
		Sink: func(ctx context.Context, events ...rules.Event) ([]bool, error) { return recording.Accept(ctx, events) },
	}))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = http.Serve(listener, receiver) }()
	fmt.Println(listener.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		counted.at.Store(0)
		counted.killAt.Store(p.KillAt)
		var err error
		switch in.Text() {
		case "tend":
			err = s.Tend(ctx)
		case "rotate":
			_, err = s.Rotate(ctx, false)
		}
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(counted.at.Load())
		}
	}
	_ = recording.Close()
}

// A running process.
type running struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	address string
}

func (p process) start(t *testing.T) *running {
	t.Helper()
	r := &running{t: t, command: exec.Command(must(os.Executable()))}
	r.command.Env = append(os.Environ(), "SUBSCRIPTION_PROCESS="+string(must(json.Marshal(p))))
	r.command.Stderr = os.Stderr
	r.in = must(r.command.StdinPipe())
	r.out = bufio.NewReader(must(r.command.StdoutPipe()))
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.command.Process.Kill(); _ = r.command.Wait() })
	line, _ := r.out.ReadString('\n')
	r.address = "http://" + strings.TrimSpace(line)
	return r
}

// asks sends the process a command and returns its answer; empty if it was killed.
func (r *running) asks(what string) string {
	fmt.Fprintln(r.in, what)
	line, _ := r.out.ReadString('\n')
	return strings.TrimSpace(line)
}

// end lets the process stop by itself.
func (r *running) end() {
	_ = r.in.Close()
	_ = r.command.Wait()
}

// A killableService is a service whose webhook reaches whichever process is alive, with an attacker
// who has no secret.
type killableService struct {
	*testing.T
	sandbox *sandbox.Sandbox
	client  *service.Client
	process process
	alive   atomic.Pointer[url.URL]
	intrude sync.WaitGroup
}

func newStreet(t *testing.T) *killableService {
	t.Helper()
	s := &killableService{T: t, sandbox: must(sandbox.New(sandbox.Options{Seed: 5, AllowLoopback: true}))}
	t.Cleanup(func() { _ = s.sandbox.Close() })
	address := must(s.sandbox.Start(t.Context(), "127.0.0.1:0"))
	s.client = must(service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey)}))
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := s.alive.Load()
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(front.Close)
	s.process = process{Folder: t.TempDir(), URL: front.URL + "/webhook", BaseURL: address.BaseURL, APIKey: address.APIKey}
	return s
}

// open starts a process that receives what is delivered.
func (s *killableService) open(killAt int) *running {
	s.Helper()
	p := s.process
	p.KillAt = int64(killAt)
	r := p.start(s.T)
	s.alive.Store(must(url.Parse(r.address)))
	return r
}

// writes sends customers' messages. What is delivered at once is in flight when it returns.
func (s *killableService) writes(n int) {
	s.Helper()
	for i := range n {
		if _, err := s.sandbox.CustomerMessage(sandbox.CustomerMessage{Phone: "+551198888" + strconv.Itoa(1000+i), Name: "Ana", Text: "hello"}); err != nil {
			s.Fatal(err)
		}
	}
}

// intrudes sends events without a signature, and with a forged one, to a process until ctx ends.
func (s *killableService) intrudes(ctx context.Context, address string) {
	s.intrude.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			body := fmt.Sprintf(`{"id":"forged-%d","type":"message.received","created_at":"2027-01-15T08:00:00Z","data":{}}`, i)
			r := must(http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body)))
			if i%2 == 1 {
				r.Header.Set("X-Service-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
				r.Header.Set("X-Service-Signature", "sha256="+strings.Repeat("00", 32))
			}
			if res, err := http.DefaultClient.Do(r); err == nil {
				_ = res.Body.Close()
				if res.StatusCode != http.StatusUnauthorized {
					s.Errorf("a stranger got %d", res.StatusCode)
				}
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// settled checks that there is one webhook and that everything it was to deliver is recorded, once,
// and nothing else.
func (s *killableService) settled() {
	s.Helper()
	if err := s.sandbox.Settle(s.Context()); err != nil {
		s.Fatal(err)
	}
	for _, pause := range []time.Duration{31 * time.Second, 3 * time.Minute} {
		must(s.sandbox.Advance(s.Context(), pause))
		if err := s.sandbox.Settle(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
	hooks := must(s.client.ListWebhooks(s.Context()))
	if len(hooks) != 1 {
		s.Fatalf("%d webhooks", len(hooks))
	}
	recording := must(sqlite.Open(s.Context(), s.process.Folder+"/journal.db", sqlite.Options{Beside: true}))
	defer func() { _ = recording.Close() }()
	recorded := map[string]int{}
	for _, e := range must(recording.ListEvents(s.Context(), journal.EventFilter{Limit: 1000})) {
		recorded[e.ID]++
	}
	deliveries := must(s.client.ListDeliveries(s.Context(), hooks[0].ID))
	for _, d := range deliveries {
		if recorded[d.EventID] != 1 {
			s.Errorf("%s of %s is recorded %d times: %s after %d attempts, %s", d.EventType, d.EventID, recorded[d.EventID], d.Status, d.Attempt, d.Error)
		}
	}
	if len(recorded) != len(deliveries) || len(deliveries) == 0 {
		s.Errorf("%d are recorded of %d", len(recorded), len(deliveries))
	}
}

// TestKilledAtEachStep kills the process with SIGKILL before and after every call and every write
// of registering and of rotating, while customers write and an attacker sends forgeries. The next
// process repairs it: nothing unsigned was accepted, and nothing is lost.
func TestKilledAtEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for _, task := range []string{"tend", "rotate"} {
		for killAt, most := 0, 0; killAt <= most; killAt++ {
			t.Run(fmt.Sprintf("%s killed at %d", task, killAt), func(t *testing.T) {
				s := newStreet(t)
				if task == "rotate" {
					first := s.open(0)
					if said := first.asks("tend"); said == "" {
						t.Fatal("it was killed")
					}
					first.end()
				}
				doomed := s.open(killAt)
				ctx, cancel := context.WithCancel(t.Context())
				s.intrudes(ctx, doomed.address)
				var customers sync.WaitGroup
				customers.Go(func() { s.writes(5) })
				said := doomed.asks(task)
				customers.Wait()
				if n, err := strconv.Atoi(said); killAt == 0 {
					if most = n; err != nil || n < 6 {
						t.Fatalf("it took %q steps", said)
					}
				} else if said != "" && (err != nil || n >= killAt) { // it may take a step less than the first
					t.Fatalf("it was not killed: %s", said)
				}
				s.writes(2)
				cancel()
				s.intrude.Wait()
				doomed.end()

				next := s.open(0)
				ctx, cancel = context.WithCancel(t.Context())
				s.intrudes(ctx, next.address)
				if _, err := strconv.Atoi(next.asks("tend")); err != nil {
					t.Fatal("it cannot be mended:", err)
				}
				s.writes(2)
				s.settled()
				cancel()
				s.intrude.Wait()
				next.end()
			})
		}
	}
}
