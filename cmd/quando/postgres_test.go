package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// TestRunShared lets two engines share a journal in PostgreSQL: every customer has one answer, and
// commands see what both did.
func TestRunShared(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	other := &office{t: t, sandbox: o.sandbox, address: o.address, secret: o.secret, folder: t.TempDir()}
	t.Cleanup(func() {
		if other.end != nil {
			other.stop()
		}
	})
	journal := fmt.Sprintf("\njournal: %q", postgrestest.Shared(t).Database(t))
	for _, of := range []*office{o, other} {
		of.write("rules/r.yaml", "rules:\n  - { id: hello, when: message.received, do: [{ send_message: Hello }] }\n")
		of.start(o.service() + journal)
	}
	for i := range 20 {
		o.mu.Lock()
		o.target = []string{o.public, other.public}[i%2] + "/webhook"
		o.mu.Unlock()
		o.writes(fmt.Sprintf("+55119888800%02d", i), "good morning")
	}
	config := o.config(o.service() + journal)
	clitest.Eventually(t, func() (bool, string) {
		_, out, errOut := quando(t, "runs", "--config", config, "--state", "done")
		return strings.Count(out, "send_message") == 20, out + errOut
	})
	answers := 0
	for _, e := range o.sandbox.Effects() {
		if strings.Contains(string(e.Request), "Hello") {
			answers++
		}
	}
	if answers != 20 {
		t.Errorf("%d answers to 20 customers", answers)
	}

	// What a command stops is stopped for both.
	if code, _, errOut := quando(t, "pause", "--config", config, "--rule", "hello"); code != 0 {
		t.Fatal(errOut)
	}
	for _, of := range []*office{o, other} {
		of.shows(`quando_held{kind="person",rule="hello",workspace="default"} 1`)
	}
	for _, of := range []*office{o, other} {
		if code := of.stop(); code != 0 {
			t.Errorf("it ended with %d\n%s", code, of.log)
		}
	}
}

var sinceWhen = regexp.MustCompile(`since \S+ \S+, \S+ ago`)

// TestJournalInPostgres looks into the journal of the scripts as it is in a database: what the
// commands show is the same as from a file.
func TestJournalInPostgres(t *testing.T) {
	address, file := postgrestest.Shared(t).Database(t), t.TempDir()+"/quando.db"
	for _, where := range []string{address, file} {
		if err := fillJournal(context.Background(), where); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"events"}, {"events", "--rule", "vip-routing"}, {"events", "--conversation", "0192f3a4-0000-7000-8000-00000000000a", "--output", "json"}, {"runs", "--output", "json"}, {"runs", "show", "1"},
		{"runs", "show", "6"}, {"runs", "retry", "3", "--wait", "0"}, {"runs", "show", "3"}, {"pause", "--workspace", "acme"}, {"resume", "--workspace", "acme"},
	} {
		wantCode, want, wantErr := quando(t, append(args, "--journal", file)...)
		code, out, errOut := quando(t, append(args, "--journal", address)...)
		if code != wantCode || sinceWhen.ReplaceAllString(out, "") != sinceWhen.ReplaceAllString(want, "") || errOut != wantErr {
			t.Errorf("%v: %d\n%s%s\nfrom a file: %d\n%s%s", args, code, out, errOut, wantCode, want, wantErr)
		}
	}
}
