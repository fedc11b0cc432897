package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// runStates are the states of a run, in the order of its life.
var runStates = []journal.State{
	journal.Queued, journal.Running, journal.Waiting, journal.Held, journal.Uncertain, journal.Done, journal.Stopped, journal.Cancelled, journal.FailedRun, journal.Dealt,
}

// runsPage lists runs.
type runsPage struct {
	Runs    []runView
	Filter  url.Values
	Rules   []optionView
	States  []journal.State
	Spaces  []string
	Sinces  []string
	Older   string // the next page; empty is none
	Newest  string // the first page; empty if this is it
	Here    string
	Refresh bool
}

// A runView is a run as lists show it.
type runView struct {
	ID       int64
	Link     string
	Rule     ruleView
	State    journal.State
	Stage    rules.Stage
	Started  time.Time
	Ago      time.Duration
	Lane     laneView
	Standing string
	Asked    string
}

// listSize is the number of rows on a page of a list.
const listSize = 50

// sinces are the lengths of time that lists can be bounded to.
var sinces = []string{"1h", "24h", "7d", "30d"}

// runs lists runs, the newest first.
func (c *Console) runs(q *request) error {
	f, kept := q.r.URL.Query(), url.Values{}
	filter := journal.RunFilter{Workspace: f.Get("workspace"), Rule: f.Get("rule"), State: journal.State(f.Get("state")), Limit: listSize + 1}
	if filter.State != "" && !slices.Contains(runStates, filter.State) {
		return problem(400, "error.filter")
	}
	if id := f.Get("id"); id != "" {
		if _, err := strconv.ParseInt(id, 10, 64); err == nil {
			return q.redirect("/runs/" + id)
		}
	}
	var err error
	if filter.Since, err = q.since(f.Get("since")); err != nil {
		return err
	}
	if filter.Before, err = numberOf(f.Get("before")); err != nil {
		return err
	}
	for _, name := range []string{"workspace", "rule", "state", "since"} {
		if v := f.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	found, err := c.options.Journal.ListRuns(q.ctx(), filter)
	if err != nil {
		return err
	}
	p := runsPage{Filter: kept, Rules: c.ruleChoice(filter.Rule), States: runStates, Spaces: c.spaces(), Sinces: sinces, Here: q.r.URL.RequestURI(), Refresh: filter.Before == 0}
	if len(found) > listSize {
		found = found[:listSize]
		p.Older = pageLink("/runs", kept, found[len(found)-1].ID)
	}
	if filter.Before != 0 {
		p.Newest = "/runs?" + kept.Encode()
	}
	if p.Runs, err = c.runViews(q, found); err != nil {
		return err
	}
	return q.show("runs", "runs", q.words().T("nav.runs"), p)
}

// spaces names the workspaces, where there are several.
func (c *Console) spaces() (names []string) {
	if len(c.options.Workspaces) > 1 {
		for _, w := range c.options.Workspaces {
			names = append(names, w.Name)
		}
	}
	return names
}

func pageLink(path string, kept url.Values, before int64) string {
	next := url.Values{"before": {strconv.FormatInt(before, 10)}}
	for name, values := range kept {
		next[name] = values
	}
	return path + "?" + next.Encode()
}

// since reads how far a list goes back.
func (q *request) since(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := duration.Parse(text)
	if err != nil || d <= 0 {
		return time.Time{}, problem(400, "error.filter")
	}
	return q.now.Add(-d), nil
}

// numberOf reads a number of an address; none is 0.
func numberOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, problem(400, "error.filter")
	}
	return n, nil
}

// runViews shows runs as lists do.
func (c *Console) runViews(q *request, runs []*journal.Run) ([]runView, error) {
	byWorkspace := map[string][]string{}
	for _, r := range runs {
		byWorkspace[r.Workspace] = append(byWorkspace[r.Workspace], r.Home)
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		return nil, err
	}
	var views []runView
	for _, r := range runs {
		v := runView{
			ID: r.ID, Link: fmt.Sprintf("/runs/%d", r.ID), Rule: c.ruleView(r.Workspace, r.Rule), State: r.State, Stage: r.Stage, Started: c.at(r.Workspace, r.StartedAt),
			Ago: q.now.Sub(r.StartedAt), Lane: names.of(r.Workspace, r.Home), Standing: c.standing(q, r),
		}
		if r.Asked != nil {
			v.Asked = q.words().T("asked." + string(r.Asked.What))
		}
		views = append(views, v)
	}
	return views, nil
}

// standing says in a sentence where a run stands and why.
func (c *Console) standing(q *request, r *journal.Run) string {
	w := q.words()
	switch r.State {
	case journal.Queued:
		return cmp.Or(w.Told(r.Reason, r.Why), w.T("standing.queued"))
	case journal.Waiting:
		if r.WakeAt.IsZero() {
			return w.T("standing.event")
		}
		return cmp.Or(w.Told(r.Reason, r.Why), w.T("standing.until", w.Moment(c.at(r.Workspace, r.WakeAt))))
	case journal.Running:
		if r.WakeAt.After(q.now) {
			return strings.TrimSuffix(w.T("standing.again", w.Moment(c.at(r.Workspace, r.WakeAt)), troubleOf(w, r, journal.StepOpen)), ": ")
		}
		return w.T("standing.running")
	case journal.Done:
		state, words := journal.StepDone, "standing.did"
		if r.Stage == rules.Shadow {
			state, words = journal.StepWould, "standing.would"
		}
		if list := verbsOf(w, r, state); list != "" {
			return w.T(words, list)
		}
		return w.T("standing.nothing")
	case journal.Uncertain, journal.FailedRun, journal.Dealt:
		return cmp.Or(troubleOf(w, r, journal.StepFailed, journal.StepUncertain), w.Told(r.Reason, r.Why))
	}
	if typ, cancelled := strings.CutPrefix(r.Reason, "cancel_on: "); cancelled && r.State == journal.Cancelled {
		return w.T("standing.cancelled", w.Or("event.", typ))
	}
	return w.Told(r.Reason, r.Why)
}

// troubleOf returns the error of the newest step in one of the states.
func troubleOf(w words.Language, r *journal.Run, states ...journal.StepState) string {
	for _, s := range slices.Backward(r.Steps) {
		if slices.Contains(states, s.State) && s.Error != "" {
			return w.Told(s.Error, engine.WhyOf(s))
		}
	}
	return ""
}

// verbsOf lists the steps in a state, by what they do.
func verbsOf(w words.Language, r *journal.Run, state journal.StepState) string {
	var list []string
	for _, s := range r.Steps {
		if s.State == state && s.Verb != "wait" && s.Verb != "choose" && s.Verb != "for_each" && s.Verb != "stop_if" {
			list = append(list, w.Or("verb.", s.Verb))
		}
	}
	return strings.Join(list, ", ")
}
