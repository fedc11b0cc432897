package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/schedule"
	"github.com/quandohq/quando/triggers/webhook"
)

var waiting = flag.Int("waiting", 5_000, "how many runs wait in TestManyWaitingRuns")

// TestMain runs the test's own program as the engine's process, too.
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
	Stop            string // as "before transfer": at the first such call the process suspends itself, like SIGSTOP
	Schedules       bool   // the engine runs schedules
}

// run is the main function of the process. It prints its address when it listens, and the answers
// to questions.
func (p process) run() {
	began := time.Now()
	ctx := context.Background()
	watch := &watched{anyJournal: must(p.open(ctx, false))}
	var kept journal.Journal = watch
	client := must(service.New(service.Options{BaseURL: p.BaseURL, APIKey: service.Secret(p.APIKey), MaxWait: -1, Timeout: p.Timeout, Allow: actions.MayCall}))
	var e *engine.Engine
	o := builtin.Options{Client: client, Directory: service.NewDirectory(client)}
	o.Own = func(ctx context.Context, m service.Message) (bool, error) {
		return e.Owns(ctx, "default", m.ID, m.ClientID)
	}
	verbs := must(builtin.New(o))
	for i := range verbs {
		verbs[i] = stopping{Action: verbs[i], at: p.Stop}
	}
	w := engine.Workspace{
		Name: "default", Actions: must(actions.NewRegistry(verbs...)), Desk: must(builtin.NewDesk(o)), Timeout: p.Timeout,
	}
	e = must(engine.New(engine.Options{Journal: kept}, w))
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(p.Rules))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		panic(problems)
	}
	if err := e.SetRules("default", set); err != nil {
		panic(err)
	}
	receiver := must(webhook.New(webhook.Options{
		Workspace: "default", Sink: e.Accept, Secrets: func(time.Time) []service.Secret { return []service.Secret{service.Secret(p.Secret)} },
	}))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = http.Serve(listener, receiver) }()
	go func() { _ = e.Run(ctx) }()
	if p.Schedules {
		ticks := must(schedule.New(schedule.Options{Workspace: "default", Cursors: watch}))
		ticks.SetRules(set)
		go func() { _ = ticks.Run(ctx, e.Accept) }()
	}
	fmt.Println(listener.Addr())
	// Each line of input is a question; the process ends with its input.
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "started":
			fmt.Println(time.Since(began).Microseconds())
		case "resident":
			debug.FreeOSMemory()
			fmt.Println(resident())
		case "refused":
			fmt.Println(watch.refused.Load())
		case "busy":
			fmt.Println(watch.busy.Load())
		}
	}
	_ = watch.Close()
}

// An anyJournal is a journal that can be written and queried.
type anyJournal interface {
	journal.Journal
	journal.Reader
	Close() error
}

// lease is how long a killed or suspended process keeps its lanes: short, so that another one soon
// has them.
const lease = time.Second

// open opens the journal, in a file or in a database.
func (p process) open(ctx context.Context, beside bool) (anyJournal, error) {
	if strings.HasPrefix(p.Journal, "postgres://") {
		return postgres.Open(ctx, p.Journal, postgres.Options{Beside: beside, Lease: lease})
	}
	return sqlite.Open(ctx, p.Journal, sqlite.Options{Beside: beside})
}

// A watched journal counts the lanes that the engine has, and the changes that were refused because
// the lane belongs to another engine.
type watched struct {
	anyJournal
	busy, refused atomic.Int64
}

func (j *watched) Claim(ctx context.Context, now time.Time, most int, except []string) ([]*journal.Lane, error) {
	lanes, err := j.anyJournal.Claim(ctx, now, most, except)
	j.busy.Add(int64(len(lanes)))
	return lanes, err
}

func (j *watched) Save(ctx context.Context, l *journal.Lane, c *journal.Change) error {
	err := j.anyJournal.Save(ctx, l, c)
	lost := errors.Is(err, journal.ErrLost)
	if lost {
		j.refused.Add(1)
	}
	if lost || err == nil && c.Release {
		j.busy.Add(-1)
	}
	return err
}

// Open opens a lane, which counts as busy from then on.
func (j *watched) Open(workspace, lane string) *journal.Lane {
	l := j.anyJournal.Open(workspace, lane)
	if l != nil {
		j.busy.Add(1)
	}
	return l
}

// Drop releases a lane that was opened.
func (j *watched) Drop(l *journal.Lane) {
	j.anyJournal.Drop(l)
	j.busy.Add(-1)
}

// stopping is an action at whose calls the process suspends itself.
type stopping struct {
	actions.Action
	at string
}

// stopMyself suspends the process until it gets SIGCONT.
var stopMyself func()

func (a stopping) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	if a.at == "before "+i.Call {
		stopMyself()
	}
	r, err := a.Action.Do(ctx, s, i)
	if a.at == "after "+i.Call {
		stopMyself()
	}
	return r, err
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

// A child is a started process.
type child struct {
	*exec.Cmd
	t       *testing.T
	in      io.WriteCloser
	out     *bufio.Scanner
	address string
}

func (p process) start(t *testing.T) *child {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
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

// TestManyWaitingRuns shows that waiting runs cost disk, not memory; that a due run starts at once;
// and that a start does not read them all.
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
	message := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))[0].Event
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
	for must(d.journal.CountRuns(t.Context()))[journal.Waiting] < *waiting+1 {
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
	for deadline := now.Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		list := must(look.ListRuns(t.Context(), journal.RunFilter{Rule: "soon"}))
		if len(list) == 1 && list[0].State == journal.Done {
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
