package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service/sandbox"
)

// quando runs a command line and returns what it printed.
func quando(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestCheckOnline(t *testing.T) {
	s, err := sandbox.New(sandbox.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("QUANDO_SERVICE_BASE_URL", address.BaseURL)
	t.Setenv("QUANDO_SERVICE_API_KEY", address.APIKey)
	config, file := filepath.Join(dir, "quando.yaml"), filepath.Join(dir, "rules.yaml")
	clitest.WriteFile(t, file, `rules:
  - id: r
    when: attendance.opened
    do:
      - add_labels: [vip, vpi]
      - transfer: { person: Carla, sector: Suport }
      - find_card: { board: Sales, q: x }
      - move_card: { to: Proposl, only_from: Lead, board: Sales }
      - move_card: Won
      - move_card: Wonn
      - send_message: { text: x, to: { phone: "+5511", channel: Mian } }
      - transfer: { person: 9bb89aa4-3445-423e-8bbc-4378a752897e }
`)
	code, out, errOut := quando(t, "check", "--online", "--config", config, file)
	if code != cli.ExitNo {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	for _, want := range []string{
		`:5:27: rule "r": the service has no label "vpi" (did you mean "vip"?)`,
		`:6:44: rule "r": the service has no sector "Suport" (did you mean "Support"?)`,
		`:8:26: rule "r": the service has no stage "Proposl" (did you mean "Proposal"?)`,
		`:10:20: rule "r": the service has no stage "Wonn" (did you mean "Won"?)`,
		`:11:65: rule "r": the service has no channel "Mian" (did you mean "Main"?)`,
		`5 errors`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing: %s\nin:\n%s", want, out)
		}
	}

	// A key that lacks a scope which the rules need.
	key, err := s.NewKey(sandbox.NewKey{Scopes: []string{"conversations:read", "contacts:read"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUANDO_SERVICE_API_KEY", key.APIKey)
	clitest.WriteFile(t, file, "rules:\n  - { id: r, when: attendance.opened, do: [{ add_labels: [vip] }] }\n")
	code, out, _ = quando(t, "check", "--online", "--config", config, file)
	if code != cli.ExitNo || !strings.Contains(out, "lacks the scope conversations:write") {
		t.Errorf("%d %s", code, out)
	}

	// A service that refuses the key is no answer about the rules.
	t.Setenv("QUANDO_SERVICE_API_KEY", "qsk_wrong")
	code, _, errOut = quando(t, "check", "--online", "--config", config, file)
	if code != cli.ExitError || !strings.Contains(errOut, "check api_key") || strings.Contains(errOut, "qsk_wrong") {
		t.Errorf("%d %s", code, errOut)
	}
}

func TestSandboxCommand(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan int)
	var errOut bytes.Buffer
	go func() {
		done <- run(ctx, []string{"sandbox", "--listen", "127.0.0.1:0"}, nil, write, &errOut)
	}()
	var address sandbox.Address
	if err := json.NewDecoder(read).Decode(&address); err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) map[string]any {
		res, err := http.Post(address.ControlURL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var out map[string]any
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v %v", path, res.Status, out, err)
		}
		return out
	}
	if ids := post("/customers/message", `{"phone":"+5511988887777","name":"Ana","text":"hello"}`); ids["conversation"] == nil || ids["attendance"] == nil {
		t.Errorf("%v", ids)
	}
	if at := post("/clock", `{"set":"2030-11-13T17:50:00-03:00"}`); !strings.HasPrefix(at["now"].(string), "2030-11-13T20:50:0") {
		t.Errorf("%v", at)
	}
	stop()
	select {
	case code := <-done:
		if code != 0 || errOut.Len() > 0 {
			t.Errorf("%d %s", code, errOut.String())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not stop")
	}
}

func TestSandboxStaysOnThisMachine(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "nonsense"} {
		if code, _, errOut := quando(t, "sandbox", "--listen", listen); code != cli.ExitError || !strings.Contains(errOut, "this machine only") {
			t.Errorf("%s: %d %s", listen, code, errOut)
		}
	}
}
