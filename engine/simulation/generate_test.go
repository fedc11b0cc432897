package simulation

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestGenerateIsDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes up many desks")
	}
	for seed := range uint64(200) {
		a, b := Generate(seed), Generate(seed)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d gives two scenarios", seed)
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		back := &Scenario{}
		if err := json.Unmarshal(raw, back); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != string(raw) {
			t.Fatalf("seed %d is not the same when it is read back: %v\n%s\n%s", seed, err, raw, again)
		}
	}
}

// What is made up is small, has every trouble and act, and mostly starts its rules.
func TestGenerateIsVaried(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	const seeds = 1000
	exact, calm, large, reordered, started, rules := 0, 0, 0, 0, 0, 0
	kinds := map[string]int{}
	for seed := range uint64(seeds) {
		s := Generate(seed)
		if s.Exact {
			exact++
		}
		if len(s.Troubles) == 0 {
			calm++
		}
		if s.Reordered {
			reordered++
		}
		if len(s.Rules) == 10 {
			large++
		}
		for _, x := range s.Troubles {
			kinds["trouble "+x.Kind]++
		}
		if !slices.IsSortedFunc(s.Story, func(a, b Act) int { return int(a.At - b.At) }) {
			t.Errorf("seed %d: the story goes back in time", seed)
		}
		raised := map[string]bool{}
		for _, a := range s.Story {
			kinds[a.Kind]++
			if a.At < 0 || a.At > s.Length {
				t.Errorf("seed %d: %s at %v", seed, a.Kind, a.At)
			}
			for _, event := range map[string][]string{
				ActSays: {"message.received", "attendance.opened", "conversation.updated"}, ActReplies: {"message.sent"}, ActCloses: {"attendance.closed"},
				ActTransfers: {"conversation.updated"}, ActCards: {"kanban.card.created"}, ActMoves: {"kanban.card.moved", "kanban.card.completed"}, ActFires: {"manual"},
			}[a.Kind] {
				raised[event] = true
			}
		}
		for _, r := range s.Rules {
			rules++
			if r.When.Every > 0 || r.When.At != "" || r.When.Manual && raised["manual"] || slices.ContainsFunc(r.When.Events, func(e string) bool { return raised[e] }) {
				started++
			}
		}
	}
	between := func(what string, got, low, high int) {
		if got < low || got > high {
			t.Errorf("%s: %d, which is not between %d and %d", what, got, low, high)
		}
	}
	between("exact", exact, seeds*55/100, seeds*65/100)
	between("without trouble", calm, seeds*30/100, seeds*55/100)
	between("large", large, 1, seeds*2/100)
	between("with an answer whose events come in any order", reordered, seeds*1/100, seeds*5/100)
	between("rules that the story may start", started, rules*80/100, rules)
	for _, kind := range []string{
		ActSays, ActReplies, ActCloses, ActTransfers, ActCards, ActMoves, ActFires, ActPauses, ActResumes, ActReloads,
		"trouble " + TroubleCrash, "trouble " + TroubleTwice, "trouble " + TroubleLate, "trouble " + TroubleLost, "trouble " + TroubleRefused, "trouble " + Trouble429,
		"trouble " + Trouble503Before, "trouble " + Trouble503After, "trouble " + TroubleCutBefore, "trouble " + TroubleCutAfter, "trouble " + TroubleSlow,
		"trouble " + TroubleRead, "trouble " + TroubleJump, "trouble " + TroublePrune, "trouble " + TroubleCopy, "trouble " + TroubleDown, "trouble " + TroubleEarly,
		"trouble " + TroubleEngines, "trouble " + TroubleSwitch, "trouble " + TroubleTick, "trouble " + TroubleEdit, "trouble " + TroubleOvertake,
	} {
		if kinds[kind] < 5 {
			t.Errorf("%s: %d times in %d seeds", kind, kinds[kind], seeds)
		}
	}
}

// The times of exact scenarios lie apart, and nothing strikes them that changes when things
// happened.
func TestExactTimesLieApart(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	delayed := 0
	for seed := range uint64(1500) {
		s := Generate(seed)
		if !s.Exact {
			continue
		}
		if s.Away {
			if !keepsAway(s) {
				t.Errorf("seed %d does not keep to what exact scenarios do whose engine is away", seed)
			}
			continue
		}
		if s.Reordered {
			if !keepsClaims(s) {
				t.Errorf("seed %d does not keep to what exact scenarios do whose deliveries come late", seed)
			}
			continue
		}
		if s.Start.Minute()%30 != 3 || s.Start.Second() != 0 || s.Length%mark != endPhase {
			t.Errorf("seed %d begins at %v and lasts for %v", seed, s.Start, s.Length)
		}
		if !keeps(s) {
			t.Errorf("seed %d does not keep to what exact scenarios do", seed)
		}
		for _, a := range s.Story {
			switch phase := a.At % mark; a.Kind {
			case ActPauses, ActResumes, ActReloads:
				if phase != stopPhase {
					t.Errorf("seed %d: %s at %v", seed, a.Kind, a.At)
				}
			default:
				if phase > 30*time.Second || phase%time.Second != 0 {
					t.Errorf("seed %d: %s at %v", seed, a.Kind, a.At)
				}
			}
		}
		for _, rules := range [][]Rule{s.Rules, s.Other} {
			for i := range rules {
				if !timely(&rules[i], false) {
					t.Errorf("seed %d: what %s times falls on an act", seed, rules[i].ID)
				}
				if l := rules[i].Limit; l != nil && l.Per%(3*time.Minute) != grain {
					t.Errorf("seed %d: a limit per %v", seed, l.Per)
				}
			}
			everyStep(rules, func(x *Step) {
				if x.Wait%(6*time.Minute) != 0 {
					t.Errorf("seed %d: a wait of %v", seed, x.Wait)
				}
			})
			everyCond(rules, func(c *Cond) {
				if c.For != 0 && c.For%(3*time.Minute) != grain {
					t.Errorf("seed %d: a condition over %v", seed, c.For)
				}
			})
		}
		delays := 0
		for _, x := range s.Troubles {
			switch x.Kind {
			case TroubleLate, TroubleLost, TroubleJump:
				t.Errorf("seed %d: %+v changes when things happened", seed, x)
			case TroubleTwice, TroubleRefused, TroublePrune, TroubleCopy, TroubleEngines, TroubleSwitch, TroubleEarly, TroubleEdit:
			case TroubleDown:
				if x.At%mark != restPhase || x.For > 20*time.Second {
					t.Errorf("seed %d: %+v", seed, x)
				}
			default:
				delays++
				if x.For > 5*time.Second || x.More > 2 {
					t.Errorf("seed %d: %+v", seed, x)
				}
			}
		}
		if delays > 3 || delays > 0 && !delayable(s) {
			t.Errorf("seed %d: %d troubles that delay", seed, delays)
		}
		if delays > 0 {
			delayed++
		}
	}
	if delayed < 200 {
		t.Errorf("only %d exact scenarios have a trouble that delays", delayed)
	}
}

// Rules that differ by seconds are found.
func TestPatient(t *testing.T) {
	on := func(id string, steps ...Step) Rule {
		return Rule{ID: id, When: When{Events: []string{"message.received"}}, Do: steps}
	}
	with := func(r Rule, c Cond) Rule { r.If = []Cond{c}; return r }
	label, send := Step{Verb: "add_labels", Labels: []string{"vip"}}, Step{Verb: "send_message", Text: "hello"}
	wait := Step{Verb: "wait", Wait: 6 * time.Minute}
	hasLabel := Cond{Kind: CondHasLabel, Text: "vip"}
	asks := Step{Verb: "wait_for", Events: []string{"message.received"}, Wait: 12 * time.Minute}
	gathers := func(mode string, most int, hold time.Duration) []Rule {
		r := on("r1", send, Step{Verb: "wait", Wait: 18 * time.Minute}, Step{Verb: "wait", Wait: hold})
		r.Gather, r.Mode, r.Max = &Gather{Quiet: 6 * time.Minute, AtMost: 18 * time.Minute}, mode, most
		return []Rule{r}
	}
	ticks := on("r1", Step{Verb: "wait", Wait: mark}, send)
	ticks.When, ticks.Mode = When{Every: mark}, "single"
	every := func(id, each string, steps ...Step) Rule {
		return Rule{ID: id, When: When{Every: mark, Each: each}, Do: steps}
	}
	writes := Step{Verb: "send_message", To: "Joana", Text: "hello"}
	create, remove := Step{Verb: "create_card", Text: "new"}, Step{Verb: "close_attendance"}
	for name, c := range map[string]struct {
		rules  []Rule
		bursts bool
		want   bool
	}{
		"one rule":                             {[]Rule{with(on("r1", send, label), hasLabel)}, false, true},
		"two that write":                       {[]Rule{on("r1", send), on("r2", send)}, false, true},
		"one reads what the other changes":     {[]Rule{on("r1", label), with(on("r2", send), hasLabel)}, false, false},
		"both change the same":                 {[]Rule{on("r1", label), on("r2", label)}, false, false},
		"six minutes later":                    {[]Rule{on("r1", wait, label), with(on("r2", send), hasLabel)}, false, true},
		"it asks for what it has changed":      {[]Rule{on("r1", label, Step{Verb: "stop_if", Cond: &hasLabel}, send)}, false, false},
		"a burst, and one run at a time":       {[]Rule{{ID: "r1", When: When{Events: []string{"message.received"}}, Mode: "single", Do: []Step{send}}}, true, false},
		"a burst, and each message is its own": {[]Rule{on("r1", send)}, true, true},
		"a burst answers":                      {[]Rule{on("r1", send, asks)}, true, false},
		"it ends with the next gather":         {gathers("single", 0, 42*time.Minute), false, false},
		"it ends with the next one of two":     {gathers("parallel", 1, 42*time.Minute), false, false},
		"it ends beside the next gather":       {gathers("parallel", 0, 42*time.Minute), false, true},
		"it ends before the next gather":       {gathers("single", 0, 36*time.Minute), false, true},
		"it ends with the next tick":           {[]Rule{ticks}, false, false},
		"one lists what the other opens":       {[]Rule{every("r1", "", writes), every("r2", "attendances", send)}, false, false},
		"it is opened six minutes later":       {[]Rule{every("r1", "", wait, writes), every("r2", "attendances", send)}, false, true},
		"one lists what the other creates":     {[]Rule{every("r1", "", create), every("r2", "cards", send)}, false, false},
		"it closes what it has listed":         {[]Rule{every("r1", "attendances", send, remove)}, false, true},
	} {
		if got := patient(c.rules, c.bursts); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, c := range map[string]struct {
		steps []Step
		want  bool
	}{
		"half an hour in all":        {[]Step{wait, {Verb: "wait", Wait: 24 * time.Minute}}, false},
		"not quite":                  {[]Step{wait, {Verb: "wait", Wait: 18 * time.Minute}}, true},
		"five times in a loop":       {[]Step{{Verb: "for_each", Items: []string{"a", "b", "c", "d", "e"}, Do: []Step{wait}}}, false},
		"when the office is open":    {[]Step{{Verb: "wait", Until: "office"}, {Verb: "stop_if", Cond: &Cond{Kind: CondOpen, Text: "office"}}}, false},
		"opening hours to their end": {[]Step{{Verb: "wait", Wait: 30 * time.Minute, Calendar: "office"}}, false},
	} {
		r := on("r1", c.steps...)
		r.Mode = "parallel"
		if got := timely(&r, false); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
