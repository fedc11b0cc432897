package story_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/story"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

var saoPaulo = desktest.Must(time.LoadLocation("America/Sao_Paulo"))

var profile = service.DefaultProfile()

// friday is twenty minutes before the office closes.
var friday = time.Date(2026, 11, 13, 17, 40, 0, 0, saoPaulo)

// A desk is a company in a sandbox with a running engine, on one clock.
type desk struct {
	*sandbox.Sandbox
	t       *testing.T
	clock   *desktest.Clock
	journal *sqlite.Journal
	engine  *engine.Engine
	set     *rules.Set
	names   map[string]string
	lane    string
}

// newDesk starts a desk with rules, to which João writes.
func newDesk(t *testing.T, files ...string) *desk {
	t.Helper()
	d := &desk{t: t, clock: desktest.NewClock(friday), names: map[string]string{}}
	var address sandbox.Address
	d.Sandbox, address = desktest.Start(t, func(o *sandbox.Options) { o.Frozen = friday })
	d.journal = desktest.Must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "quando.db"), sqlite.Options{}))
	t.Cleanup(func() { _ = d.journal.Close() })
	client := desktest.Must(service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey), Now: d.clock.Now, MaxWait: -1}))
	w := desktest.Workspace(builtin.Options{Client: client, Location: saoPaulo}, func() *engine.Engine { return d.engine })
	d.engine = desktest.Must(engine.New(engine.Options{Journal: d.journal}, w))
	var list []*rules.File
	for i, text := range files {
		list = append(list, rules.Parse(fmt.Sprintf("%d.yaml", i), []byte(text)))
	}
	set, problems := rules.Compile(list, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	d.set = set
	if err := d.engine.SetRules("default", set); err != nil {
		t.Fatal(err)
	}
	desktest.Register(t, client, vocabulary.EventTypes(), d.clock.Now, d.engine.Accept)
	directory := service.NewDirectory(client)
	if err := directory.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range directory.Snapshot().Lists {
		for _, e := range l.Entries {
			d.names[e.ID] = e.Name
		}
	}
	written := desktest.Must(d.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511900000004", Name: "João", Text: "Oi, o meu pedido chegou com defeito."}))
	d.lane = "conversation:" + written.Conversation.String()
	d.until(friday)
	return d
}

// example returns the rules of an example.
func example(t *testing.T, name string) string {
	t.Helper()
	return string(desktest.Must(os.ReadFile(filepath.Join("..", "..", "..", "..", "examples", name, "rules.yaml"))))
}

// until lets everything happen until a time, each thing at its own.
func (d *desk) until(end time.Time) {
	d.t.Helper()
	for range 200 {
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		if _, err := d.engine.Tick(d.t.Context(), d.clock.Now()); err != nil {
			d.t.Fatal(err)
		}
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		due := desktest.Must(d.journal.Due(d.t.Context(), nil))
		switch {
		case !due.IsZero() && !due.After(d.clock.Now()):
			continue
		case due.IsZero() || due.After(end):
			if !d.clock.Now().Before(end) {
				return
			}
			due = end
		}
		d.clock.Set(due)
		if _, err := d.SetClock(d.t.Context(), due); err != nil {
			d.t.Fatal(err)
		}
	}
	d.t.Fatal("it does not come to rest")
}

func (d *desk) answers(text string) {
	d.t.Helper()
	desktest.Must(d.TeamMessage(sandbox.TeamMessage{Conversation: strings.TrimPrefix(d.lane, "conversation:"), Person: "Carla", Text: text}))
	d.until(d.clock.Now())
}

func (d *desk) teller(language string) *story.Teller {
	i := slices.IndexFunc(words.Languages, func(l words.Language) bool { return l.Code == language })
	return &story.Teller{
		Language: words.Languages[i], Customer: "João", Location: saoPaulo, Now: d.clock.Now(), Profile: &profile,
		Rule: func(id, _ string) *rules.Rule { return d.set.Rule(id) },
		Name: func(id string) string { return id }, Names: func(id string) string { return d.names[id] },
	}
}

// past is what the journal has of João.
func (d *desk) past() story.Past {
	d.t.Helper()
	p := story.Past{
		Events: desktest.Must(d.journal.ListEvents(d.t.Context(), journal.EventFilter{Lane: d.lane, Forward: true})),
		Runs:   desktest.Must(d.journal.ListRuns(d.t.Context(), journal.RunFilter{Lane: d.lane})),
	}
	var keys []string
	for _, e := range p.Events {
		for _, kind := range []service.Kind{service.KindMessage, service.KindCard, service.KindAttendance} {
			if id := profile.EventID(kind, e.Type, e.Data); id != "" {
				keys = append(keys, engine.ObjectKey(id))
			}
		}
	}
	p.Caused = desktest.Must(d.journal.Caused(d.t.Context(), "default", "", keys, time.Time{}))
	return p
}

// why explains a line as the page does.
func (d *desk) why(t *story.Teller, l *story.Line) *story.Why {
	d.t.Helper()
	var run *journal.Run
	if l.Run != 0 {
		run = desktest.Must(d.journal.FindRun(d.t.Context(), l.Run))
	}
	e := desktest.Must(d.journal.Events(d.t.Context(), l.Event))[0]
	offline := builtin.NewOffline(builtin.OfflineOptions{Own: func(context.Context, service.Message) (bool, error) { return false, nil }})
	told := desktest.Must(explain.New(explain.Options{Journal: d.journal, Desk: offline, Rules: d.set, Catalog: builtin.Catalog(), Location: saoPaulo, Language: t.RulesLanguage()}).Event(d.t.Context(), e))
	var verdicts []story.Verdict
	for _, r := range told.Rules {
		if r.Outcome == explain.NotForIt {
			continue
		}
		v := story.Verdict{Rule: r.Rule, Outcome: r.Outcome}
		for _, c := range r.Clauses {
			v.Clauses = append(v.Clauses, story.Clause{Text: c.Clause, False: c.Result == rules.ClauseFalse, Part: c.Part, Values: c.Values})
		}
		verdicts = append(verdicts, v)
	}
	return t.Explain(l, run, e, verdicts)
}

// read returns lines as one reads them.
func read(lines []story.Line) (list []string) {
	for _, l := range lines {
		text := l.Head
		if l.Why != "" {
			text += ": " + l.Why
		}
		if l.Side != "" {
			text = l.Who + " “" + strings.Join(l.Text, " ") + "”"
		}
		if l.Aside != "" {
			text += " · " + l.Aside
		}
		list = append(list, l.At.Format("Mon 15:04 ")+text)
	}
	return list
}

// TestEscalation tells of a customer for whom nobody had time, and why he was escalated.
func TestEscalation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, example(t, "sla-escalation"), example(t, "card-on-first-contact"), example(t, "keyword-routing"), example(t, "away-reply"))
	d.until(time.Date(2026, 11, 14, 9, 36, 0, 0, saoPaulo))
	d.answers("Bom dia, João!")
	desktest.Must(d.MoveCard(sandbox.MoveCard{Card: "João", Stage: "Proposal", Person: "Bruno"}))
	d.until(d.clock.Now())
	desktest.Must(d.TeamClose(sandbox.TeamClose{Conversation: strings.TrimPrefix(d.lane, "conversation:"), Person: "Carla", Reason: "solved"}))
	d.until(d.clock.Now())

	en := d.teller("en")
	told := en.Tell(d.past())
	want := []string{
		"Fri 17:40 Attendance ATD-000001 was opened",
		"Fri 17:40 Put on the board Sales, in Lead · card-on-first-contact",
		"Fri 17:40 João “Oi, o meu pedido chegou com defeito.”",
		"Fri 17:40 Clock of 15 office minutes started · until 17:55",
		"Fri 17:55 Label sla-breach: nobody had answered in 15 office minutes · sla-escalation",
		"Fri 17:55 Escalated to Supervisors: nobody had answered in 15 office minutes · sla-escalation",
		"Fri 17:55 Clock of 30 office minutes started · until 14 Nov 09:25",
		"Fri 18:00 Office closed: the clock pauses at 5 min of 30 min",
		"Sat 09:00 Office opened: the clock goes on",
		"Sat 09:25 Escalated to Carla: still nobody had answered after another 30 office minutes · sla-escalation",
		"Sat 09:25 Quando · sla-escalation “João, desculpe a demora. A Carla, nossa supervisora, já está com o seu atendimento.”",
		"Sat 09:36 Carla “Bom dia, João!”",
		"Sat 09:36 Bruno moved the card to Proposal",
		"Sat 09:36 Attendance ATD-000001 was closed",
	}
	if diff := cmp.Diff(want, read(told.Lines)); diff != "" {
		t.Errorf("the story is another one:\n%s", diff)
	}
	if len(told.Waiting) > 0 {
		t.Errorf("something waits: %v", read(told.Waiting))
	}
	i := slices.IndexFunc(told.Lines, func(l story.Line) bool { return strings.Contains(l.Head, "Supervisors") })
	why := d.why(en, &told.Lines[i])
	if want := "João was escalated to Supervisors because nobody had answered in 15 office minutes."; why.Lead != want {
		t.Errorf("%s, want %s", why.Lead, want)
	}
	var points, quiet []string
	for _, p := range why.Points {
		points = append(points, p.When+" "+p.Text)
	}
	for _, q := range why.Quiet {
		quiet = append(quiet, q.Rule+": "+q.Why)
	}
	if diff := cmp.Diff([]string{
		"17:40 João wrote", "17:40 The attendance was open", "17:40 The team had not answered", "17:55 15 office minutes passed",
		"17:55 The attendance was open", "17:55 The team had not answered", "17:55 Label sla-breach", "17:55 Transferred to Supervisors",
	}, points); diff != "" {
		t.Errorf("the reason is another one:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"away-reply: office was open", "keyword-welcome: no such word"}, quiet); diff != "" {
		t.Errorf("other rules stayed quiet:\n%s", diff)
	}
	pt := d.teller("pt")
	told = pt.Tell(d.past())
	if why, want := d.why(pt, &told.Lines[i]), "João foi escalado para Supervisors porque ninguém tinha respondido em 15 minutos de office."; why.Lead != want {
		t.Errorf("%s, want %s", why.Lead, want)
	}
	if newest := told.Find(""); newest.Head != "Escalado para Carla" {
		t.Errorf("at first it says why %s", newest.Head)
	}
}

// TestClock tells of a clock that runs, and of one that the team's answer ended.
func TestClock(t *testing.T) {
	t.Parallel()
	d := newDesk(t, example(t, "sla-escalation"))
	d.until(friday.Add(5 * time.Minute))
	en := d.teller("en")
	told := en.Tell(d.past())
	want := []string{"Fri 17:55 Waits until 17:55: ends early if an attendance is closed or the team answers · sla-escalation"}
	if diff := cmp.Diff(want, read(told.Waiting)); diff != "" {
		t.Errorf("something else waits:\n%s", diff)
	}
	if why, want := d.why(en, told.Find(told.Waiting[0].ID)), "The rule waits 15 office minutes, because João wrote, and the team had not answered."; why.Lead != want {
		t.Errorf("%s, want %s", why.Lead, want)
	}
	d.answers("Já vou ver, João!")
	told = d.teller("en").Tell(d.past())
	if len(told.Waiting) > 0 {
		t.Errorf("something still waits: %v", read(told.Waiting))
	}
	want = []string{"Fri 17:45 Carla “Já vou ver, João!”", "Fri 17:45 Carla is responsible now", "Fri 17:45 The rule ended early: the team wrote to João · sla-escalation"}
	got := read(told.Lines)
	if diff := cmp.Diff(want, got[len(got)-3:]); diff != "" {
		t.Errorf("the clock ends otherwise:\n%s", diff)
	}
}

const others = `
rules:
  - id: watches
    stage: shadow
    when: message.received
    do:
      - transfer: { sector: Support, reason: Who writes is served }
  - id: asks
    when: message.received
    do:
      - send_message: "Tudo certo?"
      - wait_for: { event: message.received, timeout: 30m }
        id: answer
      - stop_if: answer == nil
      - log: answered
  - id: breaks
    when: message.received
    do:
      - transfer: { person: Nobody Atall }
  - id: pays
    when: message.received
    if: conversation.kind == "direct" and says("boleto")
    do: [log: pays]
`

// TestOthers tells of what a rule would have done, what failed, and an answer that did not come.
func TestOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(t, others)
	en := d.teller("en")
	told := en.Tell(d.past())
	all := strings.Join(read(told.Lines), "\n")
	for _, want := range []string{
		"Would transfer João to Support · watches", "Quando · asks “Tudo certo?”", "Waits for an answer until 18:10 · asks", "Could not transfer the conversation: ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in\n%s", want, all)
		}
	}
	if strings.Contains(all, "conversation changed") {
		t.Errorf("what nobody asked for is told:\n%s", all)
	}
	failed := told.Find("")
	if failed.Tone != story.Failed {
		t.Errorf("at first it says why %s", failed.Head)
	}
	written := slices.IndexFunc(told.Lines, func(l story.Line) bool { return l.Side == "in" })
	why := d.why(en, &told.Lines[written])
	if diff := cmp.Diff([]story.Quiet{{Rule: "pays", Why: "no “boleto”"}}, why.Quiet); diff != "" || why.Lead != "João wrote." {
		t.Errorf("%s\n%s", why.Lead, diff)
	}
	d.until(friday.Add(time.Hour))
	all = strings.Join(read(d.teller("en").Tell(d.past()).Lines), "\n")
	if !strings.Contains(all, "Fri 18:10 No answer came · asks") {
		t.Errorf("nobody says that no answer came:\n%s", all)
	}
}
