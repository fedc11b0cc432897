//go:build cgo && linux

package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// BenchmarkRuns takes runs from the arrival of their event to their end as the engine does: it
// records the intent of a call before the call, and the result after it. It reports the CPU time of
// the whole process, and how many bytes it wrote.
func BenchmarkRuns(b *testing.B) {
	for calls := range 3 {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			j := fresh(b)
			var next atomic.Int64
			var group sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			processor, written, statements := cpuTime(b), bytesWritten(b), j.writer.statements.Load()
			for range 64 {
				group.Go(func() {
					for n := next.Add(1); n <= int64(b.N) && !b.Failed(); n = next.Add(1) {
						if err := oneRun(b, j, n, calls); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(cpuTime(b)-processor)/float64(time.Microsecond)/float64(b.N), "cpu-us/op")
			b.ReportMetric(float64(bytesWritten(b)-written)/1024/float64(b.N), "KiB-written/op")
			b.ReportMetric(float64(j.writer.statements.Load()-statements)/float64(b.N), "statements/op")
		})
	}
}

// oneRun takes an event, and the run that it starts, to its end.
func oneRun(b *testing.B, j *Journal, n int64, calls int) error {
	conversation := fmt.Sprintf("0192f3a4-0000-7000-9000-%012x", n%10_000)
	name, now := "conversation:"+conversation, time.Now()
	lane := j.Open("default", name)
	if lane == nil {
		return nil // the lane is claimed
	}
	e := &journal.Event{Decided: true, Event: rules.Event{
		Workspace: "default", ID: fmt.Sprintf("0192f3a4-0000-7000-8000-%012x", n), Type: "message.received", Tenant: "7c65bdd8-1890-4c53-9bf6-ab1f2857706e", Lane: name, CreatedAt: now, ReceivedAt: now,
		Text: strings.Repeat(`{"message":"Good morning, is my order on its way?"}`, 25),
	}}
	e.Verdicts = []journal.Verdict{{Rule: "answer", Outcome: journal.False}}
	c := &journal.Change{At: now, Fresh: e, Decided: []*journal.Event{e}, Release: calls == 0}
	if calls == 0 {
		return j.Save(b.Context(), lane, c)
	}
	e.Verdicts[0] = journal.Verdict{Rule: "answer", Outcome: journal.Fired, Version: "7f63753c2f4b4f5f1b3adba5adfa9311"}
	r := &journal.Run{
		Key: "default/answer/" + e.ID, Workspace: "default", Rule: "answer", Version: "7f63753c2f4b4f5f1b3adba5adfa9311", Home: name, Lane: name, By: name, State: journal.Running, Stage: rules.Live, StartedAt: now,
		WakeAt: now, About: actions.Subject{Conversation: conversation, Contact: "44ebb9f6-0c55-4533-aab2-c62244ad9e1e"},
	}
	c.Starts = []*journal.Start{{Run: r, Verdict: &e.Verdicts[0], Source: "the rule's source"}}
	for i := range calls {
		s := &journal.Step{N: i, Path: fmt.Sprint(i + 1), Verb: "send_message", Key: fmt.Sprint(r.Key, "/", i+1), State: journal.StepOpen, Attempts: 1, Record: json.RawMessage(`{"sent":"` + strings.Repeat("x", 450) + `"}`)}
		r.Steps = append(r.Steps, s)
		c.Take = []journal.Slot{{Key: "messages/" + name, Times: 1000, Per: 10 * time.Minute}, {Key: "messages", Times: 1 << 30, Per: time.Hour}}
		if i > 0 {
			c.Runs[0].Steps = append(c.Runs[0].Steps, s)
		}
		if err := j.Save(b.Context(), lane, c); err != nil {
			return err
		}
		s.State, s.Record = journal.StepDone, json.RawMessage(`{"received":"`+strings.Repeat("y", 1350)+`"}`)
		sent := fmt.Sprintf("d520e0fc-7f18-8dfc-ac92-%06x%06x", n, i)
		c = &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: r, Steps: []*journal.Step{s}, Effects: 1}}, Caused: []journal.Caused{
			{Workspace: "default", Lane: name, Event: "message.sent", Object: sent, Set: json.RawMessage(`{"client_id":"` + sent + `"}`), Run: r.ID, Rule: "answer", From: now, To: now},
			{Workspace: "default", Lane: name, Event: "conversation.updated", Object: conversation, Set: json.RawMessage(`{"last_message":{"id":"` + sent + `"}}`), Run: r.ID, Rule: "answer", From: now, To: now},
		}}
	}
	r.State, r.WakeAt, r.FinishedAt = journal.Done, time.Time{}, time.Now()
	c.Release = true
	return j.Save(b.Context(), lane, c)
}

// cpuTime is the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bytesWritten is how many bytes the process has written.
func bytesWritten(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(regexp.MustCompile(`wchar: (\d+)`).FindStringSubmatch(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
