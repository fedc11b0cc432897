package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"

	_ "time/tzdata" // desks are in a zone, also on machines without any
)

// hold places and lifts holds, from outside the engines.
func (w *world) hold(ctx context.Context, list []hold) {
	for _, h := range list {
		w.activity++
		if err := w.placeHold(ctx, h); err != nil {
			w.outcome.Failure = fmt.Sprintf("stop: %v", err)
		}
	}
}

// placeHold places or lifts a hold, and notes when that was acknowledged.
func (w *world) placeHold(ctx context.Context, h hold) error {
	j, err := w.store.Beside()
	if err != nil {
		return err
	}
	where := workspace
	if h.rule == "" {
		where = ""
	}
	i, stopped := w.stops[h.rule]
	switch {
	case h.lift && stopped:
		w.desk.stops[i].To, w.desk.stops[i].CallsEnd = w.now, len(w.desk.calls)
		delete(w.stops, h.rule)
		holds, err := j.Holds(ctx)
		if err != nil {
			return err
		}
		for _, on := range journal.Resumable(holds, where, h.rule, "") {
			if _, err := j.Lift(ctx, w.clock(), on); err != nil {
				return err
			}
			if on.Kind == journal.HoldSafety {
				talk := strings.TrimPrefix(on.Lane, laneOf(""))
				w.desk.stops[i].Bounds = append(w.desk.stops[i].Bounds, w.desk.conversations[talk])
			}
		}
	case !h.lift && !stopped:
		underWay, err := j.Hold(ctx, journal.Hold{Workspace: where, Rule: h.rule, Kind: journal.HoldPerson, Reason: "a person stopped it", Since: w.clock()})
		if err != nil {
			return err
		}
		stop := Stop{Rule: h.rule, From: w.now, Calls: len(w.desk.calls), CallsEnd: -1}
		for _, u := range underWay {
			stop.UnderWay = append(stop.UnderWay, u.Key+"/"+u.Step)
		}
		w.stops[h.rule] = len(w.desk.stops)
		w.desk.stops = append(w.desk.stops, stop)
	}
	return nil
}

// trouble carries out a trouble that has a time.
func (w *world) trouble(ctx context.Context, t Trouble) error {
	w.outcome.Coverage[[2]string{"engine", t.Kind}]++
	w.activity++
	switch t.Kind {
	case TroubleJump:
		w.skew, w.skewed = t.For, w.now.Add(10*time.Minute)
		w.desk.rest = time.Time{} // by its own clock the engine waits long enough
	case TroublePrune:
		j, err := w.store.Beside()
		if err != nil {
			return err
		}
		for {
			more, err := j.Prune(ctx, w.clock(), t.For)
			if err != nil || !more {
				return err
			}
		}
	case TroubleCopy:
		for _, p := range w.engines {
			if p.up() {
				if err := p.close(false); err != nil {
					return err
				}
				p.again = w.now
			}
		}
		return w.store.Copy(ctx)
	case TroubleDown:
		for _, p := range w.engines {
			if p.up() {
				if err := p.close(false); err != nil {
					return err
				}
				p.again = w.now.Add(t.For)
			}
		}
	}
	return nil
}

// act carries out an act of a person.
func (w *world) act(ctx context.Context, a Act) error {
	w.activity++
	switch a.Kind {
	case ActPauses:
		w.holds = append(w.holds, hold{rule: a.Text})
		return nil
	case ActResumes:
		w.holds = append(w.holds, hold{rule: a.Text, lift: true})
		return nil
	case ActReloads:
		return w.reload()
	case ActFires:
		return w.fire(ctx, a)
	}
	return w.desk.act(ctx, a)
}

// reload swaps the rules.
func (w *world) reload() error {
	if w.other == nil {
		return nil
	}
	w.set, w.other = w.other, w.set
	for _, p := range w.engines {
		if p.up() {
			if err := p.setRules(); err != nil {
				return err
			}
		}
	}
	return nil
}

// reloadAtWork does so while an engine is at work. Its schedules may be, and hear of it when they
// are done.
func (w *world) reloadAtWork() error {
	if w.other == nil {
		return nil
	}
	w.set, w.other = w.other, w.set
	for _, p := range w.engines {
		if p.up() {
			p.unscheduled = true
			if err := p.engine.SetRules(workspace, w.set); err != nil {
				return err
			}
		}
	}
	return nil
}

// intervene carries out an act of a person during an engine's work.
func (w *world) intervene(ctx context.Context, t Trouble) error {
	w.activity++
	if t.Kind == TroubleReload {
		return w.reloadAtWork()
	}
	h := hold{}
	if rules := w.scenario.Rules; t.More > 0 && t.More <= len(rules) {
		h.rule = rules[t.More-1].ID
	}
	if _, stopped := w.stops[h.rule]; stopped {
		return nil
	}
	end := timedAct{w.now.Add(t.For), func(context.Context) error {
		w.holds = append(w.holds, hold{rule: h.rule, lift: true})
		return nil
	}}
	i, _ := slices.BinarySearchFunc(w.timed, end.at, func(a timedAct, at time.Time) int { return a.at.Compare(at) })
	w.timed = slices.Insert(w.timed, i, end)
	return w.placeHold(ctx, h)
}

// fire starts a manual rule for a customer's conversation.
func (w *world) fire(ctx context.Context, a Act) error {
	conversation := w.desk.conversationOf(a.Customer)
	if conversation == "" || w.set.Rule(a.Text) == nil {
		return nil
	}
	w.fired++
	w.desk.fired = append(w.desk.fired, Firing{Rule: a.Text, At: w.now, Customer: a.Customer})
	at := w.clock().Truncate(time.Microsecond)
	j, err := w.store.Beside()
	if err != nil {
		return err
	}
	_, err = j.Accept(ctx, []rules.Event{{
		Workspace: workspace, ID: fmt.Sprintf("manual/%d", w.fired), Type: "manual", Rule: a.Text, Lane: actions.ConversationLane(conversation),
		CreatedAt: at, ReceivedAt: at, Data: map[string]any{"conversation_id": conversation},
	}})
	return err
}
