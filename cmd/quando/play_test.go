package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// A game is play with somebody at the console.
type game struct {
	*showing
	console string
	office  *office
}

func startGame(t *testing.T, args ...string) *game {
	t.Helper()
	g := &game{showing: showCommand(t, append([]string{"play", "--listen", "127.0.0.1:0"}, args...)...), office: &office{t: t}}
	g.until("\nIt is ")
	g.console = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(g.out.String())
	return g
}

// does plays something, and returns the page that comes of it.
func (g *game) does(what string, form url.Values) string {
	g.t.Helper()
	code, text := g.office.asks("POST", g.console+"/simulator/"+what, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode())
	if code >= 400 {
		g.t.Fatalf("%s: %d %s\n%s", what, code, text, g.out)
	}
	return text
}

func (g *game) writes(name, phone, text string) string {
	g.t.Helper()
	return g.does("write", url.Values{"name": {name}, "phone": {phone}, "text": {text}})
}

const deskRules = `calendars:
  loja: { timezone: America/Sao_Paulo, open: { mon-sun: [08:00-18:00] } }
rules:
  - id: nobody-answers
    name: Escalate when nobody answers
    when: message.received
    if: closed("loja") == false
    do:
      - wait: 15m of loja
      - add_labels: [Urgente]
      - transfer: { sector: Gerência, person: Dona Lúcia }
      - create_card: { board: Funil, stage: Novo, title: "{{ contact.name }}" }
      - http_request: { url: "%s/hook", json: { name: "{{ contact.name }}" } }
      - send_message: "{{ contact.name }}, desculpe a demora!"
`

// TestPlay sees an answer that is due in 15 minutes at once, in a desk that has what the rules
// name. Neither the configured service nor another system is called, whatever the configuration and
// the environment say.
func TestPlay(t *testing.T) {
	var calls atomic.Int64
	real := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer real.Close()
	host := strings.TrimPrefix(real.URL, "http://")
	dir := t.TempDir()
	clitest.WriteFile(t, filepath.Join(dir, "quando.yaml"), `service: { base_url: "`+real.URL+`/v1", api_key: "${DESK_KEY}", webhook: { public_url: "`+real.URL+`/webhook" } }
journal: real.db
listen: "`+host+`"
http_request: { allow: ["`+host+`"], headers: { "`+host+`": { Authorization: "${DESK_TOKEN}" } } }
traces: { endpoint: "`+real.URL+`" }
`)
	t.Setenv("QUANDO_SERVICE_BASE_URL", real.URL+"/v1")
	t.Setenv("QUANDO_SERVICE_API_KEY", "qsk_real")
	t.Setenv("QUANDO_JOURNAL", filepath.Join(dir, "real.db"))
	if err := os.Mkdir(filepath.Join(dir, "rules"), 0o777); err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, filepath.Join(dir, "rules", "desk.yaml"), strings.ReplaceAll(deskRules, "%s", real.URL))
	before := contents(t, dir)

	g := startGame(t, dir, "--at", "2026-11-18 10:00")
	page := g.writes("Rosa Prado", "+5511955554444", "Oi")
	if !strings.Contains(page, `value="15m"`) || !strings.Contains(page, "Rosa Prado") {
		t.Errorf("the simulator:\n%s", page)
	}
	g.until("Rosa Prado: waits 15m of loja, until 10:15")
	g.does("jump", url.Values{"length": {"15m"}})
	g.until("10:15  nobody-answers        →")
	if _, page := g.office.asks("GET", g.console+"/simulator?with="+regexp.MustCompile(`name="with" value="([^"]+)"`).FindStringSubmatch(page)[1], nil, ""); !strings.Contains(page, "Rosa Prado, desculpe a demora!") || !strings.Contains(page, "Gerência") {
		t.Errorf("the customer reads\n%s", page)
	}
	g.end()
	text := g.over()
	clitest.HasLines(t, text,
		`  Simulator  http://127\.0\.0\.1:\d+/simulator`,
		`  Try first  write as a customer there, then press \+15 min`,
		`The environment has no DESK_KEY, DESK_TOKEN\. .*`,
		`http_request calls nobody: .*--http.*`,
		`1 rule in use\.`,
		`It is Wednesday 18 November 2026, 10:00\.`,
		`10:00      Rosa Prado writes: “Oi”`,
		`10:15      \(POST `+regexp.QuoteMeta(host)+` was not called: .*`,
		`10:15  nobody-answers        → Rosa Prado: label Urgente, transferred to .*`,
		`Stopped\. .*`,
	)
	if strings.Contains(text, "failed") {
		t.Error(text)
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d calls left this machine", n)
	}
	if after := contents(t, dir); after != before {
		t.Errorf("the project has changed:\n%s", after)
	}
}

// TestPlayReloads: a rule is in use when it is saved, with what it names; one with a mistake is
// told on the terminal and in the console, and goes on as it was.
func TestPlayReloads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	greeting := func(text string) string {
		return "rules:\n  - id: hello\n    when: message.received\n    do:\n      - send_message: \"" + text + "\"\n      - add_labels: [Novo " + text[:3] + "]\n"
	}
	clitest.WriteFile(t, file, greeting("One"))
	g := startGame(t, file)
	g.writes("Ana Lima", "+5511955550001", "Oi")
	g.until("→ Ana Lima: “One”, label Novo One")
	clitest.WriteFile(t, file, greeting("Two"))
	g.until("The rules were saved: 1 rule in use.")
	g.writes("Bia Lima", "+5511955550002", "Oi")
	g.until("→ Bia Lima: “Two”, label Novo Two")
	clitest.WriteFile(t, file, strings.Replace(greeting("Three"), "message.received", "mesage.received", 1))
	g.until("(did you mean \"message.received\"?)")
	g.until("1 with mistakes; what was in use before stays so")
	if _, page := g.office.asks("GET", g.console+"/rules", nil, ""); !strings.Contains(page, "not in use as written") {
		t.Error("the console does not tell the mistake")
	}
	g.writes("Caio Lima", "+5511955550003", "Oi")
	g.until("→ Caio Lima: “Two”")
	g.end()
	g.over()
}

// TestPlayKeeps goes on from where it ended, and only then leaves something behind.
func TestPlayKeeps(t *testing.T) {
	dir := t.TempDir()
	file, kept := filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "kept")
	clitest.WriteFile(t, file, "rules:\n  - id: later\n    when: message.received\n    do: [{ wait: 2h }, { send_message: Hello again }]\n")
	g := startGame(t, file, "--keep", kept, "--at", "2026-11-18 10:00")
	g.writes("Ana Lima", "+5511955550001", "Oi")
	g.until("Ana Lima: waits 2h, until 12:00")
	g.end()
	g.over()
	g = startGame(t, file, "--keep", kept)
	g.until("It is Wednesday 18 November 2026, 10:00, where it ended the last time.")
	if _, page := g.office.asks("GET", g.console+"/simulator", nil, ""); !strings.Contains(page, "Ana Lima") {
		t.Error("the customer is gone")
	}
	g.does("jump", url.Values{"length": {"2h"}})
	g.until("→ Ana Lima: “Hello again”")
	g.end()
	g.over()
	code, _, errOut := quando(t, "play", file, "--keep", kept, "--at", "2026-11-18 09:00")
	if code != cli.ExitError || !strings.Contains(errOut, "time does not go back") {
		t.Errorf("%d %s", code, errOut)
	}
}

// TestPlayExamples plays the examples where there are no rules of one's own, and says what cannot
// be played.
func TestPlayExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	g := startGame(t, "--at", "2026-11-13 20:00")
	g.writes("Ana Lima", "+5511955550001", "Oi")
	g.does("jump", url.Values{"length": {"1m"}})
	g.until("away-reply            → Ana Lima: “Olá, Ana Lima!")
	g.end()
	clitest.HasLines(t, g.over(), `  Rules      the examples .*`, `22 rules in use\.`, `The calendar office is closed, and opens on Saturday at 09:00\.`)
	for want, args := range map[string][]string{
		"nowhere":           {"nowhere"},
		"this machine only": {"--listen", "0.0.0.0:8081"},
		"is not a time":     {"--at", "soon"},
	} {
		if code, _, errOut := quando(t, append([]string{"play"}, args...)...); code != cli.ExitError || !strings.Contains(errOut, want) {
			t.Errorf("%v: %d %s", args, code, errOut)
		}
	}
}
