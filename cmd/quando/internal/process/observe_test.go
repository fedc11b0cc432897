package process

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// newObservers returns the observers of quando run.
func newObservers(t testing.TB, log io.Writer, level slog.Level) observers {
	j, err := storage.Open(t.Context(), filepath.Join(t.TempDir(), "quando.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	c, err := console.New(console.Options{Journal: j, Access: console.Access{Listen: "127.0.0.1:8081"}, Workspaces: []console.Workspace{{Name: "acme"}}})
	if err != nil {
		t.Fatal(err)
	}
	return observers{newMetrics(j, "", time.Now), runLog{slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))}, c}
}

// observedRun is what observers are notified of: an event, and its run.
type observedRun struct {
	event journal.Event
	run   journal.Run
	step  journal.Step
}

func newWitnessed() *observedRun {
	at := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	d := &observedRun{
		event: journal.Event{
			Event:    rules.Event{Workspace: "acme", ID: "0192f3a4-0000-7000-8000-000000000001", ReceivedAt: at},
			Verdicts: []journal.Verdict{{Rule: "answer", Outcome: journal.Fired}},
		},
		run: journal.Run{
			ID: 7, Workspace: "acme", Rule: "answer", Stage: rules.Live, StartedAt: at, FinishedAt: at.Add(3 * time.Millisecond),
			Home: "conversation:0192f3a4-0000-7000-9000-000000000001",
		},
		step: journal.Step{Path: "do[0]", Verb: "send_message"},
	}
	d.run.Steps = []*journal.Step{&d.step}
	return d
}

// tell notifies observers of a run with one call, as an engine does.
func (d *observedRun) tell(o observers) {
	d.run.State, d.step.State = journal.Running, journal.StepOpen
	o.Decided(&d.event)
	o.Began(&d.run, &d.event)
	o.Changed(&d.run)
	o.Called("acme", "send_message", 2*time.Millisecond, nil)
	d.run.State, d.step.State = journal.Done, journal.StepDone
	o.Changed(&d.run)
}

// BenchmarkObservers measures the notifications of a run with one call, without writing the log.
func BenchmarkObservers(b *testing.B) {
	o := newObservers(b, io.Discard, slog.LevelInfo)
	d := newWitnessed()
	b.ReportAllocs()
	for b.Loop() {
		d.tell(o)
	}
}

// TestAllocationsOfObservers bounds the cost of a run's notifications.
func TestAllocationsOfObservers(t *testing.T) {
	o := newObservers(t, io.Discard, slog.LevelInfo)
	d := newWitnessed()
	const most = 4
	if got := testing.AllocsPerRun(100, func() { d.tell(o) }); got > most {
		t.Errorf("%.0f allocations, at most %d are allowed: compare with BenchmarkObservers and -memprofile before raising that", got, most)
	}
}

// TestLogOfRuns reads what is written of a run that is done, and of one that is not.
func TestLogOfRuns(t *testing.T) {
	var log strings.Builder
	o := newObservers(t, &log, slog.LevelDebug)
	newWitnessed().tell(o)
	failed := &journal.Run{
		ID: 8, Workspace: "acme", Rule: "answer", Stage: rules.Live, State: journal.FailedRun, Home: "phone:88887777",
		Steps: []*journal.Step{{Path: "do[0]", Verb: "send_message", State: journal.StepFailed}},
	}
	o.Changed(failed)
	failed.State, failed.Steps[0].State = journal.Uncertain, journal.StepUncertain
	o.Changed(failed)
	failed.State = journal.Waiting
	o.Changed(failed)
	var got strings.Builder
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, " ") // the time
		fmt.Fprint(&got, line)
	}
	want := `level=DEBUG msg="run began" workspace=acme rule=answer run=7 lane=conversation:0192f3a4-0000-7000-9000-000000000001 stage=live event=0192f3a4-0000-7000-8000-000000000001
level=INFO msg="run finished" workspace=acme rule=answer run=7 lane=conversation:0192f3a4-0000-7000-9000-000000000001 state=done stage=live steps=1 took=3ms
level=ERROR msg="run failed" workspace=acme rule=answer run=8 lane=phone:… state=failed stage=live steps=1 step=do[0] verb=send_message
level=ERROR msg="run uncertain: a person must say what became of a call, with quando runs resolve" workspace=acme rule=answer run=8 lane=phone:… state=uncertain stage=live steps=1 step=do[0] verb=send_message
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
