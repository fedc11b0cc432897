package console

import (
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// conversationsPage finds conversations.
type conversationsPage struct {
	Query string
	Found []foundView
}

// A foundView is a conversation that was found.
type foundView struct {
	laneView
	Phone, Protocol string
	Workspace       string
	Seen            time.Time
}

const foundMost = 50

// conversations finds conversations by name, phone or protocol number, or by an id.
func (c *Console) conversations(q *request) error {
	p := conversationsPage{Query: strings.TrimSpace(words.Cut(q.r.URL.Query().Get("q"), 100))}
	if p.Query != "" {
		if to, err := c.conversationByID(q, p.Query); err != nil || to != "" {
			if err != nil {
				return err
			}
			return q.redirect(to)
		}
		found, err := c.options.Journal.FindLanes(q.ctx(), p.Query, foundMost)
		if err != nil {
			return err
		}
		names := &lanes{q.words(), map[string]journal.Who{}}
		for _, who := range found {
			names.known[who.Workspace+"\x00"+who.Lane] = who
			p.Found = append(p.Found, foundView{names.of(who.Workspace, who.Lane), engine.Harmless(who.Phone), engine.Harmless(who.Protocol), who.Workspace, who.Seen})
		}
	}
	return q.show("conversations", "conversations", q.words().T("nav.conversations"), p)
}

// conversationByID returns the address of a conversation, given its id or lane, or "".
func (c *Console) conversationByID(q *request, text string) (string, error) {
	lane := text
	if !strings.Contains(lane, ":") {
		lane = "conversation:" + lane
	}
	found, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Lane: lane, Limit: 1})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return conversationLink(found[0].Workspace, lane), nil
}

// conversationPage is everything that the engine saw and did for a conversation.
type conversationPage struct {
	laneView
	Phone, Protocol string
	Workspace       string
	Days            []conversationDay
	Here            string
	Older, Newest   string
	Refresh         bool // what is shown is the newest of it
	Acts            bool
	Mute            *muteView
}

// A muteView says whether nothing automatic is sent, and what a person can do about that.
type muteView struct {
	Lane   string
	Muted  bool
	Since  time.Time
	Until  time.Time // zero is until somebody unmutes it
	Rule   *ruleView // that muted it; nil if a person did
	Run    string
	Times  []optionView
	Unmute string // the value that unmutes
}

// A conversationDay is one day of it.
type conversationDay struct {
	Day     time.Time
	Entries []entryView
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

const (
	conversationEvents = 200
	conversationRuns   = 500
)

// conversation shows a conversation in one line of time.
func (c *Console) conversation(q *request) error {
	workspace, lane := q.r.URL.Query().Get("workspace"), q.r.URL.Query().Get("lane")
	if c.workspaces[workspace] == nil || lane == "" {
		return errNotFound
	}
	before, err := numberOf(q.r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	events, runs, more, err := c.seenAndDone(q, workspace, lane, before)
	if err != nil {
		return err
	}
	if len(events)+len(runs) == 0 {
		return errNotFound
	}
	names, err := q.lanesOf(map[string][]string{workspace: {lane}})
	if err != nil {
		return err
	}
	who := names.known[workspace+"\x00"+lane]
	p := conversationPage{
		laneView: names.of(workspace, lane), Phone: engine.Harmless(who.Phone), Protocol: engine.Harmless(who.Protocol), Workspace: workspace,
		Here: conversationLink(workspace, lane), Refresh: before == 0, Acts: q.user.Role >= Operator,
	}
	if p.Mute, err = c.muteView(q, workspace, lane); err != nil {
		return err
	}
	if before > 0 {
		p.Newest = p.Here
	}
	if more {
		p.Older = p.Here + "&before=" + itoa(events[len(events)-1].Seq)
	}
	entries, err := c.entries(q, workspace, events, runs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n := len(p.Days); n == 0 || !sameDay(p.Days[n-1].Day, e.At) {
			p.Days = append(p.Days, conversationDay{Day: e.At})
		}
		day := &p.Days[len(p.Days)-1]
		day.Entries = append(day.Entries, e)
	}
	return q.show("conversation", "conversations", p.Label, p)
}

// muteView says whether a conversation is muted; nil if the lane is none.
func (c *Console) muteView(q *request, workspace, lane string) (*muteView, error) {
	if !strings.HasPrefix(lane, actions.ConversationLane("")) {
		return nil, nil
	}
	v := &muteView{Lane: lane, Unmute: "off"}
	for _, d := range muteTimes {
		length := duration.Format(d)
		v.Times = append(v.Times, optionView{Value: length, Label: q.words().T("mute.for." + length)})
	}
	m, err := c.options.Journal.Muted(q.ctx(), workspace, lane, q.now)
	if err != nil || m == nil {
		return v, err
	}
	v.Muted, v.Since, v.Until = true, c.at(workspace, m.Since), c.at(workspace, m.Until)
	if m.Rule != "" {
		rule := c.ruleView(workspace, m.Rule)
		v.Rule, v.Run = &rule, "/runs/"+itoa(m.Run)
	}
	return v, nil
}

// seenAndDone returns the newest events of a conversation before one of them, with the runs that
// they started, and whether there are more.
func (c *Console) seenAndDone(q *request, workspace, lane string, before int64) (events []*journal.Event, runs []*journal.Run, more bool, err error) {
	j := c.options.Journal
	events, err = j.ListEvents(q.ctx(), journal.EventFilter{Workspace: workspace, Lane: lane, Before: before, Limit: conversationEvents + 1})
	if err != nil {
		return nil, nil, false, err
	}
	if more = len(events) > conversationEvents; more {
		events = events[:conversationEvents]
	}
	those := journal.RunFilter{Workspace: workspace, Lane: lane, Limit: conversationRuns}
	for _, e := range events {
		those.Events = append(those.Events, e.Seq)
	}
	if len(events) > 0 || before == 0 { // a run outlives its event's retention
		runs, err = j.ListRuns(q.ctx(), those)
	}
	return events, runs, more, err
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
			v.Lines, v.Rest = parted(words.HarmlessLines(m.Text))
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

// What is shown of a message at once.
const (
	partLines = 30
	partText  = 1200 // bytes
)

// parted parts a long text into what is shown at once and the rest of it.
func parted(lines []string) (shown, rest []string) {
	left := partText
	for i, l := range lines {
		if i == partLines || len(l) > left && i > 0 {
			return lines[:i], lines[i:]
		}
		if len(l) > left {
			cut := strings.ToValidUTF8(l[:left], "")
			return []string{cut}, append([]string{l[len(cut):]}, lines[1:]...)
		}
		left -= len(l)
	}
	return lines, nil
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
	caused, err := c.options.Journal.Caused(q.ctx(), workspace, vocabulary.MessageSent, ids)
	if err != nil {
		return nil, err
	}
	sent := make(map[string]journal.Caused, len(caused))
	for _, one := range caused {
		sent[one.Object] = one
	}
	return sent, nil
}

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}
