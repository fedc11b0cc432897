package backtest_test

import (
	"context"
	"flag"
	"io/fs"
	"path"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

var saoPaulo = must(time.LoadLocation("America/Sao_Paulo"))

var everyFault = flag.Bool("faults", false, "TestStories tells every story under every fault, instead of the first of every fourth example")

// TestStories runs the stories of every example, some under every fault that they name, and replays
// each with the rules as they were: the result equals the record, and nothing is missing.
// The engine is stopped in some of the points; the tests of the examples stop it in all.
func TestStories(t *testing.T) {
	for i, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := example(t, name)
			tests := set.Tests
			if testing.Short() {
				tests = tests[:1]
			}
			for n, test := range tests {
				t.Run(test.Name, func(t *testing.T) {
					faults := *everyFault || n == 0 && i%4 == 0 && !testing.Short()
					o := ruletest.Options{Set: set, NoFaults: !faults, CrashEvery: 32, Look: func(told ruletest.Told) error {
						holds(t, told, set, test.Rules)
						return nil
					}}
					result, err := ruletest.Run(t.Context(), o, test)
					if err != nil {
						t.Fatal(err)
					}
					if !result.OK {
						t.Error(result.Report())
					}
				})
			}
		})
	}
}

// TestStoryElsewhere does the same for a rule that takes up another conversation: what was asked
// about one is no answer about the other.
func TestStoryElsewhere(t *testing.T) {
	t.Parallel()
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(`
rules:
  - id: compare
    when: message.received
    if: contact.name == "Ana" and not human_active("1h") and attendance.status == "open"
    do:
      - read_conversation: { conversation: { phone: "+5511977770000", channel: Main } }
      - send_message: "{{ contact.name }} {{ attendance.status }} {{ human_active('2h') }} {{ has_label('vip') }}"
      - add_labels: [vip]
      - send_message: "{{ has_label('vip') }}"
      - wait: 1h
      - close_attendance
      - mark_read: { conversation: "{{ message.conversation_id }}" }
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given:
      channels: [Main]
      contacts: [{ name: Ana, phone: "+5511988887777" }, { name: Carla, phone: "+5511977770000" }]
    steps:
      - { customer: Carla, says: from Carla }
      - { at: +5m, expect: [] }
      - { team: Bruno, to: Carla, says: hi }
      - { customer: Ana, says: hello }
      - at: +30m
        expect: [{ send_message: Carla open true false }, { add_labels: [vip] }, { send_message: "true" }]
      - at: +2h
        expect: [{ close_attendance: { conversation: Carla } }, { mark_read: { conversation: Ana } }]
    faults: all
`))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	o := ruletest.Options{Set: set, NoFaults: testing.Short(), Look: func(told ruletest.Told) error {
		holds(t, told, set, nil)
		return nil
	}}
	if result := must(ruletest.Run(t.Context(), o, set.Tests[0])); !result.OK {
		t.Error(result.Report())
	}
}

// holds checks a journal against the rules that made it.
func holds(t *testing.T, told ruletest.Told, set *rules.Set, only []string) {
	t.Helper()
	j := must(sqlite.Open(t.Context(), told.Journal, sqlite.Options{Beside: true}))
	defer j.Close()
	o := optionsOf(j, told.Workspace, told.Names, told.Now)
	unfaithful, err := backtest.Unfaithful(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range unfaithful {
		t.Errorf("under %q, replayed as it was: %s", told.Fault, problem)
	}
	if len(only) > 0 {
		var list []*rules.Rule
		for _, id := range only {
			list = append(list, set.Rule(id))
		}
		set = (&rules.Set{Calendars: set.Calendars}).With(list...)
	}
	result, err := backtest.Run(t.Context(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Differences {
		t.Errorf("under %q: %s on %s: was %+v, would %+v", told.Fault, d.Rule, d.Event, d.Was, d.Would)
	}
	if len(result.NotRecorded) > 0 {
		t.Errorf("under %q, not recorded: %v", told.Fault, result.NotRecorded)
	}
}

func optionsOf(j backtest.Journal, workspace string, names service.Snapshot, now time.Time) backtest.Options {
	return backtest.Options{
		Journal: j, Schemas: builtin.Schemas(), Workspace: workspace, Location: saoPaulo, Until: now,
		Desk: builtin.NewOffline(builtin.OfflineOptions{Snapshot: names, Own: func(ctx context.Context, m service.Message) (bool, error) {
			own, err := j.Caused(ctx, workspace, "message.sent", []string{m.ID}, time.Time{})
			return len(own) > 0, err
		}}),
	}
}

func example(t *testing.T, name string) *rules.Set {
	t.Helper()
	var files []*rules.File
	for _, file := range []string{examples.RulesFile, examples.TestsFile} {
		text := must(fs.ReadFile(examples.FS(), path.Join(name, file)))
		files = append(files, rules.Parse(file, text))
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
