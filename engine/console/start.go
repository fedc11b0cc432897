package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// startPage starts a rule by hand.
type startPage struct {
	ruleView
	Stage  rules.Stage
	Key    string // makes a repeated request the same one
	Query  string
	Found  []startLane
	Values []startValue
	Alone  string // the value of the choice of no conversation
}

// A startLane is a conversation to choose.
type startLane struct {
	laneView
	Lane            string
	Phone, Protocol string
	Chosen          bool
}

// A startValue is a value that the rule reads of the event.
type startValue struct {
	Name string // with dots between the parts of its path
	Kind string // text, number or flag
	path []string
}

const (
	startAlone        = "none" // instead of a lane: about no conversation
	startFound        = 20
	startValueMost    = 2000            // characters
	startWait         = time.Second / 2 // for the verdict, which usually takes milliseconds
	conversationIDKey = "conversation_id"
)

// startKey matches the keys of rand.Text.
var startKey = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// startable reports whether a rule can be started by hand, as for quando fire.
func (c *Console) startable(set *rules.Set, r *rules.Rule) bool {
	return c.options.Accept != nil && r != nil && r.When.Manual && r.Stage != rules.Draft && brokenOf(set, r.ID) == nil
}

// startOf returns the rule that a request wants to start.
func (c *Console) startOf(q *request) (*Workspace, *rules.Rule, error) {
	w := c.workspaces[q.r.PathValue("workspace")]
	if w == nil || c.options.Accept == nil {
		return nil, nil, errNotFound
	}
	set := w.book().Set
	r := set.Rule(q.r.PathValue("rule"))
	if r == nil || !r.When.Manual {
		return nil, nil, errNotFound
	}
	if !c.startable(set, r) {
		return nil, nil, problem(http.StatusConflict, "error.start_stage")
	}
	return w, r, nil
}

// askStart asks for which customer, and with which values, a rule is to start.
func (c *Console) askStart(q *request) error {
	w, r, err := c.startOf(q)
	if err != nil {
		return err
	}
	p := startPage{ruleView: c.ruleView(w.Name, r.ID), Stage: r.Stage, Key: rand.Text(), Query: strings.TrimSpace(words.Cut(q.r.URL.Query().Get("q"), 100)), Values: valuesRead(w.book().Set, r), Alone: startAlone}
	if p.Query != "" {
		found, err := c.options.Journal.FindLanes(q.ctx(), p.Query, foundMost)
		if err != nil {
			return err
		}
		names := &lanes{q.words(), map[string]journal.Who{}}
		for _, who := range found {
			if who.Workspace != w.Name || !strings.HasPrefix(who.Lane, actions.ConversationLane("")) || len(p.Found) == startFound {
				continue
			}
			names.known[who.Workspace+"\x00"+who.Lane] = who
			p.Found = append(p.Found, startLane{laneView: names.of(who.Workspace, who.Lane), Lane: who.Lane, Phone: engine.Harmless(who.Phone), Protocol: engine.Harmless(who.Protocol)})
		}
		if len(p.Found) == 1 {
			p.Found[0].Chosen = true
		}
	}
	return q.show("start", "rules", q.words().T("start.title", p.Name), p)
}

// valuesRead lists what a rule reads of an event's data, in the order in which it does.
func valuesRead(set *rules.Set, r *rules.Rule) (list []startValue) {
	for _, use := range set.DataUses() {
		if use.Rule != r || len(use.Path) == 0 || use.Path[0] == conversationIDKey {
			continue
		}
		v := startValue{Name: strings.Join(use.Path, "."), Kind: "text", path: use.Path}
		switch use.Compared {
		case rules.Number:
			v.Kind = "number"
		case rules.Flag:
			v.Kind = "flag"
		}
		at := slices.IndexFunc(list, func(other startValue) bool { return other.Name == v.Name })
		switch {
		case at < 0:
			list = append(list, v)
		case list[at].Kind == "text":
			list[at].Kind = v.Kind
		}
	}
	return list
}

// start records the event that starts a rule, once for each key, and shows what came of it.
func (c *Console) start(q *request) error {
	w, r, err := c.startOf(q)
	if err != nil {
		return err
	}
	key := q.r.PostFormValue("key")
	if !startKey.MatchString(key) {
		return problem(http.StatusBadRequest, "error.form")
	}
	data, err := startData(q, valuesRead(w.book().Set, r))
	if err != nil {
		return err
	}
	if err := c.startFor(q, w, data); err != nil {
		return err
	}
	e := engine.ManualEvent(w.Name, r.ID, key, q.now, data)
	was, err := c.options.Journal.FindEvent(q.ctx(), w.Name, e.ID)
	if errors.Is(err, journal.ErrNoEvent) {
		err = q.change("start", w.Name+"/"+r.ID, e.Lane, func() error {
			_, err := c.options.Accept(q.ctx(), e)
			return err
		})
		if err != nil {
			return err
		}
		was, err = c.decided(q.ctx(), e)
	}
	if err != nil {
		return err
	}
	if was.Rule != e.Rule || was.Lane != e.Lane || fmt.Sprint(was.Data) != fmt.Sprint(e.Data) {
		return problem(http.StatusConflict, "error.start_again")
	}
	return q.redirect("/events/" + strconv.FormatInt(was.Seq, 10) + "?said=started")
}

// startFor sets the conversation that was chosen, which the journal must know.
func (c *Console) startFor(q *request, w *Workspace, data map[string]any) error {
	lane := q.r.PostFormValue("lane")
	if lane == startAlone {
		return nil
	}
	id, ok := strings.CutPrefix(lane, actions.ConversationLane(""))
	if !ok || id == "" {
		return problem(http.StatusBadRequest, "error.start_choose")
	}
	seen, err := c.options.Journal.ListEvents(q.ctx(), journal.EventFilter{Workspace: w.Name, Lane: lane, Limit: 1})
	if err == nil && len(seen) == 0 {
		err = problem(http.StatusBadRequest, "error.start_choose")
	}
	data[conversationIDKey] = id
	return err
}

// startData reads the values that a person wrote. An empty one is left out.
func startData(q *request, values []startValue) (map[string]any, error) {
	data := map[string]any{}
	for _, v := range values {
		text := strings.TrimSpace(q.r.PostFormValue("value." + v.Name))
		if text == "" {
			continue
		}
		if len(text) > startValueMost {
			return nil, problem(http.StatusRequestEntityTooLarge, "error.large")
		}
		kind := v.Kind
		if kind == "text" && q.r.PostFormValue("kind."+v.Name) == "number" { // the rule does not tell, the person does
			kind = "number"
		}
		var value any = text
		switch kind {
		case "number":
			n, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
			if err != nil {
				return nil, problem(http.StatusBadRequest, "error.start_number", engine.Harmless(v.Name))
			}
			value = n
		case "flag":
			value = text == "true"
		}
		setPath(data, v.path, value)
	}
	return data, nil
}

// setPath sets a value below a path of names. A value that stands in the way stays.
func setPath(data map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		if _, ok := data[name]; !ok {
			data[name] = map[string]any{}
		}
		below, ok := data[name].(map[string]any)
		if !ok {
			return
		}
		data = below
	}
	data[path[len(path)-1]] = value
}

// decided waits a moment for the verdict on an event, and returns the event as it stands then.
func (c *Console) decided(ctx context.Context, e rules.Event) (*journal.Event, error) {
	end := time.After(startWait)
	for {
		found, err := c.options.Journal.FindEvent(ctx, e.Workspace, e.ID)
		if err != nil || found.Decided {
			return found, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end:
			return found, nil
		case <-time.After(startWait / 20):
		}
	}
}
