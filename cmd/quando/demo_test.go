package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// A showing is a demo, or rules at play, that runs.
type showing struct {
	t    *testing.T
	out  *clitest.Buffer
	temp string // the folder for temporary files
	end  context.CancelFunc
	done chan int
}

// show starts the demo in this process.
func show(t *testing.T, args ...string) *showing {
	t.Helper()
	return showCommand(t, append([]string{"demo"}, args...)...)
}

// showCommand starts the demo, or play.
func showCommand(t *testing.T, args ...string) *showing {
	t.Helper()
	s := &showing{t: t, out: &clitest.Buffer{}, temp: t.TempDir(), done: make(chan int, 1)}
	t.Setenv("TMPDIR", s.temp)
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	t.Cleanup(cancel)
	go func() {
		s.done <- run(ctx, args, strings.NewReader(""), s.out, s.out)
	}()
	return s
}

// until waits for a text.
func (s *showing) until(text string) {
	s.t.Helper()
	clitest.Eventually(s.t, func() (bool, string) { return s.out.Contains(text), "no " + text + " in\n" + s.out.String() })
}

// over waits for the end and looks whether it was a good one.
func (s *showing) over() string {
	s.t.Helper()
	select {
	case code := <-s.done:
		if code != 0 {
			s.t.Errorf("it ended with %d", code)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("it does not end\n%s", s.out)
	}
	s.nothingLeft()
	return s.out.String()
}

func (s *showing) nothingLeft() {
	s.t.Helper()
	left, err := os.ReadDir(s.temp)
	if err != nil || len(left) > 0 {
		s.t.Errorf("left behind: %v %v", left, err)
	}
}

// wholeDemo is what the demo prints until the escalation of Saturday, where it is stopped as Ctrl-C
// does.
var wholeDemo struct {
	sync.Once
	text string
}

// watchDemo returns wholeDemo. The first test that asks for it waits for it.
func watchDemo(t *testing.T) string {
	t.Helper()
	wholeDemo.Do(func() {
		s := show(t, "--speed", "600")
		s.until("\nSaturday 14 November\n")
		s.until("09:25  sla-escalation")
		s.end()
		wholeDemo.text = s.over()
	})
	return wholeDemo.text
}

// TestDemo sees the whole of Friday and the beginning of Saturday, and stops it as Ctrl-C does.
func TestDemo(t *testing.T) {
	text := watchDemo(t)
	clitest.HasLines(t, text,
		`  Console   http://127\.0\.0\.1:\d+   see the rules at work, .*`,
		`17:40      João writes: “Oi, o meu pedido chegou com defeito. Podem me ajudar\?”`,
		`17:40  sla-escalation        João: waits 15m of office, until 17:55`,
		`17:43  sla-escalation        Beatriz needs it no more: the team has answered`,
		`17:44  card-after-close      → Beatriz: moved the card to Follow-up, card due 16 Nov`,
		`                               \(Move the sales card on when the attendance is closed\)`,
		`17:46  vip-routing           → Helena: label vip, transferred to Carla`,
		`17:49  keyword-routing       → Rafael: put into the sector Sales`,
		`17:55  sla-escalation        → João: label sla-breach, transferred to Supervisors`,
		`17:55  sla-escalation        João: waits 30m of office, until Sat 09:25`,
		`17:58  lead-after-close      → would have: Tiago: moved the card to Follow-up`,
		`18:00      The office closes\.`,
		`18:00  open-by-sector        → the desk: “Open at 18:00: 2 Support: 0 Sales: 1 .*…”`,
		`18:01  away-reply            → Marina: “Olá, Marina! Estamos fora do .*…”, label after-hours`,
		`  Totals at 18:04 on Friday`,
		`    customers 7 · events \d+ · runs \d+: \d+ done · \d+ stopped · 8 cancelled · 7 waiting · 0 failed`,
		`    messages 8 · transfers 4 · label changes 5 · cards made 6 · cards moved 1`,
		`       · · ·  nothing happens for 14h47m`,
		`09:25  sla-escalation        → João: transferred to Carla, “João, desculpe.*”`,
	)
	if n := strings.Count(text, "away-reply            → Marina"); n != 1 {
		t.Errorf("Marina wrote twice and had %d answers", n)
	}
	end := text[strings.LastIndex(text, "Totals"):]
	if !strings.HasSuffix(end, "\n\nStopped. Everything was on this machine, and nothing is left of it.\n") || !strings.Contains(end, " 0 failed\n") {
		t.Errorf("it ends with\n%s", end)
	}
	for line := range strings.Lines(text) {
		if cli.Width(line) > 101 || strings.Contains(line, "\x1b") || strings.Contains(line, "somebody") {
			t.Errorf("%d columns: %s", cli.Width(line), line)
		}
	}
}

// TestDemoInTheReadme holds what the README shows to what the demo prints.
func TestDemoInTheReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(readme), "```text\nFriday")
	sample, _, found := strings.Cut("Friday"+sample, "```")
	if !found {
		t.Fatal("the README shows nothing of the demo")
	}
	whole := watchDemo(t)
	rest := whole
	for line := range strings.Lines(sample) {
		if line == "…\n" {
			continue
		}
		var there bool
		if _, rest, there = strings.Cut(rest, line); !there {
			t.Fatalf("the demo does not print, in this order:\n%s\n%s", line, whole)
		}
	}
}

// TestDemoIsTheSame tells the same story twice, and brings other customers with another seed.
func TestDemoIsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	days := func(text string) (friday, saturday string) {
		_, text, _ = strings.Cut(text, "\nFriday")
		text, _, _ = strings.Cut(text, "09:25  sla-escalation")
		friday, saturday, _ = strings.Cut(text, "\nSaturday")
		return friday, saturday
	}
	tell := func(args ...string) (friday, saturday string) {
		s := show(t, append(args, "--speed", "600")...)
		s.until("09:25  sla-escalation")
		s.end()
		return days(s.over())
	}
	friday, saturday := days(watchDemo(t))
	againFriday, againSaturday := tell("--seed", "1")
	if diff := cmp.Diff(friday+saturday, againFriday+againSaturday); diff != "" {
		t.Error(diff)
	}
	otherFriday, otherSaturday := tell("--seed", "2")
	if friday != otherFriday || saturday == otherSaturday {
		t.Error("another seed is for the customers of Saturday")
	}
}

// TestDemoConsole serves what is printed, also where the usual port is taken.
func TestDemoConsole(t *testing.T) {
	if taken, err := net.Listen("tcp", "127.0.0.1:8081"); err == nil {
		defer taken.Close()
	}
	s := show(t, "--speed", "600")
	s.until("18:00      The office closes.")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.out.String())
	if strings.HasSuffix(address, ":8081") {
		t.Error(address)
	}
	for path, want := range map[string]string{"/metrics": `quando_rules_loaded{workspace="default"} 22`, "/healthz": "alive", "/readyz": "ready"} {
		res, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	s.end()
	s.over()
}

// TestDemoWithoutReaders ends when nobody reads what it prints.
func TestDemoWithoutReaders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ended := make(chan int, 1)
	go func() { ended <- run(t.Context(), []string{"demo"}, nil, closedPipe{}, io.Discard) }()
	select {
	case code := <-ended:
		if code != 0 {
			t.Error(code)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestDemoSignal stops a real process.
func TestDemoSignal(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &showing{t: t, out: &clitest.Buffer{}, temp: t.TempDir()}
	trouble := &clitest.Buffer{}
	// Under this name the test's own binary is the command.
	c := &exec.Cmd{Path: program, Args: []string{"quando", "demo", "--speed", "600"}, Stdout: s.out, Stderr: trouble, Env: append(os.Environ(), "TMPDIR="+s.temp)}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	s.until("away-reply")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || trouble.String() != "" {
		t.Errorf("%v\n%s", err, trouble)
	}
	clitest.HasLines(t, s.out.String(), "  Totals at .*", "Stopped. .*")
	s.nothingLeft()
}
