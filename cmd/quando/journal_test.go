package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// journalCommand lets a script make a journal that has a little of everything: journal FILE.
func journalCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: journal file")
	}
	ts.Check(fillJournal(context.Background(), ts.MkAbs(args[0])))
}

// holdCommand lets a script stop something as the engine would: hold FILE KIND WORKSPACE RULE
// REASON.
func holdCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: hold file kind workspace rule reason")
	}
	j, err := storage.Open(context.Background(), ts.MkAbs(args[0]), true)
	ts.Check(err)
	reason, err := strconv.Unquote(`"` + args[4] + `"`)
	ts.Check(err)
	at := time.Date(2026, 11, 14, 8, 0, 0, 0, time.UTC)
	h := journal.Hold{Kind: journal.HoldKind(args[1]), Workspace: args[2], Rule: args[3], Reason: reason, Since: at}
	if h.Kind == journal.HoldRate {
		h.Until = at.Add(time.Hour + 30*time.Second)
	}
	_, err = j.Hold(context.Background(), h)
	ts.Check(err)
	ts.Check(j.Close())
}

// A story is an event with what came of it.
type story struct {
	event    rules.Event
	verdicts []journal.Verdict // nil leaves it undecided
	run      *journal.Run      // of the first verdict; nil is none. Its state is where it ends up
}

const (
	ana   = "conversation:0192f3a4-0000-7000-8000-00000000000a"
	bruno = "conversation:0192f3a4-0000-7000-8000-00000000000b"
)

// evil is what a customer writes who wants to take over a terminal.
const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202eevil\r\nRUN 99"

// stories are what the journal of the scripts holds. Run numbers follow their order.
func stories() []story {
	at := time.Date(2026, 11, 13, 20, 50, 0, 0, time.UTC)
	event := func(n int, typ, lane string) rules.Event {
		t := at.Add(time.Duration(n) * time.Minute)
		return rules.Event{Workspace: "default", ID: fmt.Sprintf("0192f3a4-1111-7000-8000-%012d", n), Type: typ, Lane: lane, CreatedAt: t, ReceivedAt: t.Add(time.Second), Data: map[string]any{}}
	}
	fired := func(rule string) journal.Verdict { return journal.Verdict{Rule: rule, Outcome: journal.Fired} }
	run := func(state journal.State, steps ...*journal.Step) *journal.Run {
		return &journal.Run{State: state, Stage: rules.Live, Steps: steps}
	}
	step := func(path, verb string, state journal.StepState, record string) *journal.Step {
		return &journal.Step{Path: path, Verb: verb, State: state, Attempts: 1, Record: json.RawMessage(record)}
	}

	reply := run(journal.Done,
		step("1", "send_message", journal.StepDone, `{"at":"2026-11-13T20:51:01Z","ended":"2026-11-13T20:51:02Z","allowed":true,`+
			`"receipts":[{"call":"send","answer":{"id":"m-1","text":"Hello Ana!\nWe are closed.","media_id":null,"by":"engine"},"caused":[{"event":"message.sent"}]}],"value":{"id":"m-1"}}`),
		step("2", "set", journal.StepDone, `{"at":"2026-11-13T20:51:02Z","value":{"tries":{"$int":2},"next":{"$time":"2026-11-16T08:00:00-03:00","zone":"America/Sao_Paulo"}}}`),
		step("3", "add_labels", journal.StepDone, `{"receipts":[{"call":"patch","answer":{"label_ids":["after-hours"]}}]}`))
	reply.About = actions.Subject{Conversation: "0192f3a4-0000-7000-8000-00000000000a", Message: "m-0"}

	waiting := run(journal.Waiting, step("1", "wait", journal.StepWaiting, `"not an object"`))
	waiting.WakeAt = time.Date(2126, 11, 18, 12, 0, 0, 0, time.UTC)

	failed := run(journal.FailedRun, step("1", "move_card", journal.StepFailed, `{"intent":{"call":"move","request":{"card":"17","stage":"Follow-up","version":4}}}`))
	failed.Steps[0].Error, failed.Steps[0].Attempts = "404 not_found: there is no such card", 3
	failed.Reason, failed.Ancestry = "move_card failed", []string{"sla-escalation", "away-reply"}

	uncertain := run(journal.Uncertain, step("1", "http_request", journal.StepUncertain, `{"intent":{"request":{"method":"POST","url":"https://hooks.example.com/x"}}}`))
	uncertain.Steps[0].Error = "the connection broke"

	shadow := run(journal.Done, step("1", "send_message", journal.StepWould, `{"intent":{"request":{"message":{"text":"Hi"}}}}`))
	shadow.Stage, shadow.Lane = rules.Shadow, "phone:88887777" // its last step was to take place there

	hostile := run(journal.FailedRun, step("1", "send_message", journal.StepFailed, ""))
	hostile.Steps[0].Error = "400 invalid_request: " + evil
	text, _ := json.Marshal(evil)
	hostile.Steps[0].Record = json.RawMessage(`{"intent":{"request":{"message":{"text":` + string(text) + `}}}}`)

	acme := event(8, "attendance.opened", "attendance:7")
	acme.Workspace = "acme"
	hostileEvent := event(6, "message.received", bruno)
	hostileEvent.Data["message"] = map[string]any{"text": evil}
	hostileEvent.Data["contact"] = map[string]any{"id": "c-b", "name": "Bruno Reis"}
	opened := event(2, "attendance.opened", ana)
	opened.Data["attendance"] = map[string]any{"id": "a-1", "protocol": "ATD-000042"}
	opened.Data["contact"] = map[string]any{"id": "c-a", "name": "Ana Lima", "phone": "+5511988887777"}
	return []story{
		{event(1, "message.received", ana), []journal.Verdict{
			fired("away-reply"),
			{Rule: "vip-routing", Outcome: journal.False, Clause: `conversation.kind == "direct"`, Values: map[string]any{"conversation.kind": "group"}},
		}, reply},
		{opened, []journal.Verdict{fired("sla-escalation")}, waiting},
		{event(3, "kanban.card.moved", "card:17"), []journal.Verdict{fired("card-after-close")}, failed},
		{event(4, "attendance.closed", bruno), []journal.Verdict{fired("tell-erp")}, uncertain},
		{event(5, "message.received", bruno), []journal.Verdict{{Rule: "satisfaction", Outcome: journal.Fired, Stage: rules.Shadow}}, shadow},
		{hostileEvent, []journal.Verdict{fired("blocked-words"), {Rule: "vip-routing", Outcome: journal.Failed, Clause: `contact.name == "` + evil + `"`, Error: evil}}, hostile},
		{event(7, "message.sent", ana), []journal.Verdict{}, nil},
		{acme, []journal.Verdict{{Rule: "away-reply", Outcome: journal.Limited, Error: "1 in 12h"}}, nil},
		{event(9, "conversation.updated", ana), nil, nil},
	}
}

// fillJournal makes a journal through the journal's own methods, as an engine would.
func fillJournal(ctx context.Context, file string) error {
	j, err := storage.Open(ctx, file, false)
	if err != nil {
		return err
	}
	for _, s := range stories() {
		if err := s.tell(ctx, j); err != nil {
			return err
		}
	}
	for more := true; more; { // as an engine does beside its work, so that customers are found by name
		if more, err = j.Follow(ctx); err != nil {
			return err
		}
	}
	return j.Close()
}

func (s *story) tell(ctx context.Context, j journal.Journal) error {
	if _, err := j.Accept(ctx, []rules.Event{s.event}); err != nil || s.verdicts == nil {
		return err
	}
	at := s.event.ReceivedAt
	lanes, err := j.Claim(ctx, at, 10, nil)
	if err != nil || len(lanes) != 1 || len(lanes[0].Events) != 1 {
		return fmt.Errorf("claimed %d lanes: %w", len(lanes), err)
	}
	e := lanes[0].Events[0]
	e.Decided, e.Verdicts = true, s.verdicts
	first := &journal.Change{At: at, Decided: []*journal.Event{e}}
	if s.run == nil {
		first.Release = true
		return j.Save(ctx, lanes[0], first)
	}
	state, steps, last := s.run.State, s.run.Steps, cmp.Or(s.run.Lane, s.event.Lane)
	*s.run = journal.Run{
		Key: "default/" + s.verdicts[0].Rule + "/" + s.event.ID, Workspace: s.event.Workspace, Rule: s.verdicts[0].Rule, Version: "v1", Event: e.Seq,
		Home: s.event.Lane, Lane: s.event.Lane, By: s.event.Lane, State: journal.Running, Stage: s.run.Stage, Ancestry: s.run.Ancestry, About: s.run.About,
		StartedAt: at, WakeAt: s.run.WakeAt, Reason: s.run.Reason,
	}
	for n, one := range steps {
		one.N, one.Key = n, s.run.Key+"/"+one.Path
	}
	e.Verdicts[0].Run = s.run.Key
	first.Starts = []*journal.Start{{Run: s.run, Mode: rules.Parallel, Max: 100, Source: "rules: []\n", Verdict: &e.Verdicts[0]}}
	if err := j.Save(ctx, lanes[0], first); err != nil {
		return err
	}
	s.run.State, s.run.Steps, s.run.Lane = state, steps, last
	if state.Finished() {
		s.run.FinishedAt = at.Add(2 * time.Second)
	}
	return j.Save(ctx, lanes[0], &journal.Change{At: at, Runs: []*journal.RunChange{{Run: s.run, Steps: steps}}, Release: true, Next: s.run.WakeAt})
}
