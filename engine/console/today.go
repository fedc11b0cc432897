package console

import (
	"cmp"
	"fmt"
	"html/template"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/console/internal/digest"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// todayPage is how things stand.
type todayPage struct {
	Needs   []need
	More    int    // needs that are not listed
	Failed  string // address of the full list of failed runs; may be empty
	First   *firstStep
	Since   time.Time // from when on what rules did is summed up
	Clock   string    // the same in words
	Did     []didView
	Others  int // rules that did something and are not listed
	Now     []figure
	Changes []changeView
	Figures []figure
	Chart   template.HTML
	Hours   []picture.HourCount // the same as a table
	Ends    []string
	Acts    bool
	Here    string
}

// A need is something that needs a person, with its remedy: a button, or a link.
type need struct {
	Key                 string // by which a live page knows it again
	Title, Detail, Link string
	Go                  *linkView // a link that is its remedy; nil is its first button
	Menu                string    // what the menu of its other buttons is called
	Buttons             []button
	Technical           []string
	Urgent              bool
	Failed              bool // it is about runs that failed
}

// Main is the button that stands beside a need; nil is none.
func (n need) Main() *button {
	if n.Go != nil || n.Menu != "" || len(n.Buttons) == 0 {
		return nil
	}
	return &n.Buttons[0]
}

// Rest are the buttons in the menu of a need.
func (n need) Rest() []button {
	if n.Main() != nil {
		return n.Buttons[1:]
	}
	return n.Buttons
}

// A button is a form with one action.
type button struct {
	Label, Action string
	Confirm       string // what it does, for one that asks first; may be empty
	Fields        map[string]string
}

// A figure is a number with its name and where to see more.
type figure struct {
	Label, Link string
	N           int
	Bad         bool   // unless it is zero
	Before      string // the same by this time on days before; may be empty
}

// A firstStep is what somebody does first who has no rules, or whose rules have done nothing yet.
type firstStep struct {
	Words     string
	Write     string // where a rule is written; empty is not for this person
	Simulator bool
}

// A didView is what one rule did, in words.
type didView struct {
	Key, Words, Link string
	Rule             ruleView
	Failed           string // how often it failed, in words; empty is never
}

const (
	needsMost = 40
	didMost   = 12
	// didRuns bounds the runs that are read for what rules did. Where there were more, it is summed up
	// from counts, which know less.
	didRuns = 500
	// didBack is how far back a run may have begun that did something today.
	didBack = 3 * 24 * time.Hour
)

// today shows the overview: what needs a person, what rules did since the desk opened, what was
// changed, and the day against others.
func (c *Console) today(q *request) error {
	j, now := c.options.Journal, c.at("", q.now)
	counts, err := j.Counts(q.ctx(), journal.CountFilter{Since: digest.Since(now)})
	if err != nil {
		return err
	}
	standing, err := j.CountRuns(q.ctx())
	if err != nil {
		return err
	}
	needs, err := c.needs(q)
	if err != nil {
		return err
	}
	w := q.words()
	p := todayPage{Figures: dayFigures(w, counts, now), Hours: picture.HoursOf(counts, now, 24), Acts: q.user.Role >= Operator, Here: "/"}
	for _, state := range []journal.State{journal.Waiting, journal.Held, journal.Uncertain} {
		if n := standing[state]; n > 0 {
			p.Now = append(p.Now, figure{Label: w.N("today.now."+string(state), n), Link: "/runs?state=" + string(state), N: n, Bad: state != journal.Waiting})
		}
	}
	c.counted.set(len(needs), q.now)
	p.Chart, p.Ends = picture.Hours(w, p.Hours), picture.EndsOf(p.Hours)
	p.Needs = needs[:min(len(needs), needsMost)]
	p.More = len(needs) - len(p.Needs)
	if slices.ContainsFunc(needs, func(n need) bool { return n.Failed }) {
		p.Failed = "/runs?state=failed"
	}
	if err := c.didToday(q, &p); err != nil {
		return err
	}
	if p.Changes, err = c.changesLately(q); err != nil {
		return err
	}
	if len(p.Did) == 0 {
		if p.First, err = c.firstStep(q); err != nil {
			return err
		}
	}
	return q.show("today", "today", w.T("nav.today"), p)
}

// dayFigures compares the day with yesterday and the same weekday before.
func dayFigures(w words.Language, counts []journal.Count, now time.Time) (list []figure) {
	day := "kind=runs&day=" + now.Format(time.DateOnly)
	for _, one := range []struct {
		figure
		wanted func(journal.Count) bool
	}{
		{figure{Label: w.T("today.started"), Link: "/activity?" + day}, func(n journal.Count) bool { return n.What == journal.CountFired }},
		{figure{Label: w.T("today.effects"), Link: "/activity?state=done&" + day}, func(n journal.Count) bool { return n.What == journal.CountEffects }},
		{figure{Label: w.T("today.failures"), Link: "/activity?state=failed&" + day, Bad: true}, func(n journal.Count) bool {
			return n.What == journal.CountRuns && n.Detail == string(journal.FailedRun)
		}},
	} {
		found := digest.Compare(counts, now, one.wanted)
		one.N = found.Today
		if found.Yesterday+found.LastWeek > 0 {
			one.Before = w.T("today.before", w.Number(found.Yesterday), w.Number(found.LastWeek))
		}
		list = append(list, one.figure)
	}
	return list
}

// didToday says what rules did since the desk opened.
func (c *Console) didToday(q *request, p *todayPage) error {
	j := c.options.Journal
	p.Since = c.openedAt(q)
	runs, err := j.ListRuns(q.ctx(), journal.RunFilter{Since: p.Since.Add(-didBack), Limit: didRuns})
	if err != nil {
		return err
	}
	sums := digest.OfRuns(runs, p.Since)
	if len(runs) == didRuns && !runs[didRuns-1].StartedAt.Before(p.Since) {
		p.Since = countedSince(p.Since, q.now)
		counts, err := j.Counts(q.ctx(), journal.CountFilter{Since: p.Since, Every: 24 * time.Hour, Rules: true})
		if err != nil {
			return err
		}
		sums = digest.OfCounts(counts)
	}
	p.Clock = q.words().Moment(p.Since)
	p.Others = max(len(sums)-didMost, 0)
	for _, s := range sums[:len(sums)-p.Others] {
		v := didView{Key: s.Workspace + "/" + s.Rule, Rule: c.ruleView(s.Workspace, s.Rule), Words: didWords(q.words(), c.purposes.of(c.workspaces[s.Workspace], s.Rule), s)}
		v.Link = "/activity?kind=runs&rule=" + escapeQuery(s.Rule) + "&since=" + escapeQuery(p.Since.Format("15:04"))
		if v.Rule.Many {
			v.Link += "&workspace=" + escapeQuery(s.Workspace)
		}
		if s.Failed > 0 {
			v.Failed = q.words().N("did.failed", s.Failed)
		}
		p.Did = append(p.Did, v)
	}
	return nil
}

// countedSince returns from when on counts of rules tell what happened since a time: from the first
// period that begins after it, else from the present one.
func countedSince(since, now time.Time) time.Time {
	from := since.UTC().Truncate(journal.RuleCounts)
	if from.Before(since) && !from.Add(journal.RuleCounts).After(now) {
		from = from.Add(journal.RuleCounts)
	}
	return from.In(since.Location())
}

// didWords says what a rule did, as what it is for: 9 escalations (2 reached the second level).
func didWords(w words.Language, purpose string, s digest.Sum) string {
	switch {
	case purpose == "away" && s.Sent > 0, purpose == "remind" && s.Sent > 0:
		return w.N("did."+purpose, s.Sent)
	case purpose == "escalate" && s.Escalated > 0 && s.Second > 0:
		return w.N("did.escalate", s.Escalated) + " (" + w.N("did.second", s.Second) + ")"
	case purpose == "escalate" && s.Escalated > 0:
		return w.N("did.escalate", s.Escalated)
	case purpose == "ask" && s.Asked+s.Answered > 0:
		return askedWords(w, s)
	case purpose == "route" && s.Passed > 0:
		return w.N("did.route", s.Passed)
	case s.Started == 0 && s.Sent > 0:
		return w.N("did.sent", s.Sent)
	case s.Started == 0:
		return w.T("did.ended")
	}
	return w.N("did.started", s.Started)
}

// askedWords says how many were asked, how many answered, and what score they gave.
func askedWords(w words.Language, s digest.Sum) string {
	average, isSurvey := s.Average()
	var parts []string
	switch {
	case s.Asked > 0 && isSurvey:
		parts = append(parts, w.N("did.survey", s.Asked))
	case s.Asked > 0:
		parts = append(parts, w.N("did.ask", s.Asked))
	}
	parts = append(parts, w.N("did.answered", s.Answered))
	if isSurvey {
		parts = append(parts, w.T("did.average", w.Decimal(average, 1)))
	}
	return strings.Join(parts, ", ")
}

// openedAt returns when the desk opened today, by the calendar that most rules use. Without one,
// and before it opens, it is midnight.
func (c *Console) openedAt(q *request) time.Time {
	now := c.at("", q.now)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		set := w.book().Set
		uses := map[string]int{}
		if len(set.Calendars) > 1 {
			for _, one := range c.index.of(w.Name, set) {
				for _, name := range one.calendars {
					uses[name]++
				}
			}
		}
		best := ""
		for name, cal := range set.Calendars {
			if cal != nil && (best == "" || uses[name] > uses[best] || uses[name] == uses[best] && name < best) {
				best = name
			}
		}
		if best == "" {
			continue
		}
		if open := set.Calendars[best].Openings(midnight, now); len(open) > 0 && open[0].From.After(midnight) {
			return open[0].From.In(now.Location())
		}
		return midnight
	}
	return midnight
}

// clockToday reads a time of the present day: 08:00.
func clockToday(text string, now time.Time) (time.Time, bool) {
	at, err := time.Parse("15:04", text)
	return time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location()), err == nil
}

// firstStep says what to do first; nil once a rule has ever started.
func (c *Console) firstStep(q *request) (*firstStep, error) {
	first := &firstStep{Words: q.words().T("today.first.rules"), Simulator: len(c.simulators()) > 0}
	for _, w := range c.options.Workspaces {
		set := w.book().Set
		if len(set.Rules)+len(set.Broken) > 0 {
			first.Words = q.words().T("today.first.run")
		}
		if q.editable(w.Name) {
			first.Write = "/write"
		}
	}
	fired, err := c.options.Journal.LastFired(q.ctx())
	if err != nil || len(fired) > 0 {
		return nil, err
	}
	return first, nil
}

// needs lists what needs a person, most urgent first.
func (c *Console) needs(q *request) ([]need, error) {
	items, err := c.attention.Items(q.ctx(), q.now)
	if err != nil {
		return nil, err
	}
	byWorkspace := map[string][]string{}
	for _, i := range items {
		if i.Lane != "" {
			byWorkspace[i.Workspace] = append(byWorkspace[i.Workspace], i.Lane)
		}
	}
	names, err := q.lanesOf(byWorkspace)
	if err != nil {
		return nil, err
	}
	var list []need
	for _, i := range items {
		n := need{Key: i.Key, Title: i.Title(q.words().RulesLanguage(), names.of(i.Workspace, i.Lane).Label), Link: "/health", Urgent: i.Kind != attention.Failed}
		if i.Rule != "" && i.Outage == nil {
			n.Link = c.ruleView(i.Workspace, i.Rule).Link
		}
		switch i.Kind {
		case attention.Stopped:
			c.heldNeed(q, &n, i.Hold)
		case attention.Outage:
			c.outageNeed(q, &n, i.Outage)
		case attention.Uncertain:
			uncertainNeed(q, &n, i.Runs[0])
		case attention.Failed:
			c.failedNeed(q, &n, names, i.Runs)
		case attention.Broken:
			brokenNeed(q.words(), &n, i.Broken)
		case attention.Unwell:
			n.addTechnical(i.Check.Detail)
			if b, ok := c.repairButton(q.words(), *i.Check); ok {
				n.Buttons = []button{b}
			}
		}
		if n.Go == nil && len(n.Buttons) == 0 {
			n.Go = &linkView{Label: q.words().T("button.show"), Link: n.Link}
		}
		list = append(list, n)
	}
	return append(list, c.proposalNeeds(q)...), nil
}

// heldNeed is about a hold.
func (c *Console) heldNeed(q *request, n *need, h *journal.Hold) {
	w := q.words()
	n.Detail = w.T("need.since", w.Moment(c.at(h.Workspace, h.Since)))
	if h.Reason != "" {
		n.Detail += ": " + w.Told(h.Reason, h.Why)
	}
	if h.Kind == journal.HoldKey {
		n.Detail = w.T("need.since", w.Moment(c.at(h.Workspace, h.Since))) + ". " + w.T("need.key.mend")
		n.addTechnical(h.Reason)
		return
	}
	n.Buttons = []button{*resumes(w, *h)}
}

// uncertainNeed is about a run that only a person can let go on.
func uncertainNeed(q *request, n *need, r *journal.Run) {
	n.Detail, n.Link, n.Menu = q.words().T("need.uncertain.look"), "/runs/"+itoa(r.ID), q.words().T("need.decide")
	n.addTrouble(q.words(), r)
	for _, what := range asksOf(journal.Uncertain) {
		if what != journal.AskCancel {
			n.Buttons = append(n.Buttons, button{Label: q.words().T("button." + string(what)), Action: fmt.Sprintf("/runs/%d/%s", r.ID, what)})
		}
	}
}

// failedNeed is about runs that failed in the same way, the newest first.
func (c *Console) failedNeed(q *request, n *need, names *lanes, group []*journal.Run) {
	w, r, suffix := q.words(), group[0], ""
	n.Failed, n.Detail, n.Link = true, plainly(w, c.standing(q, r, names.of(r.Workspace, r.Home).Label)), "/runs/"+itoa(r.ID)
	n.addTrouble(w, r)
	if len(group) > 1 {
		n.Detail = w.T("need.failed.newest", w.Moment(c.at(r.Workspace, r.StartedAt)), names.of(r.Workspace, r.Home).Label, n.Detail)
		n.Link, suffix = "/runs?state=failed&rule="+escapeQuery(r.Rule), ".all"
	}
	var ids []string
	for _, r := range group {
		ids = append(ids, itoa(r.ID))
	}
	for _, what := range asksOf(journal.FailedRun) {
		n.Buttons = append(n.Buttons, button{Label: w.T("button." + string(what) + suffix), Action: "/failed/" + string(what), Fields: map[string]string{"runs": strings.Join(ids, " ")}})
	}
}

// brokenNeed is about a rule that is not in use as it is written.
func brokenNeed(w words.Language, n *need, b *rules.Broken) {
	n.Detail = w.T("need.broken.mend")
	if b.ID == "" {
		n.Link = "/rules"
	}
	n.Go = &linkView{Label: w.T("story.open_rule"), Link: n.Link}
	for _, p := range b.Problems.In(w.RulesLanguage()) {
		if p.Severity == source.Error {
			n.addTechnical(fmt.Sprintf("%s:%d: %s", filepath.Base(p.File), p.Line, p.Message))
			break
		}
	}
}

func (n *need) addTechnical(text string) {
	if text != "" {
		n.Technical = append(n.Technical, engine.Harmless(text))
	}
}

// addTrouble adds which run it is and what went wrong with it, as it was recorded.
func (n *need) addTrouble(w words.Language, r *journal.Run) {
	n.addTechnical(w.T("run.number") + " " + itoa(r.ID))
	said := cmp.Or(troubleOf(w, r, journal.StepUncertain), w.Told(r.Reason, r.Why))
	for _, s := range r.Steps {
		if s.State == journal.StepFailed && s.Error != "" {
			said = s.Error // as programs say it
		}
	}
	n.addTechnical(said)
}

// inCode matches what nobody at a desk says: names of code, addresses, ids and codes of answers.
var inCode = regexp.MustCompile(`[a-z]_[a-z]|[/{}=]|[0-9a-f]{8}-|\b[1-5]\d\d\b|[a-z]\.[a-z]|\bnil\b`)

// plainly returns an error in words that people use; what others wrote in code is left to the
// technical details.
func plainly(w words.Language, text string) string {
	if inCode.MatchString(text) {
		return w.T("need.failed.code")
	}
	return text
}
