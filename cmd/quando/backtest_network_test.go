package main

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

const weekendRules = `
rules:
  - id: away-reply
    when: message.received
    limit: { times: 1, per: 12h }
    do: [{ send_message: "Olá {{ contact.name }}!" }, { add_labels: [after-hours] }]
`

// lookBack lists command lines that let rules decide again: as they were, changed, with a name and
// an answer that nobody has written down, and two sets.
var lookBack = [][]string{
	{"backtest", "--since", "2d"},
	{"backtest", "new", "--since", "2d"},
	{"backtest", "curious", "--since", "2d", "--output", "json"},
	{"diff", "rules", "curious", "--since", "2d"},
}

// weekendAt leaves the journal of a weekend, and rules to try on it, in the working directory. The
// configured service is at an address.
func weekendAt(t *testing.T, address string) {
	t.Helper()
	t.Chdir(t.TempDir())
	curious := strings.Replace(weekendRules, "    limit:", "    if: [not has_label(\"nobody knows it\"), 'customer_waiting() < duration(\"1h\")', 'contact.city != \"x\"']\n    limit:", 1)
	writeFiles(t, map[string]string{
		"quando.yaml":       "timezone: America/Sao_Paulo\nservice: { base_url: \"http://" + address + "/v1\", api_key: k }\n",
		"rules/desk.yaml":   weekendRules,
		"new/desk.yaml":     strings.Replace(weekendRules, "Olá", "Oi", 1),
		"curious/desk.yaml": curious,
	})
	if err := recordWeekend(t.Context(), "quando.db", weekendRules); err != nil {
		t.Fatal(err)
	}
}

// TestBacktestCallsNobody puts somebody who counts callers at the configured service's address.
func TestBacktestCallsNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var callers atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			callers.Add(1)
			_ = c.Close()
		}
	}()
	address := listener.Addr().String()
	weekendAt(t, address)
	cli.Now = func() time.Time { return time.Date(2026, 11, 14, 14, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { cli.Now = time.Now })
	for _, args := range lookBack {
		if code, out, errOut := quando(t, args...); code != 0 || !strings.Contains(out, "away-reply") {
			t.Errorf("%v: %d\n%s%s", args, code, out, errOut)
		}
	}
	// Whoever came is counted before this one is, and this one before it is turned away.
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("somebody answers")
	}
	if n := callers.Load(); n != 1 {
		t.Errorf("it was called %d times", n-1)
	}
	// Who asks the service is noticed.
	if code, _, _ := quando(t, "check", "--online", "rules"); code == 0 || callers.Load() < 2 {
		t.Errorf("a check at the service: %d, %d callers", code, callers.Load()-1)
	}
}
