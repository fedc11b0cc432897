package actions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

// TestMarksAreKeptThroughWrapping shows that an error may have several marks at once, and keeps
// them when it is wrapped.
func TestMarksAreKeptThroughWrapping(t *testing.T) {
	cause := errors.New("service unavailable")
	err := fmt.Errorf("step 2: %w", actions.Later(time.Minute, fmt.Errorf("send: %w", actions.Uncertain(cause))))
	if !actions.IsUncertain(err) || actions.StepWait(err) != time.Minute || actions.Wait(err) != 0 || actions.IsPermanent(err) || actions.IsStale(err) || actions.IsHeld(err) {
		t.Errorf("the marks of %v are lost or wrong", err)
	}
	if !errors.Is(err, cause) || err.Error() != "step 2: send: service unavailable" {
		t.Errorf("the error reads %q", err)
	}
	if actions.IsMarked(cause) || actions.IsMarked(nil) {
		t.Error("an error of nobody's has marks")
	}
	if err := actions.RetryAfter(30*time.Second, cause); actions.Wait(err) != 30*time.Second || actions.IsUncertain(err) {
		t.Errorf("the marks of a pause are %v", err)
	}
}

func TestReceiptIsTheNewest(t *testing.T) {
	s := actions.Step{Receipts: []actions.Receipt{{Call: "a", Answer: json.RawMessage("1")}, {Call: "b"}, {Call: "a", Answer: json.RawMessage("2")}}}
	if r, ok := s.Receipt("a"); !ok || string(r.Answer) != "2" {
		t.Errorf("got %s", r.Answer)
	}
	if _, ok := s.Receipt("c"); ok {
		t.Error("there is no such receipt")
	}
}

func TestPhoneLaneIsTheSameForEveryForm(t *testing.T) {
	for _, phone := range []string{"+55 (11) 98888-7777", "5511988887777", "551188887777", "011 98888 7777"} {
		if got := actions.PhoneLane(phone); got != "phone:88887777" {
			t.Errorf("%s: %s", phone, got)
		}
	}
}

// TestLaneOfASubject shows that the lane is that of the widest object known, so that everything
// about one conversation happens in order.
func TestLaneOfASubject(t *testing.T) {
	about := actions.Subject{Conversation: "c", Card: "k", Attendance: "a", Contact: "p", Message: "m"}
	for _, step := range []struct {
		want   string
		forget *string
	}{{"conversation:c", &about.Conversation}, {"card:k", &about.Card}, {"attendance:a", &about.Attendance}, {"contact:p", &about.Contact}, {"", &about.Message}} {
		if got := about.Lane(); got != step.want {
			t.Errorf("%+v: %q, want %q", about, got, step.want)
		}
		*step.forget = ""
	}
}

func TestTyped(t *testing.T) {
	got, err := actions.Typed(rules.ListOf(rules.AssignmentType), json.RawMessage(`[{"at":"2026-11-13T20:50:00Z","person":"x","gone":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{
		"action": nil, "person": "x", "sector": nil, "reason": nil, "at": time.Date(2026, 11, 13, 20, 50, 0, 0, time.UTC),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, recorded := range []string{`{"at":"yesterday"}`, `{`} {
		if _, err := actions.Typed(rules.AssignmentType, json.RawMessage(recorded)); err == nil {
			t.Errorf("%s was read", recorded)
		}
	}
	if v, err := actions.Typed(rules.CardType, nil); v != nil || err != nil {
		t.Errorf("nothing recorded: %v, %v", v, err)
	}
}
