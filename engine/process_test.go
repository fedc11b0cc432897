package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/postgres"
	"github.com/quandohq/quando/engine/postgres/postgrestest"
	"github.com/quandohq/quando/engine/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

var (
	kills   = flag.Int("kills", 10, "how often TestKill kills the engine")
	waiting = flag.Int("waiting", 5_000, "how many runs wait in TestManyWaitingRuns")
)

// The test's own program is the engine's process too.
func TestMain(m *testing.M) {
	if text := os.Getenv("ENGINE_PROCESS"); text != "" {
		var p process
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			panic(err)
		}
		p.run()
		return
	}
	os.Exit(m.Run())
}

// A process is an engine in a process of its own, which can be killed.
type process struct {
	Journal, Rules  string
	BaseURL, APIKey string
	Secret          string
	Timeout         time.Duration
}

// run is the whole life of the process. It writes its address when it listens, and what it is asked for.
func (p process) run() {
	began := time.Now()
	ctx := context.Background()
	journal := must(p.open(ctx, false))
	client := must(service.New(service.Options{BaseURL: p.BaseURL, APIKey: service.Secret(p.APIKey), MaxWait: -1, Timeout: p.Timeout}))
	var e *engine.Engine
	o := builtin.Options{Client: client, Directory: service.NewDirectory(client)}
	o.Own = func(ctx context.Context, m service.Message) (bool, error) { return e.Owns(ctx, "default", m.ID) }
	w := engine.Workspace{
		Name: "default", Actions: must(actions.NewRegistry(must(builtin.New(o))...)), Desk: must(builtin.NewDesk(o)), Timeout: p.Timeout,
	}
	e = must(engine.New(engine.Options{Journal: journal}, w))
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(p.Rules))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		panic(problems)
	}
	if err := e.SetRules("default", set); err != nil {
		panic(err)
	}
	receiver := must(webhook.New(webhook.Options{
		Workspace: "default", Sink: e.Accept, Secrets: func() []service.Secret { return []service.Secret{service.Secret(p.Secret)} },
	}))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = http.Serve(listener, receiver) }()
	go func() { _ = e.Run(ctx) }()
	fmt.Println(listener.Addr())
	// Questions come in lines; the end of the input is the end of the process.
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "started":
			fmt.Println(time.Since(began).Microseconds())
		case "resident":
			debug.FreeOSMemory()
			fmt.Println(resident())
		}
	}
	_ = journal.Close()
}

// A journal is one that can be worked with and looked at.
type journal interface {
	engine.Journal
	engine.Reader
	Close() error
}

// open opens the journal, in a file or in a database. A lease is short, so that the lanes of a process that was killed are soon another's.
func (p process) open(ctx context.Context, beside bool) (journal, error) {
	if strings.HasPrefix(p.Journal, "postgres://") {
		return postgres.Open(ctx, p.Journal, postgres.Options{Beside: beside, Lease: time.Second})
	}
	return sqlite.Open(ctx, p.Journal, sqlite.Options{Beside: beside})
}

// resident returns how many KiB of memory the process has.
func resident() int {
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/status")))) {
		var n int
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &n); err == nil {
			return n
		}
	}
	return 0
}

// A child is a process that has been started.
type child struct {
	*exec.Cmd
	t       *testing.T
	in      io.WriteCloser
	out     *bufio.Scanner
	address string
}

func (p process) start(t *testing.T) *child {
	t.Helper()
	c := &child{t: t, Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), "ENGINE_PROCESS="+string(must(json.Marshal(p))))
	c.Stderr = os.Stderr
	c.in = must(c.StdinPipe())
	c.out = bufio.NewScanner(must(c.StdoutPipe()))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	if !c.out.Scan() {
		t.Fatal("the engine's process did not start")
	}
	c.address = c.out.Text()
	return c
}

// ask returns the answer to a question.
func (c *child) ask(question string) (n int) {
	c.t.Helper()
	fmt.Fprintln(c.in, question)
	if c.out.Scan() {
		_, _ = fmt.Sscan(c.out.Text(), &n)
	}
	return n
}

func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// stop lets the process end by itself.
func (c *child) stop() {
	_ = c.in.Close()
	_ = c.Wait()
}

// A relay hands deliveries to the process that lives, and waits while none does.
type relay struct {
	*httptest.Server
	mu sync.Mutex
	to string
}

func newRelay(t *testing.T) *relay {
	r := &relay{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := must(io.ReadAll(req.Body))
		for req.Context().Err() == nil {
			r.mu.Lock()
			to := r.to
			r.mu.Unlock()
			again := must(http.NewRequestWithContext(req.Context(), http.MethodPost, "http://"+to+"/", strings.NewReader(string(body))))
			again.Header = req.Header.Clone()
			if answer, err := http.DefaultClient.Do(again); err == nil {
				_ = answer.Body.Close()
				w.WriteHeader(answer.StatusCode)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *relay) lead(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = c.address
}

// Killed again and again while customers write: in the end each has exactly one answer, one label and one card.
func TestKill(t *testing.T) {
	t.Run("in a file", func(t *testing.T) { killed(t, filepath.Join(t.TempDir(), "journal.db"), 1) })
	t.Run("in a database", func(t *testing.T) { killed(t, postgrestest.Shared(t).Database(t), 2) })
}

// killed kills engines, of which so many are at work at once.
func killed(t *testing.T, journal string, engines int) {
	s := must(sandbox.New(sandbox.Options{AllowLoopback: true, KanbanEvents: true, Seed: 3}))
	t.Cleanup(func() { _ = s.Close() })
	address := must(s.Start(t.Context(), "127.0.0.1:0"))
	client := must(service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey)}))
	relay := newRelay(t)
	hook := must(client.RegisterWebhook(t.Context(), service.NewWebhook{Name: "engine", URL: relay.URL, Events: rules.EventNames()}))
	p := process{
		Journal: journal, BaseURL: address.BaseURL, APIKey: address.APIKey, Secret: string(hook.Secret), Timeout: 300 * time.Millisecond,
		Rules: `
rules:
  - id: it
    when: message.received
    do:
      - send_message: "hello {{ message.text }}"
      - add_labels: [vip]
      - wait: 200ms
      - create_card: { board: Sales, title: "{{ message.text }}" }
      - move_card: Proposal
      - transfer: { sector: Sales, reason: "{{ message.text }}" }
`,
	}
	random := rand.New(rand.NewPCG(1, uint64(*kills)))
	var customers sync.WaitGroup
	written := 0
	var alive []*child
	for range *kills {
		c := p.start(t)
		alive = append(alive, c)
		relay.lead(c)
		customers.Go(func() {
			for range 5 {
				written++
				must(s.CustomerMessage(sandbox.CustomerMessage{Phone: fmt.Sprintf("+55119%08d", written), Name: "Somebody", Text: fmt.Sprint(written)}))
				time.Sleep(5 * time.Millisecond)
			}
		})
		time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
		if len(alive) == engines {
			victim := random.IntN(engines)
			alive[victim].kill()
			alive = slices.Delete(alive, victim, victim+1)
		}
		customers.Wait()
	}
	c := p.start(t)
	relay.lead(c)
	look := must(p.open(t.Context(), true))
	defer look.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if n := must(look.CountRuns(t.Context(), time.Unix(0, 0)))[engine.Done]; n == written {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not every run is done: %v", must(look.CountRuns(t.Context(), time.Unix(0, 0))))
		}
	}
	var got []string
	for _, e := range s.Effects()[1:] {
		got = append(got, fmt.Sprint(e.Operation, " ", e.Object))
		if strings.HasPrefix(e.Operation, "POST /kanban") {
			got[len(got)-1] = e.Operation + " " + string(e.Key)
		}
	}
	all := len(got)
	slices.Sort(got)
	if n := len(slices.Compact(got)); all != 5*written || n != all {
		t.Errorf("%d effects, %d of them different, after %d messages that ask for five each", all, n, written)
	}
	t.Logf("%d kills, %d messages, %d effects", *kills, written, all)
}

// Runs that wait cost disk, not memory; one that is due starts at once; a start does not read them all.
func TestManyWaitingRuns(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: it, when: message.received, do: [{ wait: 30d }, { log: "{{ message.text }}" }] }
  - { id: soon, when: manual, do: [{ wait: 2s }, { log: woken }] }
`)
	p := process{Journal: d.file, BaseURL: d.address.BaseURL, APIKey: d.address.APIKey, Timeout: time.Second, Rules: `
rules:
  - { id: it, when: message.received, do: [{ wait: 30d }, { log: "{{ message.text }}" }] }
  - { id: soon, when: manual, do: [{ wait: 2s }, { log: woken }] }
`}
	w := d.customer(ana, "hello")
	message := must(d.journal.ListEvents(t.Context(), engine.EventFilter{Type: "message.received"}))[0].Event
	if err := d.journal.Close(); err != nil {
		t.Fatal(err)
	}
	before := p.start(t)
	time.Sleep(300 * time.Millisecond)
	few := before.ask("resident")
	before.stop()
	d.open()

	stop := d.live()
	began := time.Now()
	batch := make([]rules.Event, 0, 1000)
	for i := range *waiting {
		e := message
		e.ID, e.Lane, e.CreatedAt, e.ReceivedAt = fmt.Sprintf("event %d", i), fmt.Sprintf("conversation:%d", i), time.Now(), time.Now()
		if batch = append(batch, e); len(batch) == cap(batch) || i == *waiting-1 {
			must(d.engine.Accept(t.Context(), batch...))
			batch = batch[:0]
		}
	}
	for must(d.journal.CountRuns(t.Context(), time.Now()))[engine.Waiting] < *waiting+1 {
		time.Sleep(20 * time.Millisecond)
	}
	filled := time.Since(began)
	stop()
	if err := d.journal.Close(); err != nil {
		t.Fatal(err)
	}

	c := p.start(t)
	start := time.Duration(c.ask("started")) * time.Microsecond
	look := must(sqlite.Open(t.Context(), p.Journal, sqlite.Options{Beside: true}))
	defer look.Close()
	now := time.Now()
	must(look.Accept(t.Context(), []rules.Event{{
		Workspace: "default", ID: "manual/1", Type: "manual", Rule: "soon", Lane: actions.ConversationLane(w.Conversation.String()),
		CreatedAt: now, ReceivedAt: now, Data: map[string]any{},
	}}))
	var woken time.Duration
	for deadline := now.Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		list := must(look.ListRuns(t.Context(), engine.RunFilter{Rule: "soon"}))
		if len(list) == 1 && list[0].State == engine.Done {
			woken = list[0].FinishedAt.Sub(now.Add(2 * time.Second))
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the run that was due did not start")
		}
	}
	many := c.ask("resident")
	t.Logf("%d waiting runs: recorded and decided in %s, a start takes %s, a run that is due begins %s late, resident %d KiB against %d KiB with one, journal %d MiB",
		*waiting, filled.Round(time.Millisecond), start.Round(time.Millisecond), woken.Round(time.Millisecond), many, few, must(os.Stat(p.Journal)).Size()>>20)
	if grown := many - few; grown > 100<<10 {
		t.Errorf("memory grew by %d KiB", grown)
	}
}
