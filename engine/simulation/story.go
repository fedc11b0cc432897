package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// scenarioMark begins the line of a test file that holds the whole scenario.
const scenarioMark = "# scenario: "

// TestFile writes a scenario as a test for `quando test`: the rules, the story as far as tests can
// express it, the expected effects, and the troubles as faults where there is one of the kind.
// Comments hold what tests cannot express, and the whole scenario, for ReadStory.
func TestFile(s *Scenario, expect []Effect) []byte {
	w := &storyWriter{scenario: s, open: map[string]bool{}}
	w.steps(expect)
	faults, rest := faultsOf(s.Troubles)

	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# A desk that the simulation made up from the seed %d, and took away from what it could.", s.Seed)
	line("# replay: make simulate STORY=<this file>")
	line("# Run as a test it is told as far as tests can: see below what they have no word for.")
	line("%s%s", scenarioMark, compact(s))
	if len(rest) > 0 {
		line("# troubles: %s", compact(rest))
		line("#   Tests have no fault of these kinds.")
	}
	if len(w.untold) > 0 {
		line("# acts: %s", compact(w.untold))
		line("#   Tests have no step of these kinds, or nothing comes of them.")
	}
	if s.Other != nil {
		line("# reloads: the other rules stand in the scenario only.")
	}
	if listensToCards(s.Rules) && !s.Reordered {
		line("# cards: the company of tests has the board Attendances, with a card for each attendance; this desk has none.")
	}
	b.Write(s.YAML(s.Rules))
	line("tests:")
	line("  - name: seed %d", s.Seed)
	line("    start: %s", local(s.Start))
	line("    given:")
	line("      contacts:")
	for _, name := range s.Customers {
		line("        - { name: %s, phone: %s }", quoted(name), quoted(s.phoneOf(name)))
	}
	line("      labels: [%s]", strings.Join(Labels, ", "))
	line("      boards:")
	line("        - { name: Deals, stages: [New, Proposal, { name: Won, winning: true }] }")
	line("        - { name: Care, stages: [Open, Closed] }")
	line("    steps:")
	b.WriteString(w.text.String())
	if faults != "" {
		line("    faults: { %s }", faults)
	}
	return b.Bytes()
}

// ReadStory reads the scenario that TestFile has written.
func ReadStory(file []byte) (*Scenario, error) {
	for _, text := range strings.Split(string(file), "\n") {
		raw, ok := strings.CutPrefix(text, scenarioMark)
		if !ok {
			continue
		}
		s := &Scenario{}
		d := json.NewDecoder(strings.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(s); err != nil {
			return nil, fmt.Errorf("read the scenario: %w", err)
		}
		return s, nil
	}
	return nil, errors.New("the file has no line that begins with \"" + scenarioMark + "\": only files that the simulation wrote can be replayed")
}

// A storyWriter writes the steps of a test.
type storyWriter struct {
	scenario *Scenario
	text     strings.Builder
	open     map[string]bool // customers whose attendance is open
	untold   []Act
}

// steps writes the acts, and before each moment the effects since the last.
func (w *storyWriter) steps(expect []Effect) {
	s := w.scenario
	expect = slices.Clone(expect)
	slices.SortStableFunc(expect, func(a, b Effect) int { return a.At.Compare(b.At) })
	last := s.Start
	for _, a := range s.Story {
		at := s.Start.Add(a.At)
		if look := at.Add(-time.Second); look.After(last) {
			expect = w.expect(look, expect, false)
			last = at
		}
		w.act(at, a)
	}
	w.expect(s.Start.Add(s.Length), expect, true)
}

// act writes an act, or keeps it for the comments.
func (w *storyWriter) act(at time.Time, a Act) {
	step, whom := "", a.Customer
	if renames(w.scenario.Rules) {
		whom = w.scenario.phoneOf(a.Customer) // the conversation may have another name by then
	}
	switch a.Kind {
	case ActSays:
		w.open[a.Customer] = true
		step = fmt.Sprintf("customer: %s, says: %s", quoted(a.Customer), quoted(a.Text))
	case ActReplies:
		w.open[a.Customer] = true
		step = fmt.Sprintf("team: %s, to: %s, says: %s", a.Person, quoted(whom), quoted(a.Text))
	case ActCloses:
		if w.open[a.Customer] {
			step = fmt.Sprintf("team: %s, closes: %s", a.Person, quoted(whom))
		}
		w.open[a.Customer] = false
	}
	if step == "" {
		w.untold = append(w.untold, a)
		return
	}
	fmt.Fprintf(&w.text, "      - { at: %s, %s }\n", quoted(local(at)), step)
}

// expect writes the effects up to a time, and returns those behind it.
func (w *storyWriter) expect(until time.Time, effects []Effect, end bool) []Effect {
	n := 0
	var list []string
	for n < len(effects) && (end || !effects[n].At.After(until)) {
		e := &effects[n]
		switch e.Verb {
		case "close_attendance":
			w.open[e.Customer] = false
		case "open_conversation":
			w.open[e.Customer] = true
		}
		list = append(list, "          - "+expected(e))
		n++
	}
	switch {
	case n > 0:
		fmt.Fprintf(&w.text, "      - at: %s\n        expect:\n%s\n", quoted(local(until)), strings.Join(list, "\n"))
	case end:
		fmt.Fprintf(&w.text, "      - { at: %s, expect: [] }\n", quoted(local(until)))
	}
	return effects[n:]
}

// expected writes an effect with the arguments in its detail.
func expected(e *Effect) string {
	written, _, _ := strings.Cut(e.Detail, ": ")
	contains := func(arg string) string {
		return fmt.Sprintf("%s: { %s: { contains: %s } }", e.Verb, arg, quoted(written))
	}
	switch e.Verb {
	case "send_message":
		return fmt.Sprintf("send_message: { text: { contains: %s }, to: { contact: %s } }", quoted(e.Detail), quoted(e.Customer))
	case "transfer", "close_attendance":
		return contains("reason")
	case "create_card":
		return contains("title")
	case "update_card":
		return contains("description")
	case "add_labels", "remove_labels":
		return fmt.Sprintf("%s: [%s]", e.Verb, strings.ReplaceAll(e.Detail, ",", ", "))
	case "move_card":
		if _, to, ok := strings.Cut(e.Detail, " to "); ok {
			return "move_card: { to: " + to + " }"
		}
	case "set_sector":
		if e.Detail != "" {
			return "set_sector: " + e.Detail
		}
	}
	return e.Verb
}

// faultsOf returns the faults of tests that are like troubles, and the troubles that none is like.
func faultsOf(troubles []Trouble) (faults string, rest []Trouble) {
	var deliver, crash, service []string
	for _, t := range troubles {
		switch t.Kind {
		case TroubleTwice:
			deliver = union(deliver, []string{"twice"})
		case TroubleLate:
			deliver = union(deliver, []string{"late"})
		case TroubleRefused:
			deliver = union(deliver, []string{"reordered"})
		case TroubleCrash:
			crash = []string{"every_step"}
		case Trouble429:
			service = union(service, []string{"429"})
		case Trouble503Before:
			service = union(service, []string{"503_before"})
		case Trouble503After:
			service = union(service, []string{"503_after"})
		default:
			rest = append(rest, t)
		}
	}
	var parts []string
	add := func(name string, kinds []string) {
		if len(kinds) > 0 {
			parts = append(parts, fmt.Sprintf("%s: [%s]", name, strings.Join(kinds, ", ")))
		}
	}
	add("deliver", deliver)
	add("crash", crash)
	add("service", service)
	return strings.Join(parts, ", "), rest
}

// renames reports whether a rule gives conversations another name.
func renames(rules []Rule) (found bool) {
	everyStep(rules, func(s *Step) { found = found || s.Verb == "update_conversation" && s.Name2 != "" })
	return found
}

// listensToCards reports whether a rule is started by cards.
func listensToCards(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return slices.ContainsFunc(r.When.Events, func(e string) bool { return strings.HasPrefix(e, "kanban.") })
	})
}

// local writes a time in the desk's zone; it has no summer time.
func local(at time.Time) string { return at.In(time.FixedZone("", -3*60*60)).Format(time.RFC3339) }

// compact writes a value as JSON on one line, without what is empty: reading it back gives the
// same.
func compact(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data can be written
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var any any
	if err := d.Decode(&any); err != nil {
		panic(err)
	}
	raw, err = json.Marshal(withoutEmpty(any))
	if err != nil {
		panic(err)
	}
	return raw
}

// withoutEmpty takes from objects what is empty. The items of lists stay, and so does a list
// without items, which is not the same as none.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	case map[string]any:
		for name, value := range v {
			value = withoutEmpty(value)
			object, isObject := value.(map[string]any)
			if value == nil || value == "" || value == false || value == json.Number("0") || isObject && len(object) == 0 {
				delete(v, name)
			}
		}
	}
	return v
}
