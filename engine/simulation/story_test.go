package simulation

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
)

// read compiles a test file, and returns its test.
func read(t *testing.T, seed uint64, file []byte) (*rules.Set, *rules.Test) {
	t.Helper()
	set, problems := rules.Compile([]*rules.File{rules.Parse("seed_test.yaml", file)}, rules.Options{Catalog: builtin.Catalog()})
	if err := problems.Err(); err != nil {
		t.Fatalf("seed %d: %v in\n%s", seed, err, file)
	}
	if len(set.Tests) != 1 {
		t.Fatalf("seed %d: %d tests", seed, len(set.Tests))
	}
	return set, set.Tests[0]
}

// one returns an effect of every kind.
func one(s *Scenario) (list []Effect) {
	for verb, detail := range map[string]string{
		"send_message": "r1/s1 hello", "transfer": "r1/s2 price: Ana,Sales", "set_sector": "Sales", "add_labels": "billing,vip", "remove_labels": "vip",
		"set_labels": "vip instead of billing", "update_conversation": "big true", "mark_read": "", "close_attendance": "r1/s3 thanks", "create_card": "r1/s4 human: New",
		"move_card": "New to Won", "update_card": "r1/s5 price", "open_conversation": "",
	} {
		list = append(list, Effect{At: s.Start.Add(s.Length / 2), Customer: s.Customers[0], Verb: verb, Detail: detail, Event: "e1"})
	}
	return list
}

func TestStoriesAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes up many desks")
	}
	for seed := range uint64(200) {
		s := Generate(seed)
		file := TestFile(s, one(s))
		_, test := read(t, seed, file)
		seen := 0
		for _, step := range test.Steps {
			seen += len(step.Expected)
		}
		if seen != 13 {
			t.Errorf("seed %d: %d effects are expected, not 13", seed, seen)
		}
		back, err := ReadStory(file)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(s, back) {
			t.Fatalf("seed %d is another when it is read back:\n%+v\n%+v", seed, s, back)
		}
	}
	if _, err := ReadStory([]byte("rules: []\n")); err == nil || !strings.Contains(err.Error(), "can be replayed") {
		t.Errorf("a file without a scenario: %v", err)
	}
}

// The story of a test can be run: whatever the result, no step of it is refused.
func TestStoriesAreTold(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for seed := range uint64(25) {
		s := Generate(seed)
		if hasVerb(s, "close_attendance") {
			continue // the expected effects show an attempt to close what a rule has closed
		}
		set, test := read(t, seed, TestFile(s, nil))
		result, err := ruletest.Run(context.Background(), ruletest.Options{Set: set, NoFaults: true}, test)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !result.OK && !strings.Contains(result.Message, "was not expected") {
			t.Errorf("seed %d, line %d: %s", seed, result.Line, result.Message)
		}
	}
}

// A file is what a person would have written, and the effects that must come stand before the next
// act.
func TestStoryFile(t *testing.T) {
	s := &Scenario{
		Seed: 7, Start: time.Date(2026, 11, 9, 12, 3, 0, 0, time.UTC), Length: 2 * time.Hour, Customers: []string{"Marina"},
		Rules: []Rule{{ID: "r1", When: When{Events: []string{"attendance.opened"}}, Do: []Step{
			{Name: "s1", Verb: "send_message", Text: "hello"}, {Name: "s2", Verb: "wait", Wait: 6 * time.Minute}, {Name: "s3", Verb: "add_labels", Labels: []string{"vip"}},
		}}},
		Story: []Act{
			{Kind: ActSays, Customer: "Marina", Text: "1"}, {At: 30 * time.Minute, Kind: ActCloses, Customer: "Marina", Person: "Ana"},
			{At: time.Hour, Kind: ActCloses, Customer: "Marina", Person: "Ana"},
		},
		Troubles: []Trouble{{Kind: TroubleCrash, N: 3, For: time.Second}, {Kind: TroubleTwice, N: 1}, {Kind: TroubleSlow, N: 1, For: time.Second}},
	}
	file := TestFile(s, []Effect{
		{At: s.Start, Customer: "Marina", Verb: "send_message", Detail: "r1/s1 hello"},
		{At: s.Start.Add(6 * time.Minute), Customer: "Marina", Verb: "add_labels", Detail: "vip"},
	})
	for _, want := range []string{
		`# troubles: [{"For":1000000000,"Kind":"slow","N":1}]`,
		`# acts: [{"At":3600000000000,"Customer":"Marina","Kind":"closes","Person":"Ana"}]`,
		`    start: 2026-11-09T09:03:00-03:00
    given:
      contacts:
        - { name: "Marina", phone: "+5511900000000" }
`,
		`    steps:
      - { at: "2026-11-09T09:03:00-03:00", customer: "Marina", says: "1" }
      - at: "2026-11-09T09:32:59-03:00"
        expect:
          - send_message: { text: { contains: "r1/s1 hello" }, to: { contact: "Marina" } }
          - add_labels: [vip]
      - { at: "2026-11-09T09:33:00-03:00", team: Ana, closes: "Marina" }
      - { at: "2026-11-09T11:03:00-03:00", expect: [] }
    faults: { deliver: [twice], crash: [every_step] }
`,
	} {
		if !strings.Contains(string(file), want) {
			t.Errorf("there is no\n%s\nin\n%s", want, file)
		}
	}
	set, test := read(t, 7, file)
	result, err := ruletest.Run(context.Background(), ruletest.Options{Set: set}, test)
	if err != nil || !result.OK {
		t.Errorf("the test does not hold: %v %s", err, fmt.Sprint(result.Fault, " ", result.Message))
	}
}
