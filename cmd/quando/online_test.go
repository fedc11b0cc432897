package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// golden compares got with a file, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		clitest.WriteFile(t, name, got)
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

// TestCheckOnline shows the problem of each name that the service does not know, wherever in a rule
// it stands.
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
  - id: conditions
    when: message.received
    if:
      - has_label("vipp") or contact_has_label("vip")
      - contact_has_label("vpi")
      - conversation.sector_name == "Suport" or conversation.sector_name in ["Support", "sales"]
      - conversation.assignee_name != "Karla"
      - conversation.channel_name == "Mian"
      - '"vipp" in contact.labels'
      - event.data.sector_name == "Nowhere"
    do:
      - log: "{{ has_label('hott') ? 'hot' : 'cold' }}"
  - id: cards
    when: kanban.card.moved
    if: card.board_name == "Sale" or card.stage_name == "Wonn" or card.from_stage_name == "Lead"
    do:
      - log: moved
  - id: people
    when: attendance.opened
    if: attendance.sector_name != "Carla" and attendance.assignee_name != "Support"
    do:
      - transfer: Carla
      - transfer: { person: Support }
      - set_sector: Carla
      - list_attendances: { sector: Carla }
      - list_conversations: { assignee: Support }
`)
	clitest.WriteFile(t, config, "timezone: America/Sao_Paulo\n")
	code, out, errOut := quando(t, "check", "--online", "--config", config, file)
	if code != cli.ExitNo {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	golden(t, "testdata/online.golden", strings.ReplaceAll(out, dir+string(filepath.Separator), ""))

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
		done <- run(ctx, []string{"sandbox", "--listen", "127.0.0.1:0", "--json"}, nil, write, &errOut)
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
	case <-time.After(time.Minute):
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
