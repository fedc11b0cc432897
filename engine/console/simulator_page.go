package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/hours"
	"github.com/quandohq/quando/engine/console/internal/story"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// simulatorPage is a simulated conversation, with the runs of rules.
type simulatorPage struct {
	Workspace string
	Spaces    []string // that can be played, where there are several
	Now       time.Time
	Jumps     bool
	Until     time.Time
	People    []playedView
	Team      []SimulatedName
	With      *playedView // may be nil
	Rows      []playedRow
	Cards     []SimulatedCard
	Failures  []failureView
	Kinds     []string
	Verbs     []string
	NewPhone  string
	Acts      bool
	AsTeam    bool // what is written next is the team's
	Writes    bool // the person is in the middle of writing
	Here      string
	// NextOpening and NextWait are what the time can be moved to, in words; empty is none.
	NextOpening, NextWait string
	Whole                 string // the conversation's own page; empty if nothing was recorded yet
}

// A playedView is a conversation that can be played.
type playedView struct {
	SimulatedConversation
	Link    string
	Present bool
}

// A playedRow is something that happened, and what rules made of it.
type playedRow struct {
	entryView
	Runs    []playedRun
	Waiting bool // it is not decided yet
	Others  int  // rules that did not fire
}

// A playedRun is a run with its steps.
type playedRun struct {
	runView
	Steps []stepLine
}

// A failureView is a failure in words.
type failureView struct {
	What, Calls string
	Times       int
}

const (
	playedPeople = 15 // conversations that are offered
	playedCards  = 10
	playedRows   = 60
)

// simulatorOf returns the workspace that a request plays in.
func (c *Console) simulatorOf(name string) (*Workspace, error) {
	for _, w := range c.simulators() {
		if name == "" || w.Name == name {
			return w, nil
		}
	}
	return nil, errNotFound
}

// simulator shows a simulated conversation.
func (c *Console) simulator(q *request) error {
	space, err := c.simulatorOf(q.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	with := q.r.URL.Query().Get("with")
	scene, err := space.Simulator.Scene(q.ctx(), with)
	if err != nil {
		c.log.Warn("the sandbox does not answer", "workspace", space.Name, "error", err)
		return problem(502, "error.sandbox", engine.Harmless(err.Error()))
	}
	p := simulatorPage{
		Workspace: space.Name, Now: c.at(space.Name, scene.Now), Jumps: scene.Jumps, Until: c.at(space.Name, scene.Until), Team: scene.Team, Verbs: failingVerbs, Kinds: []string{"429", "409", "503_before", "503_after"},
		Acts: q.user.Role >= Editor, NewPhone: fmt.Sprintf("+55119%08d", q.now.UnixNano()/1e6%1e8),
	}
	if all := c.simulators(); len(all) > 1 {
		for _, w := range all {
			p.Spaces = append(p.Spaces, w.Name)
		}
	}
	if with == "" && len(scene.Conversations) > 0 {
		with = scene.Conversations[0].ID
	}
	p.choose(scene, with)
	as := q.r.URL.Query().Get("as")
	p.AsTeam, p.Writes = as == "team", as != ""
	p.Here = p.link(with)
	if p.AsTeam {
		p.Here += "&as=team"
	}
	if opening, ok := nextOpening(space, scene.Now); ok {
		p.NextOpening = hours.Soon(q.words(), c.at(space.Name, opening), p.Now)
	}
	wait, ok, err := c.nextWait(q, space, with, scene.Now)
	if err != nil {
		return err
	}
	if ok {
		p.NextWait = hours.Soon(q.words(), c.at(space.Name, wait), p.Now)
	}
	if p.With != nil {
		if p.Rows, err = c.played(q, space.Name, "conversation:"+with); err != nil {
			return err
		}
		if len(p.Rows) > 0 {
			p.Whole = conversationLink(space.Name, "conversation:"+with)
		}
	}
	for _, f := range scene.Failures {
		p.Failures = append(p.Failures, viewFailure(q.words(), f))
	}
	return q.show("simulator", "simulator", q.words().T("nav.simulator"), p)
}

// link is the page's address with a conversation.
func (p *simulatorPage) link(with string) string {
	return "/simulator?" + url.Values{"workspace": {p.Workspace}, "with": {with}}.Encode()
}

// nextOpening returns when one of the desks opens next.
func nextOpening(w *Workspace, now time.Time) (next time.Time, ok bool) {
	for _, cal := range w.book().Set.Calendars {
		if cal == nil {
			continue // it has problems
		}
		if at, opens := cal.NextOpen(now); opens && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// nextWait returns when the first wait of a conversation is over; without one, of all of them.
func (c *Console) nextWait(q *request, w *Workspace, with string, now time.Time) (next time.Time, ok bool, err error) {
	filter := journal.RunFilter{Workspace: w.Name, State: journal.Waiting, Limit: conversationRuns}
	if with != "" {
		filter.Lane = "conversation:" + with
	}
	runs, err := c.options.Journal.ListRuns(q.ctx(), filter)
	for _, r := range runs {
		if r.WakeAt.After(now) && (!ok || r.WakeAt.Before(next)) {
			next, ok = r.WakeAt, true
		}
	}
	return next, ok, err
}

// choose takes over the conversations and cards that are offered: of one conversation, its own
// cards.
func (p *simulatorPage) choose(scene Scene, with string) {
	for i, one := range scene.Conversations {
		v := playedView{SimulatedConversation: one, Link: p.link(one.ID), Present: one.ID == with}
		if v.Present {
			p.With = &v
		}
		if i < playedPeople || v.Present {
			p.People = append(p.People, v)
		}
	}
	for _, card := range scene.Cards {
		if len(p.Cards) < playedCards && (p.With == nil || card.Conversation == with) {
			p.Cards = append(p.Cards, card)
		}
	}
}

// viewFailure puts a failure into words.
func viewFailure(w words.Language, f Failure) failureView {
	v := failureView{What: w.T("sim.fail.other", f.Status), Calls: w.T("sim.any"), Times: f.Times}
	if kind := f.kind(); kind != "" {
		v.What = w.T("sim.fail." + kind)
	}
	if f.Verb != "" {
		v.Calls = w.Or("verb.", f.Verb)
	}
	return v
}

// played merges the events of a conversation, each with its runs, in order of time.
func (c *Console) played(q *request, workspace, lane string) ([]playedRow, error) {
	j := c.options.Journal
	events, err := j.ListEvents(q.ctx(), journal.EventFilter{Workspace: workspace, Lane: lane, Limit: conversationEvents})
	if err != nil {
		return nil, err
	}
	runs, err := j.ListRuns(q.ctx(), journal.RunFilter{Workspace: workspace, Lane: lane, Limit: conversationRuns})
	if err != nil {
		return nil, err
	}
	views, err := c.runViews(q, runs)
	if err != nil {
		return nil, err
	}
	byEvent := map[int64][]playedRun{}
	for i, r := range slices.Backward(runs) {
		v := playedRun{runView: views[i]}
		teller := c.stepTeller(q, r, v.Lane.Label)
		for _, s := range r.Steps {
			v.Steps = append(v.Steps, c.stepLine(q, r, s, teller))
		}
		byEvent[r.Event] = append(byEvent[r.Event], v)
	}
	entries, err := c.entries(q, workspace, events, nil)
	if err != nil {
		return nil, err
	}
	var rows []playedRow
	for _, e := range entries {
		row := playedRow{entryView: e, Runs: byEvent[e.Event.Seq], Waiting: !e.Event.Decided, Others: e.Event.Others}
		delete(byEvent, e.Event.Seq)
		if row.Side != "" || len(row.Runs) > 0 || len(row.Marks) > 0 {
			rows = append(rows, row)
		}
	}
	// Runs started by a schedule or a person, or in another lane.
	for _, event := range slices.Sorted(maps.Keys(byEvent)) {
		left := byEvent[event]
		rows = append(rows, playedRow{entryView: entryView{At: left[0].Started}, Runs: left})
	}
	slices.SortStableFunc(rows, func(a, b playedRow) int { return a.At.Compare(b.At) })
	return rows[max(0, len(rows)-playedRows):], nil
}

// An entryView is one thing that was seen or done.
type entryView struct {
	At     time.Time
	Lines  []string // of a message
	Rest   []string // the rest of a long text
	Side   string   // in, out or engine
	Sender string
	Media  bool
	Event  *eventView
	Marks  []ruleView // the rules that it started, or the one that sent it
	MarkOf string     // the run that sent it
	Run    *runView
	Times  int // how many of its kind it stands for
}

// entries puts what was seen and what was done into one line, the oldest first.
func (c *Console) entries(q *request, workspace string, events []*journal.Event, runs []*journal.Run) ([]entryView, error) {
	sent, err := c.sentByEngine(q, workspace, events)
	if err != nil {
		return nil, err
	}
	eventViews, err := c.eventViews(q, events)
	if err != nil {
		return nil, err
	}
	runViews, err := c.runViews(q, runs)
	if err != nil {
		return nil, err
	}
	var list []entryView
	for i, e := range events {
		v := entryView{At: eventViews[i].Created, Event: &eventViews[i], Marks: eventViews[i].Fired}
		if m, ok := c.messageOf(e.Event); ok {
			v.Media, v.Side, v.Sender = m.MediaID != "", "out", engine.Harmless(m.Sender.Name)
			v.Lines, v.Rest = story.Parted(words.HarmlessLines(m.Text))
			if m.Direction == service.Inbound {
				v.Side = "in"
			}
			if own, ok := sent[engine.ObjectKey(m.ID)]; ok {
				v.Side, v.Sender, v.Marks, v.MarkOf = "engine", "", []ruleView{c.ruleView(workspace, own.Rule)}, "/runs/"+itoa(own.Run)
			}
		}
		list = append(list, v)
	}
	slices.Reverse(list) // lists have the newest first
	for i := range slices.Backward(runViews) {
		list = append(list, entryView{At: runViews[i].Started, Run: &runViews[i]})
	}
	slices.SortStableFunc(list, func(a, b entryView) int { return a.At.Compare(b.At) })
	return folded(list), nil
}

// folded merges consecutive events of a kind that no rule fired for.
func folded(list []entryView) (out []entryView) {
	for _, e := range list {
		if n := len(out); n > 0 && e.plain() && out[n-1].plain() && out[n-1].Event.Type == e.Event.Type {
			out[n-1].Times++
			continue
		}
		e.Times = 1
		out = append(out, e)
	}
	return out
}

// plain reports whether an entry is an event that is no message and that no rule fired for.
func (e entryView) plain() bool { return e.Run == nil && e.Side == "" && len(e.Marks) == 0 }

// sentByEngine returns which messages the engine sent, by the keys of their ids.
func (c *Console) sentByEngine(q *request, workspace string, events []*journal.Event) (map[string]journal.Caused, error) {
	var ids []string
	for _, e := range events {
		if m, ok := c.messageOf(e.Event); ok && m.Direction != service.Inbound && m.ID != "" {
			ids = append(ids, engine.ObjectKey(m.ID))
		}
	}
	caused, err := c.options.Journal.Caused(q.ctx(), workspace, vocabulary.MessageSent, ids, time.Time{})
	if err != nil {
		return nil, err
	}
	sent := make(map[string]journal.Caused, len(caused))
	for _, one := range caused {
		sent[one.Object] = one
	}
	return sent, nil
}
