package rulescmd

import (
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// The JSON of backtest and diff. Every member is always there: programs read it.
type (
	backtestJSON struct {
		Since       time.Time        `json:"since"`
		Until       time.Time        `json:"until"`
		Events      int              `json:"events"`
		Effects     []effectJSON     `json:"effects"`
		Differences []differenceJSON `json:"differences"`
		NotRecorded []gapJSON        `json:"not_recorded"`
		Rules       []triedJSON      `json:"rules"`
	}
	effectJSON struct {
		Rule         string         `json:"rule"`
		Event        string         `json:"event"`
		At           time.Time      `json:"at"`
		Verb         string         `json:"verb"`
		Arguments    map[string]any `json:"arguments"`
		Stage        rules.Stage    `json:"stage"`
		Who          string         `json:"who"`
		Conversation string         `json:"conversation"`
	}
	differenceJSON struct {
		Rule  string        `json:"rule"`
		Event string        `json:"event"`
		At    time.Time     `json:"at"`
		Who   string        `json:"who"`
		Was   treatmentJSON `json:"was"`
		Would treatmentJSON `json:"would"`
	}
	treatmentJSON struct {
		Outcome     journal.Outcome `json:"outcome"`
		Reason      string          `json:"reason"`
		State       journal.State   `json:"state"`
		Stage       rules.Stage     `json:"stage"`
		Effects     []doneJSON      `json:"effects"`
		NotRecorded string          `json:"not_recorded"`
	}
	doneJSON struct {
		At        time.Time      `json:"at"`
		Verb      string         `json:"verb"`
		Arguments map[string]any `json:"arguments"`
	}
	gapJSON struct {
		Rule     string    `json:"rule"`
		Event    string    `json:"event"`
		At       time.Time `json:"at"`
		Question string    `json:"question"`
	}
	triedJSON struct {
		ID      string      `json:"id"`
		Stage   rules.Stage `json:"stage"`
		Changed bool        `json:"changed"`
		Removed bool        `json:"removed"`
		Waiting int         `json:"waiting"`
	}
)

func newBacktestJSON(r *backtest.Result) *backtestJSON {
	out := &backtestJSON{
		Since: r.Since.UTC(), Until: r.Until.UTC(), Events: r.Events,
		Effects: []effectJSON{}, Differences: []differenceJSON{}, NotRecorded: []gapJSON{}, Rules: []triedJSON{},
	}
	for _, e := range r.Effects {
		out.Effects = append(out.Effects, effectJSON{e.Rule, e.Event, e.At.UTC(), e.Verb, cli.OrEmpty(e.Arguments), e.Stage, e.Who, e.About.Conversation})
	}
	for _, d := range r.Differences {
		out.Differences = append(out.Differences, differenceJSON{d.Rule, d.Event, d.At.UTC(), d.Who, newTreatmentJSON(d.Was), newTreatmentJSON(d.Would)})
	}
	for _, g := range r.NotRecorded {
		out.NotRecorded = append(out.NotRecorded, gapJSON{g.Rule, g.Event, g.At.UTC(), g.Question})
	}
	for _, n := range r.Rules {
		out.Rules = append(out.Rules, triedJSON(n))
	}
	return out
}

func newTreatmentJSON(t backtest.Treatment) treatmentJSON {
	out := treatmentJSON{Outcome: t.Outcome, Reason: t.Reason, State: t.State, Stage: t.Stage, Effects: []doneJSON{}, NotRecorded: t.NotRecorded}
	for _, e := range t.Effects {
		out.Effects = append(out.Effects, doneJSON{e.At.UTC(), e.Verb, cli.OrEmpty(e.Arguments)})
	}
	return out
}
