package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

// testPage shows a test that was made of an event, before it is saved.
type testPage struct {
	Workspace string
	Rule      ruleView
	Rules     []optionView // that it can be a test of
	File      string
	Was       string
	Text      string
	Wrong     []problemView
	Bare      bool // the event is raised without its data
	Here      string
	Back      string
}

// eventTest shows an event as a test of a rule.
func (c *Console) eventTest(q *request) error {
	e, err := c.findEvent(q)
	if err != nil {
		return err
	}
	return c.showTest(q, e, q.r.URL.Query().Get("rule"), fmt.Sprintf("/events/%d", e.Seq))
}

// runTest shows the event of a run as a test of its rule.
func (c *Console) runTest(q *request) error {
	r, err := c.findRun(q)
	if err != nil {
		return err
	}
	events, err := c.options.Journal.Events(q.ctx(), r.Event)
	if err != nil && !errors.Is(err, journal.ErrNoEvent) {
		return err
	}
	if len(events) == 0 {
		return errNotFound
	}
	return c.showTest(q, events[0], r.Rule, fmt.Sprintf("/runs/%d", r.ID))
}

// showTest makes a test of an event, and shows it.
func (c *Console) showTest(q *request, e *journal.Event, rule, back string) error {
	w, err := c.writable(e.Workspace)
	if err != nil {
		return err
	}
	set := w.book().Set
	ids := candidates(set, e)
	if rule == "" && len(ids) > 0 {
		rule = ids[0]
	}
	r := set.Rule(rule)
	if r == nil {
		return problem(http.StatusConflict, "error.norule")
	}
	p := testPage{Workspace: w.Name, Rule: c.ruleView(w.Name, rule), Here: q.r.URL.Path, Back: back}
	for _, id := range ids {
		p.Rules = append(p.Rules, optionView{id, c.ruleView(w.Name, id).Name, id == rule})
	}
	if p.File, p.Was, err = testFile(w, r); err != nil {
		return err
	}
	s := c.storyOfEvent(e, w.Location)
	p.Bare = s.Entries[len(s.Entries)-1].Do == proof.Event
	alone := (&rules.Set{Calendars: set.Calendars}).With(r)
	var trial *ruletest.Trial
	err = c.trial(q, func(ctx context.Context) (err error) {
		trial, err = ruletest.Try(ctx, ruletest.Options{Set: alone, Media: w.Editing.Media, Location: w.Location}, s.Test(alone))
		return err
	})
	if wrong, ok := errors.AsType[*ruletest.StoryError](err); ok {
		return problem(http.StatusConflict, "try.story", engine.Harmless(wrong.Message))
	}
	if err != nil {
		return err
	}
	p.Text = testText(q.words().T("totest.name", p.Rule.Name, e.Seq), rule, s.Test(alone), trial)
	return q.show("totest", "rules", q.words().T("totest.title"), p)
}

// candidates are the rules that an event can be a test of: those that fired first.
func candidates(set *rules.Set, e *journal.Event) (ids []string) {
	add := func(id string) {
		if set.Rule(id) != nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, v := range e.Verdicts {
		if v.Outcome == journal.Fired {
			add(v.Rule)
		}
	}
	for _, v := range e.Verdicts {
		add(v.Rule)
	}
	for _, r := range set.Rules {
		if wants(r, e.Type) {
			add(r.ID)
		}
	}
	return ids
}

// testFile is the file for the tests of a rule: beside its own.
func testFile(w *Workspace, r *rules.Rule) (name, was string, err error) {
	own, err := w.Editing.Store.Name(r.File)
	if err != nil {
		return "", "", errNotFound
	}
	if w.Editing.Store.Single() {
		name = own
	} else {
		dot := strings.LastIndex(own, ".")
		name = strings.TrimSuffix(own[:dot], "_test") + "_test" + own[dot:]
	}
	if f, err := w.Editing.Store.Read(name); err == nil {
		was = f.Sum
	}
	return name, was, nil
}

// storyOfEvent makes a story of an event. It replaces the customer's name and phone: a test is kept
// for long and read by many.
func (c *Console) storyOfEvent(e *journal.Event, zone *time.Location) *proof.Story {
	text := ""
	if m, ok := c.messageOf(e.Event); ok {
		text = m.Text
	}
	return proof.About(e.Type, e.CreatedAt.In(zone).Truncate(time.Second), text)
}

// testText writes a story as a test that expects what the rule does in it.
func testText(name, rule string, t *rules.Test, trial *ruletest.Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- name: %s\n  rules: [%s]\n  start: %s\n  given: %s\n  steps:\n", flow(name), rule, t.Start.Format(time.RFC3339), flow(t.Given))
	for _, step := range t.Steps[:len(t.Steps)-1] {
		fmt.Fprintf(&b, "    - %s\n", flow(step.Fields))
	}
	until := t.Start.Add(10 * time.Minute)
	if last := len(t.Steps) - 2; last >= 0 {
		if at, ok := t.Steps[last].Fields["at"].(string); ok {
			if moment, err := time.Parse(time.RFC3339, at); err == nil {
				until = moment.Add(10 * time.Minute)
			}
		}
	}
	for _, e := range trial.Effects {
		if later := e.At.Add(10 * time.Minute); later.After(until) {
			until = later
		}
	}
	fmt.Fprintf(&b, "    - at: %s\n      expect:", until.In(t.Start.Location()).Format(time.RFC3339))
	if len(trial.Effects) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, e := range trial.Effects {
		fmt.Fprintf(&b, "        - %s: %s\n", e.Verb, flow(e.Args))
	}
	return b.String()
}

// flow writes a value in one line of YAML.
func flow(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, compareStepKeys)
		for i, name := range names {
			key := name
			if !plainKey.MatchString(name) {
				key = flow(name)
			}
			names[i] = key + ": " + flow(v[name])
		}
		return "{ " + strings.Join(names, ", ") + " }"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = flow(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "null"
	}
	return escapeUnseen(strings.TrimSpace(b.String()))
}

// plainKey matches keys that need no quotes in YAML.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// escapeUnseen writes invisible and bidirectional control characters of quoted YAML as escapes.
func escapeUnseen(text string) string {
	if strings.IndexFunc(text, engine.Steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !engine.Steers(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// compareStepKeys puts the keys of a step into the order of a sentence.
func compareStepKeys(a, b string) int {
	order := []string{"at", "customer", "team", "event", "moves", "closes", "to", "contact", "says", "name"}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	if rank(a) != rank(b) {
		return rank(a) - rank(b)
	}
	return strings.Compare(a, b)
}

// testSave adds a test to the tests of a rule.
func (c *Console) testSave(q *request) error {
	f, err := c.draftSent(q)
	if err != nil {
		return err
	}
	e := f.space.Editing
	if !ruleID.MatchString(f.rule) || f.file == "" || e.Store.ReadOnly() {
		if e.Store.ReadOnly() {
			return errReadOnly
		}
		return problem(http.StatusBadRequest, "error.form")
	}
	item, standing := f.text, ""
	if file, err := e.Store.Read(f.file); err == nil {
		standing = plainEnds(file.Text)
	}
	f.text = f.ownEnds(addTest(standing, item))
	wrong, err := c.saveRight(q, store.Change{Who: q.user.Name, What: "test"}, f)
	if len(wrong) > 0 {
		p := testPage{Workspace: f.space.Name, Rule: c.ruleView(f.space.Name, f.rule), File: f.file, Was: f.was, Text: item, Wrong: viewProblems(q.words(), wrong), Back: localPath(q.r.PostFormValue("back"))}
		return q.showAs(http.StatusUnprocessableEntity, "totest", "rules", q.words().T("totest.title"), p)
	}
	if errors.Is(err, store.ErrChanged) {
		return problem(http.StatusConflict, "error.changed")
	}
	if err != nil {
		return err
	}
	return q.back("test")
}

var testsKey = regexp.MustCompile(`(?m)^tests:[ \t]*(?:#.*)?$`)

// addTest adds a test behind those of a file. The list of tests must be the last of the file; where
// it is not, what comes of it is refused by the checker.
func addTest(file, item string) string {
	item = "  " + strings.ReplaceAll(strings.TrimRight(strings.Trim(item, "\n"), " "), "\n", "\n  ") + "\n"
	item = strings.ReplaceAll(item, "\n  \n", "\n\n")
	file = strings.TrimRight(file, "\n")
	at := testsKey.FindStringIndex(file)
	switch {
	case file == "":
		return "tests:\n" + item
	case at == nil:
		return file + "\n\ntests:\n" + item
	}
	// The existing items show the indentation.
	first := regexp.MustCompile(`(?m)^( *)- `).FindStringSubmatch(file[at[1]:])
	if first != nil && first[1] != "  " {
		item = first[1] + strings.ReplaceAll(strings.TrimPrefix(strings.TrimRight(item, "\n"), "  "), "\n  ", "\n"+first[1]) + "\n"
	}
	return file + "\n\n" + item
}

// findEvent returns the event that an address names.
func (c *Console) findEvent(q *request) (*journal.Event, error) {
	seq, err := strconv.ParseInt(q.r.PathValue("event"), 10, 64)
	if err != nil {
		return nil, errNotFound
	}
	found, err := c.options.Journal.Events(q.ctx(), seq)
	if err != nil && !errors.Is(err, journal.ErrNoEvent) {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNotFound
	}
	return found[0], nil
}
