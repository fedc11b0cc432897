package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Every made-up rule set is one that the language takes, and together they use all of it.
func TestYAML(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes up many desks")
	}
	const seeds = 400
	kinds, verbs, whens, keys := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	note := func(key string, used bool) {
		if used {
			keys[key]++
		}
	}
	for seed := range uint64(seeds) {
		s := Generate(seed)
		if err := s.Compiles(); err != nil {
			t.Fatalf("seed %d: %v in\n%s\n%s", seed, err, s.YAML(s.Rules), s.YAML(s.Other))
		}
		everyCond(s.Rules, func(c *Cond) { kinds[c.Kind]++; note("not", c.Not) })
		everyStep(s.Rules, func(s *Step) {
			verbs[s.Verb]++
			note("if of a step", s.If != nil)
			note("on_error: continue", s.Continue)
			note("retry", s.Retry > 0)
			note("to", s.To != "")
			note("of office", s.Calendar != "")
			note("until", s.Until != "")
			note("claim", s.Claims)
			note("claim: false", s.Verb == "wait_for" && !s.Claims)
			note("a wait in for_each", s.Verb == "for_each" && slices.ContainsFunc(s.Do, func(s Step) bool { return s.Verb == "wait" }))
		})
		for _, r := range s.Rules {
			for _, e := range r.When.Events {
				whens[e]++
			}
			note("manual", r.When.Manual)
			note("every", r.When.Every > 0)
			note("at", r.When.At != "")
			note("each "+r.When.Each, r.When.Each != "")
			note("stage "+r.Stage, r.Stage != "")
			note("mode "+r.Mode, r.Mode != "")
			note("by "+r.By, r.By != "")
			note("sample", r.Sample > 0)
			note("a share", r.Split != "" && r.Sample > 0)
			note("the rest", r.Split != "" && r.Sample == 0)
			note("from", r.FromAny)
			note("claimed: run", r.Claimed)
			note("gather", r.Gather != nil)
			note("limit", r.Limit != nil)
			note("skip_after", r.Late.SkipAfter != 0)
			note("run "+r.Late.Run, r.Late.Run != "")
			note("max", r.Max > 0)
			note("cancel_on", len(r.CancelOn) > 0)
			note("on_error", len(r.OnError) > 0)
		}
	}
	everyOf := func(what string, seen map[string]int, want ...string) {
		for _, w := range want {
			if seen[w] == 0 {
				t.Errorf("%s: no rule has %q", what, w)
			}
		}
	}
	everyOf("conditions", kinds, CondAny, CondAll, CondSays, CondTextIs, CondByTeam, CondTypeIs, CondOpen, CondHasLabel, CondHumanActive, CondWaiting,
		CondAttendanceOpen, CondAnswered, CondAssigned, CondSector, CondCount, CondStage, CondBusiness, CondNoAnswer, CondAnswerIs, CondMany)
	everyOf("verbs", verbs, strings.Fields(`send_message transfer set_sector add_labels remove_labels set_labels update_conversation mark_read close_attendance
		open_conversation create_card find_card move_card update_card read_conversation read_attendance read_messages wait wait_for stop_if stop choose for_each set log`)...)
	everyOf("events", whens, "message.received", "message.sent", "conversation.updated", "attendance.opened", "attendance.closed", "kanban.card.created",
		"kanban.card.moved", "kanban.card.completed")
	everyOf("keys", keys, "not", "if of a step", "on_error: continue", "retry", "to", "of office", "until", "a wait in for_each", "manual", "every", "at", "each attendances",
		"each cards", "stage shadow", "stage draft", "mode queued", "mode single", "mode restart", "mode parallel", "by contact.id", "by event.type", "by conversation.kind",
		"by contact.id + event.type", "sample", "a share", "the rest", "from", "claim", "claim: false", "claimed: run", "gather", "limit", "skip_after", "run last", "run all", "run none", "max", "cancel_on", "on_error")
}

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Second: "10s", 90 * time.Second: "1m30s", 20 * time.Minute: "20m", time.Hour: "1h", 80 * time.Minute: "1h20m", time.Hour + 5*time.Second: "1h0m5s",
	} {
		if got := length(d); got != want {
			t.Errorf("%v is written as %s, not as %s", d, got, want)
		}
	}
}
