package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/console/internal/draft"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// textIn is a rule in the text of its file.
type textIn struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Rule      string `json:"rule" jsonschema:"the id of the rule"`
	Text      string `json:"text,omitempty" jsonschema:"the whole rule file in YAML, with tests where there are some; by default the file as it stands"`
	File      string `json:"file,omitempty" jsonschema:"the name of the file that the text is for; by default that of the rule"`
}

// open reads the file of a rule, as it stands.
func open(w *console.Workspace, rule string) (f *draft.File, was string, err error) {
	set, path := used(w), ""
	if r := set.Rule(rule); r != nil {
		path = r.File
	} else if i := slices.IndexFunc(set.Broken, func(b rules.Broken) bool { return b.ID == rule }); i >= 0 {
		path = set.Broken[i].File
	}
	name, err := w.Editing.Store.Name(path)
	if path == "" || err != nil {
		return nil, "", fmt.Errorf("there is no rule %q: the tool rules lists them", rule)
	}
	standing, err := w.Editing.Store.Read(name)
	if err != nil {
		return nil, "", err
	}
	return &draft.File{Place: place(w), Name: name, Text: standing.Text}, standing.Sum, nil
}

// file returns the file of a text that was sent, or the one that stands.
func (c *caller) file(in textIn) (*console.Workspace, *draft.File, error) {
	w, err := c.space(in.Workspace)
	if err != nil {
		return nil, nil, err
	}
	standing, _, err := open(w, in.Rule)
	if in.Text == "" {
		return w, standing, err
	}
	if len(in.Text) > source.MaxBytes {
		return nil, nil, fmt.Errorf("a rule file has at most %d KiB", source.MaxBytes>>10)
	}
	f := &draft.File{Place: place(w), Name: in.File, Text: strings.ReplaceAll(in.Text, "\r\n", "\n")}
	if f.Name == "" && err == nil {
		f.Name = standing.Name
	}
	if f.Name != "" {
		if _, err := f.Store.Name(f.Store.Path(f.Name)); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", in.File, err)
		}
	}
	return w, f, nil
}

// A problemLine is a problem of a text.
type problemLine struct {
	Line     int             `json:"line"`
	Column   int             `json:"column"`
	Severity source.Severity `json:"severity"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
	File     string          `json:"file,omitempty"` // where it is another
}

// maxProblems bounds the problems of an answer.
const maxProblems = 50

func problemLines(problems rules.Problems) []problemLine {
	list := []problemLine{}
	for _, p := range problems.In(phrases.English)[:min(len(problems), maxProblems)] {
		list = append(list, problemLine{Line: p.Line, Column: p.Column, Severity: p.Severity, Message: engine.Harmless(p.Message), Hint: engine.Harmless(p.Hint)})
	}
	return list
}

type checkIn struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"by default the first"`
	Text      string `json:"text" jsonschema:"the whole rule file in YAML"`
	File      string `json:"file,omitempty" jsonschema:"the name of the file that the text is for; empty is a new one"`
}

func (c *caller) check(ctx context.Context, in checkIn) (any, error) {
	_, f, err := c.file(textIn{Workspace: in.Workspace, Text: in.Text, File: in.File})
	if err != nil {
		return nil, err
	}
	if in.Text == "" {
		return nil, errors.New("text is empty: it is the whole rule file")
	}
	answer := struct {
		OK       bool              `json:"ok"`
		Rules    map[string]string `json:"rules"` // with their stages
		Problems []problemLine     `json:"problems"`
	}{Rules: map[string]string{}}
	err = c.slowly(ctx, func(ctx context.Context) error {
		set, problems, err := f.Check(ctx)
		if err != nil {
			return err
		}
		for _, r := range set.Rules {
			if r.File == f.Path() {
				answer.Rules[r.ID] = string(r.Stage)
			}
		}
		answer.OK, answer.Problems = !problems.HasErrors(), problemLines(problems)
		return nil
	})
	return answer, err
}

// whole compiles a text with everything beside it, and returns its rule. A rule with problems
// cannot be tried: the error lists them.
func whole(ctx context.Context, f *draft.File, id string) (*rules.Set, *rules.Rule, error) {
	set, problems, err := draft.Whole(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if r := set.Rule(id); r != nil && r.File == f.Path() {
		return set, r, nil
	}
	problems = slices.DeleteFunc(problems, func(p rules.Problem) bool { return p.File != f.Path() || p.Severity != source.Error })
	if len(problems) == 0 {
		return nil, nil, fmt.Errorf("the text has no rule %q", id)
	}
	return nil, nil, fmt.Errorf("the rule has problems, check lists them; the first: %s", problems[0].Error())
}

type testIn struct {
	textIn
	Faults bool `json:"faults,omitempty" jsonschema:"also run each story under faults: calls that fail, crashes, doubled deliveries"`
}

func (c *caller) test(ctx context.Context, in testIn) (any, error) {
	w, f, err := c.file(in.textIn)
	if err != nil {
		return nil, err
	}
	type line struct {
		Test string `json:"test"`
		OK   bool   `json:"ok"`
		Why  string `json:"why,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	answer := struct {
		Passed int    `json:"passed"`
		Failed int    `json:"failed"`
		Unrun  int    `json:"unrun"` // the time was over
		Tests  []line `json:"tests"`
		Note   string `json:"note,omitempty"`
	}{Tests: []line{}}
	err = c.slowly(ctx, func(within context.Context) error {
		set, rule, err := whole(within, f, in.Rule)
		if err != nil {
			return err
		}
		o := ruletest.Options{Set: set, Media: w.Editing.Media, Location: w.Location, Safety: rules.TestSafety{PerConversation: w.Safety.PerConversation, Messages: w.Safety.Messages}, NoFaults: !in.Faults}
		results, err := proof.RunTests(within, o, rule)
		if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
			return err
		}
		for _, r := range results {
			one := line{Test: engine.Harmless(r.Test.Name), OK: r.OK}
			switch {
			case r.OK:
				answer.Passed++
			case r.Unrun:
				answer.Unrun, one.Why = answer.Unrun+1, "the time was over"
			default:
				answer.Failed, one.Why, one.Line = answer.Failed+1, proof.Why(words.Languages[0], &r.Result), r.Line
			}
			answer.Tests = append(answer.Tests, one)
		}
		if len(results) == 0 {
			answer.Note = "the rule has no tests: write some under tests in the same file"
		}
		return nil
	})
	return answer, err
}

type tryIn struct {
	textIn
	Story storyIn `json:"story" jsonschema:"what happens"`
}

type storyIn struct {
	Customer string    `json:"customer,omitempty" jsonschema:"the name of the made-up customer"`
	Labels   []string  `json:"labels,omitempty" jsonschema:"labels that the customer has"`
	Entries  []entryIn `json:"entries" jsonschema:"what happens, in the order of time; at most 24"`
	Until    string    `json:"until" jsonschema:"when the story ends, as 2026-11-13T19:30 in the zone of the desk"`
}

type entryIn struct {
	Do   string `json:"do" jsonschema:"customer (writes), team (answers), closes, takes, card, moves (to the stage in text) or event (of the type in text)"`
	At   string `json:"at" jsonschema:"as 2026-11-13T19:00 in the zone of the desk"`
	Text string `json:"text,omitempty" jsonschema:"what is written"`
}

func (c *caller) try(ctx context.Context, in tryIn) (any, error) {
	w, f, err := c.file(in.textIn)
	if err != nil {
		return nil, err
	}
	sent, err := json.Marshal(in.Story)
	if err != nil {
		return nil, err
	}
	story, err := proof.ReadStory(string(sent), w.Location)
	if err != nil {
		return nil, errors.New("the story cannot be played: each entry has a do and an at such as 2026-11-13T19:00, there are at most 24, and until is at most 31 days after the first")
	}
	type effect struct {
		At    time.Time `json:"at"`
		Does  string    `json:"does"`
		Quote string    `json:"quote,omitempty"`
	}
	type verdict struct {
		At      time.Time      `json:"at"`
		Event   string         `json:"event"`
		Outcome string         `json:"outcome"`
		Clause  string         `json:"clause,omitempty"` // the first that was not true
		Values  map[string]any `json:"values,omitempty"`
	}
	answer := struct {
		Effects  []effect  `json:"effects"`
		Verdicts []verdict `json:"verdicts"`
		Until    time.Time `json:"until"`
	}{Effects: []effect{}, Verdicts: []verdict{}}
	err = c.slowly(ctx, func(ctx context.Context) error {
		set, rule, err := whole(ctx, f, in.Rule)
		if err != nil {
			return err
		}
		alone := (&rules.Set{Calendars: set.Calendars}).With(rule)
		trial, err := ruletest.Try(ctx, ruletest.Options{Set: alone, Media: w.Editing.Media, Location: w.Location}, story.Test(alone))
		if err != nil {
			return err
		}
		for _, e := range trial.Effects[:min(len(trial.Effects), maxPage)] {
			does, quote := actions.Effect{Verb: e.Verb, Who: e.On, Args: e.Args}.Would(phrases.English)
			answer.Effects = append(answer.Effects, effect{e.At.In(w.Location), engine.Harmless(does), engine.Harmless(quote)})
		}
		for _, e := range trial.Trace.Events {
			for _, v := range e.Verdicts {
				if len(answer.Verdicts) < maxPage {
					answer.Verdicts = append(answer.Verdicts, verdict{e.ReceivedAt.In(w.Location), e.Type, string(v.Outcome), v.Clause, v.Values})
				}
			}
		}
		answer.Until = trial.Until.In(w.Location)
		return nil
	})
	return answer, err
}

type backtestIn struct {
	textIn
	Limit  int    `json:"limit,omitempty" jsonschema:"how many effects; 20 by default, at most 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the answer before"`
}

// past works out what a rule would have done, beside its version in use.
func (c *caller) past(ctx context.Context, in textIn) (w *console.Workspace, r *backtest.Result, bounded bool, err error) {
	w, f, err := c.file(in)
	if err != nil {
		return nil, nil, false, err
	}
	if w.Editing.Desk == nil {
		return nil, nil, false, errors.New("there is no record of events here")
	}
	err = c.slowly(ctx, func(ctx context.Context) error {
		set, rule, err := whole(ctx, f, in.Rule)
		if err != nil {
			return err
		}
		desk, err := w.Editing.Desk(ctx)
		if err != nil {
			return err
		}
		standing := used(w)
		before := &rules.Set{Calendars: standing.Calendars}
		if old := standing.Rule(in.Rule); old != nil && old.Stage != rules.Draft && old.Version != rule.Version {
			before = before.With(old)
		} else {
			before = before.With()
		}
		o := backtest.Options{Journal: c.options.Journal, Desk: desk, Schemas: w.Editing.Schemas, Workspace: w.Name, Location: w.Location}
		r, bounded, err = proof.Past(ctx, o, c.options.Now(), before, (&rules.Set{Calendars: set.Calendars}).With(rule))
		return err
	})
	return w, r, bounded, err
}

// pastEffect is a step that a rule would have taken.
type pastEffect struct {
	At           time.Time     `json:"at"`
	Verb         string        `json:"verb"`
	Event        string        `json:"event"`
	Conversation string        `json:"conversation,omitempty"`
	Customer     *customerData `json:"customer_data,omitempty"`
}

func (c *caller) pastEffect(w *console.Workspace, e backtest.Effect) pastEffect {
	out := pastEffect{At: e.At.In(w.Location), Verb: e.Verb, Event: e.Event, Conversation: e.About.Conversation}
	if c.options.Customers {
		does, quote := actions.Effect{Verb: e.Verb, Who: e.Who, Args: e.Arguments}.Would(phrases.English)
		out.Customer = &customerData{Name: engine.Harmless(e.Who), Words: engine.Harmless(does), Quote: engine.Harmless(quote)}
	}
	return out
}

func (c *caller) backtest(ctx context.Context, in backtestIn) (any, error) {
	w, r, bounded, err := c.past(ctx, in.textIn)
	if err != nil {
		return nil, err
	}
	people, unknown, verbs := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, e := range r.Effects {
		people[proof.CustomerKey(e)] = true
		verbs[e.Verb]++
	}
	for _, g := range r.NotRecorded {
		unknown[g.Event] = true
	}
	part, next, err := page(r.Effects, in.Cursor, sizeOf(in.Limit))
	list := []pastEffect{}
	for _, e := range part {
		list = append(list, c.pastEffect(w, e))
	}
	return struct {
		Since     time.Time      `json:"since"`
		Until     time.Time      `json:"until"`
		Bounded   bool           `json:"bounded"` // there were too many events for all 14 days
		Events    int            `json:"events"`
		Customers int            `json:"customers_reached"`
		Verbs     map[string]int `json:"effects_by_verb"`
		Unknown   int            `json:"events_of_which_the_record_does_not_say"`
		Effects   []pastEffect   `json:"effects"`
		Next      string         `json:"next,omitempty"`
	}{r.Since.In(w.Location), r.Until.In(w.Location), bounded, r.Events, len(people), verbs, len(unknown), list, next}, err
}

func (c *caller) diff(ctx context.Context, in textIn) (any, error) {
	w, r, bounded, err := c.past(ctx, in)
	if err != nil {
		return nil, err
	}
	type fate struct {
		Customers int          `json:"customers"`
		Examples  []pastEffect `json:"examples"`
	}
	d := proof.Compare(r)
	fates := map[string]fate{}
	for name, list := range map[string][]proof.Reached{"same": d.Same, "new": d.New, "gone": d.Gone, "other": d.Other} {
		one := fate{Customers: len(list), Examples: []pastEffect{}}
		for _, reached := range list[:min(len(list), 3)] {
			for _, e := range slices.Concat(reached.Was, reached.Would)[:1] {
				one.Examples = append(one.Examples, c.pastEffect(w, e))
			}
		}
		fates[name] = one
	}
	inUse := used(w).Rule(in.Rule)
	return struct {
		Since   time.Time       `json:"since"`
		Until   time.Time       `json:"until"`
		Bounded bool            `json:"bounded"`
		InUse   bool            `json:"in_use"` // there is a version in use to compare with
		Fates   map[string]fate `json:"customers_by_what_changes"`
		Unknown int             `json:"events_of_which_the_record_does_not_say"`
	}{r.Since.In(w.Location), r.Until.In(w.Location), bounded, inUse != nil && inUse.Stage != rules.Draft, fates, d.Unknown}, nil
}
