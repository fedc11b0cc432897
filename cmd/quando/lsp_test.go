package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// An lspClient speaks with quando lsp over its standard input and output.
type lspClient struct {
	t    testing.TB
	in   *io.PipeWriter
	got  chan lspMessage
	exit chan int
	errs *clitest.Buffer
	next int
}

type lspMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// startLSP starts quando lsp with arguments.
func startLSP(t testing.TB, args ...string) *lspClient {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	c := &lspClient{t: t, in: in, got: make(chan lspMessage, 4096), exit: make(chan int, 1), errs: &clitest.Buffer{}}
	go func() {
		c.exit <- run(t.Context(), append([]string{"lsp"}, args...), stdin, stdout, c.errs)
		stdout.Close()
		stdin.CloseWithError(io.ErrClosedPipe)
	}()
	go func() {
		defer close(c.got)
		r := bufio.NewReader(out)
		for {
			head, err := r.ReadString('\n')
			if err != nil {
				return
			}
			length, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "Content-Length:")))
			_, _ = r.ReadString('\n')
			body := make([]byte, length)
			if _, err := io.ReadFull(r, body); err != nil {
				return
			}
			var m lspMessage
			if err := json.Unmarshal(body, &m); err != nil {
				t.Errorf("%v: %s", err, body)
			}
			c.got <- m
		}
	}()
	t.Cleanup(func() { in.Close() })
	return c
}

// raw sends bytes as they are.
func (c *lspClient) raw(text string) { _, _ = io.WriteString(c.in, text) }

func (c *lspClient) frame(body string) {
	c.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (c *lspClient) notify(method string, params any) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.frame(string(body))
}

// ask sends a request and returns its answer. What is told meanwhile is dropped.
func (c *lspClient) ask(method string, params any) lspMessage {
	c.t.Helper()
	c.next++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.frame(string(body))
	return c.until(func(m lspMessage) bool { return m.Method == "" && string(m.ID) == strconv.Itoa(c.next) })
}

// until waits for a message.
func (c *lspClient) until(wanted func(lspMessage) bool) lspMessage {
	c.t.Helper()
	late := time.After(3 * time.Minute)
	for {
		select {
		case m, ok := <-c.got:
			if !ok {
				c.t.Fatalf("the server ended: %s", c.errs)
			}
			if wanted(m) {
				return m
			}
		case <-late:
			c.t.Fatal("nothing came within three minutes")
		}
	}
}

type lspProblems struct {
	URI         string
	Version     int
	Diagnostics []struct {
		Range struct {
			Start, End struct{ Line, Character int }
		}
		Severity int
		Message  string
	}
}

// problems waits for what is told of a version of a document.
func (c *lspClient) problems(version int, wanted func(lspProblems) bool) (p lspProblems) {
	c.t.Helper()
	c.until(func(m lspMessage) bool {
		p = lspProblems{}
		return m.Method == "textDocument/publishDiagnostics" && json.Unmarshal(m.Params, &p) == nil && p.Version == version && wanted(p)
	})
	return p
}

func (c *lspClient) initialize(encodings ...string) lspMessage {
	c.t.Helper()
	m := c.ask("initialize", map[string]any{"capabilities": map[string]any{"general": map[string]any{"positionEncodings": encodings}}})
	c.notify("initialized", map[string]any{})
	return m
}

func (c *lspClient) open(uri, text string) {
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
}

// change replaces from one place to another in the units that were agreed upon.
func (c *lspClient) change(uri string, version, line, from, to int, text string) {
	at := func(character int) map[string]int { return map[string]int{"line": line, "character": character} }
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": at(from), "end": at(to)}, "text": text}},
	})
}

func (c *lspClient) end() int {
	c.t.Helper()
	c.ask("shutdown", nil)
	c.frame(`{"jsonrpc":"2.0","method":"exit"}`)
	return <-c.exit
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

const lspRule = "rules:\n  - id: a\n    when: message.received\n    if: '\"🙂ã\" == mesage.text'\n    do: [{ log: x }]\n"

// TestLanguageServerLife shows what the protocol says of the order of messages, of exit codes, and
// that nothing an editor sends ends the server but what is no message at all.
func TestLanguageServerLife(t *testing.T) {
	t.Parallel()
	code := func(m lspMessage) int {
		if m.Error == nil {
			return 0
		}
		return m.Error.Code
	}
	first := func(lspMessage) bool { return true }
	t.Run("in order", func(t *testing.T) {
		t.Parallel()
		c := startLSP(t)
		if got := code(c.ask("textDocument/hover", map[string]any{})); got != -32002 {
			t.Errorf("a request before initialize: %d", got)
		}
		c.initialize()
		for _, tt := range []struct {
			name, body string
			want       int
		}{
			{"no JSON", `{"jsonrpc":`, -32700},
			{"no method", `{"jsonrpc":"2.0"}`, -32600},
			{"another version", `{"jsonrpc":"1.0","id":7,"method":"shutdown"}`, -32600},
			{"an unknown method", `{"jsonrpc":"2.0","id":8,"method":"textDocument/juggle","params":{}}`, -32601},
			{"wrong parameters", `{"jsonrpc":"2.0","id":9,"method":"textDocument/hover","params":[1]}`, -32602},
			{"a document that is not open", `{"jsonrpc":"2.0","id":10,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///x.yaml"}}}`, -32602},
			{"initialize again", `{"jsonrpc":"2.0","id":11,"method":"initialize","params":{}}`, -32600},
			{"an unknown command", `{"jsonrpc":"2.0","id":12,"method":"workspace/executeCommand","params":{"command":"rm","arguments":[]}}`, -32602},
		} {
			c.frame(tt.body)
			if got := code(c.until(first)); got != tt.want {
				t.Errorf("%s: %d, not %d", tt.name, got, tt.want)
			}
		}
		// Places that do not exist are ends of what does.
		c.open("file:///nowhere/a.yaml", lspRule)
		for _, place := range []map[string]int{{"line": -1, "character": -1}, {"line": 3, "character": 9999}, {"line": 9999, "character": 0}} {
			for _, method := range []string{"completion", "hover", "definition", "references"} {
				m := c.ask("textDocument/"+method, map[string]any{"textDocument": map[string]any{"uri": "file:///nowhere/a.yaml"}, "position": place})
				if m.Error != nil {
					t.Errorf("%s at %v: %+v", method, place, m.Error)
				}
			}
		}
		c.ask("shutdown", nil)
		if got := code(c.ask("textDocument/hover", map[string]any{})); got != -32600 {
			t.Errorf("a request after shutdown: %d", got)
		}
		c.frame(`{"jsonrpc":"2.0","method":"exit"}`)
		if got := <-c.exit; got != 0 {
			t.Errorf("it exits with %d: %s", got, c.errs)
		}
	})
	for _, tt := range []struct {
		name, sent string
		want       int
	}{
		{"exit without shutdown", `Content-Length: 33` + "\r\n\r\n" + `{"jsonrpc":"2.0","method":"exit"}`, 1},
		{"a frame that is too large", "Content-Length: 999999999\r\n\r\n", 2},
		{"a negative length", "Content-Length: -5\r\n\r\n", 2},
		{"no length", "Content-Type: x\r\n\r\n", 2},
		{"a header without an end", strings.Repeat("x", 100_000), 2},
		{"half a frame", "Content-Length: 100\r\n\r\n{}", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := startLSP(t)
			c.initialize()
			c.raw(tt.sent)
			c.in.Close()
			if got := <-c.exit; got != tt.want {
				t.Errorf("it exits with %d, not %d: %s", got, tt.want, c.errs)
			}
		})
	}
}

// TestLanguageServerEncodings shows that places count what was agreed upon, that changes come in
// both forms, and that problems are told in the language of the command.
func TestLanguageServerEncodings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		offered  []string
		agreed   string
		from, to int
	}{
		{nil, "utf-16", 18, 29},
		{[]string{"utf-16", "utf-8"}, "utf-8", 21, 32},
	} {
		t.Run(tt.agreed, func(t *testing.T) {
			t.Parallel()
			c := startLSP(t, "--lang", "pt")
			if m := c.initialize(tt.offered...); !bytes.Contains(m.Result, []byte(`"positionEncoding":"`+tt.agreed+`"`)) {
				t.Errorf("%s", m.Result)
			}
			uri := fileURI(filepath.Join(t.TempDir(), "a.yaml"))
			c.open(uri, strings.ReplaceAll(lspRule, "\n", "\r\n"))
			p := c.problems(1, func(p lspProblems) bool { return len(p.Diagnostics) > 0 })
			if d := p.Diagnostics[0]; d.Range.Start.Line != 3 || d.Range.Start.Character != tt.from || d.Range.End.Character != tt.to || !strings.Contains(d.Message, "você quis dizer") {
				t.Errorf("%+v", p)
			}
			c.change(uri, 2, 3, tt.from, tt.to, "message.text")
			c.problems(2, func(p lspProblems) bool { return len(p.Diagnostics) == 1 && p.Diagnostics[0].Severity == 2 }) // says would be better
			c.notify("textDocument/didChange", map[string]any{
				"textDocument": map[string]any{"uri": uri, "version": 3}, "contentChanges": []any{map[string]any{"text": "rules: ["}},
			})
			c.problems(3, func(p lspProblems) bool { return len(p.Diagnostics) == 1 && p.Diagnostics[0].Severity == 1 })
			c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
			c.problems(0, func(p lspProblems) bool { return len(p.Diagnostics) == 0 })
			if code := c.end(); code != 0 {
				t.Errorf("it exits with %d", code)
			}
		})
	}
}

// TestLanguageServerOpenFiles shows that what is open counts in place of what is on the disk, also
// for the problems of other files.
func TestLanguageServerOpenFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range lspProject {
		clitest.WriteFile(t, filepath.Join(dir, name), text)
	}
	c := startLSP(t)
	c.initialize()
	away, hours := fileURI(filepath.Join(dir, "rules/away.yaml")), fileURI(filepath.Join(dir, "rules/hours.yaml"))
	c.open(away, lspProject["rules/away.yaml"])
	c.problems(1, func(p lspProblems) bool { return p.URI == away && len(p.Diagnostics) == 0 })
	c.open(hours, strings.Replace(lspProject["rules/hours.yaml"], "office", "shop", 1))
	p := c.problems(1, func(p lspProblems) bool { return p.URI == away && len(p.Diagnostics) > 0 })
	if d := p.Diagnostics[0]; d.Range.Start.Line != 6 || !strings.Contains(d.Message, "office") {
		t.Errorf("%+v", p)
	}
	// A YAML file of something else is left alone.
	other := fileURI(filepath.Join(dir, "compose.yaml"))
	c.open(other, "services: { db: { image: postgres } }\n")
	c.problems(1, func(p lspProblems) bool { return p.URI == other && len(p.Diagnostics) == 0 })
	c.end()
}

// TestLanguageServerLenses shows that lenses are those of the text as it is, at once after a rule
// got another id.
func TestLanguageServerLenses(t *testing.T) {
	t.Parallel()
	c := startLSP(t)
	c.initialize()
	uri := fileURI(filepath.Join(t.TempDir(), "a.yaml"))
	c.open(uri, "rules:\n  - id: first\n    when: manual\n    do: [{ log: x }]\n")
	c.problems(1, func(lspProblems) bool { return true })
	lenses := func(want string) {
		t.Helper()
		answer := c.ask("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}})
		if got := string(answer.Result); strings.Count(got, `"quando.backtest"`) != 1 || !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("not the lens of %s: %s", want, got)
		}
	}
	lenses("first")
	c.change(uri, 2, 1, 8, 13, "second")
	lenses("second")
	c.end()
}

// largeRules is a file of 256 KiB without a problem, and the line of a rule in its middle.
func largeRules() (text string, line int) {
	var b strings.Builder
	b.WriteString("calendars:\n  office:\n    timezone: America/Sao_Paulo\n    open: { mon-fri: 09:00-18:00 }\nvars:\n  hello: Olá\nrules:\n")
	for n := 0; b.Len() < 255<<10; n++ {
		if line == 0 && b.Len() > 128<<10 {
			line = strings.Count(b.String(), "\n")
		}
		fmt.Fprintf(&b, "  - id: away-%d\n    when: message.received\n    if:\n      - closed(\"office\")\n      - attendance.status == \"open\" and conversation.assignee_name == \"Bia %d\"\n"+
			"      - message.text contains \"price %d\"\n    limit: { times: 1, per: 12h }\n    do:\n      - send_message: \"Hi {{ contact.name }}, {{ vars.hello }} we are closed %d\"\n"+
			"      - wait: 10m\n      - if: has_label(\"vip\")\n        add_labels: [late]\n", n, n, n, n)
	}
	return b.String(), line
}

// TestLanguageServerTyping types a wrong name into a large file, key by key without waiting, and
// sees the problem of the last text, in its place among those of the other rules.
func TestLanguageServerTyping(t *testing.T) {
	t.Parallel()
	text, line := largeRules()
	c := startLSP(t)
	c.initialize()
	uri := fileURI(filepath.Join(t.TempDir(), "large.yaml"))
	c.open(uri, text)
	c.problems(1, func(lspProblems) bool { return true })
	version := 1
	for i, key := range "wait_x" {
		version++
		c.change(uri, version, line+9, 8+i, 8+i, string(key))
	}
	p := c.problems(version, func(lspProblems) bool { return true })
	found := false
	for _, d := range p.Diagnostics {
		found = found || d.Range.Start.Line == line+9 && d.Range.Start.Character == 8 && strings.Contains(d.Message, `"wait_xwait"`)
	}
	if !found {
		t.Errorf("%+v", p)
	}
	c.end()
}

// largeTests is a file of 256 KiB with one rule and many tests of it, and the line of one in its
// middle.
func largeTests() (text string, line int) {
	var b strings.Builder
	b.WriteString("rules:\n  - id: away\n    when: message.received\n    limit: { times: 1, per: 12h }\n    do: [{ send_message: Hi }]\ntests:\n")
	for n := 0; b.Len() < 255<<10; n++ {
		if line == 0 && b.Len() > 128<<10 {
			line = strings.Count(b.String(), "\n")
		}
		fmt.Fprintf(&b, "  - name: story %d\n    rules: [away]\n    start: 2026-11-13T20:00:00-03:00\n    given:\n      contacts: [{ name: Marina, phone: \"+5511988887777\" }]\n"+
			"    steps:\n      - { customer: Marina, says: obrigada }\n      - { at: +10m, expect: [send_message] }\n", n)
	}
	return b.String(), line
}

// BenchmarkLanguageServer measures from a key in a file of 256 KiB to its problems: inside a rule,
// in the variables, which every rule reads, and in a test.
func BenchmarkLanguageServer(b *testing.B) {
	large, line := largeRules()
	tests, testLine := largeTests()
	for _, place := range []struct {
		name, text   string
		line, column int
	}{{"rule", large, line + 9, 8}, {"vars", large, 5, 9}, {"test", tests, testLine, 12}} {
		b.Run(place.name, func(b *testing.B) {
			c := startLSP(b)
			c.initialize()
			uri := fileURI(filepath.Join(b.TempDir(), "large.yaml"))
			c.open(uri, place.text)
			c.problems(1, func(lspProblems) bool { return true })
			version := 1
			var longest time.Duration
			for b.Loop() {
				version++
				began := time.Now()
				c.change(uri, version, place.line, place.column, place.column, "x")
				c.problems(version, func(lspProblems) bool { return true })
				longest = max(longest, time.Since(began))
			}
			b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
			c.end()
		})
	}
}
