package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/vocabulary"
)

const (
	lineWidth = 100 // columns
	indent    = 7   // of what follows the time
	ruleWidth = 22  // columns for a rule's id
)

// A narrator tells people what happens, in lines. It observes the engine, which here has one
// worker: nothing here is used by two goroutines at once.
type narrator struct {
	out    io.Writer
	colour cli.Palette
	zone   *time.Location
	gone   bool // nobody reads any more
	brief  bool // without totals

	names  map[string]string         // by id
	rules  atomic.Pointer[rules.Set] // those in use
	unmade atomic.Pointer[error]     // why the service lacks what the rules name
	known  map[string]bool           // rules that were introduced
	begun  map[int64]*runStory       // unfinished runs
	news   []*runStory               // runs with something to tell, in the order of their coming
	totals totals

	last, counted time.Time // when something was told, and the totals were
}

// A runStory is what was told of a run.
type runStory struct {
	*journal.Run
	told    map[string]bool // steps, by their path
	waiting string          // the step that it was said to wait in
}

func newTeller(out io.Writer, zone *time.Location, start time.Time) *narrator {
	return &narrator{
		out: out, colour: cli.Colours(out), zone: zone, names: make(map[string]string), known: make(map[string]bool), begun: make(map[int64]*runStory),
		totals: totals{outcomes: make(map[journal.State]int)}, last: start, counted: start,
	}
}

// learn remembers what everything in a value is called that has an id.
func (t *narrator) learn(value any) {
	if object, ok := value.(map[string]any); ok {
		id, _ := object["id"].(string)
		for _, field := range []string{"name", "title"} {
			if name, ok := object[field].(string); ok && id != "" && name != "" {
				t.names[id] = name
				break
			}
		}
	}
	for _, part := range cli.Parts(value) {
		t.learn(part)
	}
}

// name returns what an id stands for.
func (t *narrator) name(id any) string {
	if name := t.names[fmt.Sprint(id)]; name != "" {
		return cli.Harmless(name)
	}
	return "somebody"
}

// Decided learns names, and counts the event.
func (t *narrator) Decided(e *journal.Event) {
	t.totals.events++
	t.learn(e.Data)
}

// Began and Changed note that there is something to tell of a run.
func (t *narrator) Began(r *journal.Run, _ *journal.Event) { t.note(r) }

// Changed notes it too.
func (t *narrator) Changed(r *journal.Run) { t.note(r) }

func (t *narrator) note(r *journal.Run) {
	s := t.begun[r.ID]
	if s == nil {
		s = &runStory{told: make(map[string]bool)}
		t.begun[r.ID] = s
		t.totals.runs++
	}
	s.Run = r // the engine reads a run anew for each visit
	if !slices.Contains(t.news, s) {
		t.news = append(t.news, s)
	}
}

// Called, Held and Lifted are not told: what comes of them shows in runs.
func (t *narrator) Called(string, string, time.Duration, error) {}

// Held tells nothing.
func (t *narrator) Held(journal.Hold) {}

// Lifted tells nothing.
func (t *narrator) Lifted(journal.Hold) {}

// print writes a line, unless nobody reads any more.
func (t *narrator) print(line string) {
	if t.gone {
		return
	}
	_, err := fmt.Fprintln(t.out, line)
	t.gone = err != nil
}

// opening says what there is to see.
func (t *narrator) opening(console string, office *calendar.Calendar, o options) {
	c := t.colour
	t.print(c.Bold("Quando demo") + ": an invented support desk in São Paulo, worked by the rules of examples/.")
	t.print(c.Dim("Indented is what people do, an arrow is what a rule does. " + paceWords(o.speed)))
	t.print("")
	t.print("  Console   http://" + console + c.Dim("   see the rules at work, or be a customer yourself"))
	stop := "Ctrl-C"
	if o.last > 0 {
		stop += ", or by itself after " + o.last.String()
	}
	t.print("  Stop      " + stop)
	t.print("")
	line := startTime().Format("Monday 2 January 2006, 15:04")
	if closes, ok := office.NextClose(startTime()); ok {
		line += closes.In(t.zone).Format(". The office closes at 15:04.")
	}
	t.print(c.Bold(line))
}

// paceWords says how much time passes.
func paceWords(minutes float64) string {
	if minutes == 1 {
		return "A minute passes in a second."
	}
	return fmt.Sprintf("%.4g minutes pass in a second.", minutes)
}

// closing says how it ended.
func (t *narrator) closing(at time.Time) {
	t.count(at)
	t.print("Stopped. Everything was on this machine, and nothing is left of it.")
}

// at begins to tell of a time. What was left out before it is said in a line of its own.
func (t *narrator) at(at time.Time) {
	at = at.In(t.zone)
	switch gap := at.Sub(t.last); {
	case gap > stillness && at.YearDay() != t.last.YearDay():
		t.print(t.colour.Dim(fmt.Sprintf("%*s· · ·  nothing happens for %s", indent, "", cli.Span(gap))))
		t.print(t.colour.Bold(at.Format("Monday 2 January")))
	case gap > stillness:
		t.print(t.colour.Dim(fmt.Sprintf("%*s· · ·  nothing happens for %s", indent, "", cli.Span(gap))))
	}
	if !t.brief && at.Sub(t.counted) > time.Hour {
		t.count(at)
	}
	t.last = at
}

// rest prints the totals before a long time without anything to tell, unless they are known.
func (t *narrator) rest() {
	if t.last.After(t.counted) {
		t.count(t.last)
	}
}

// act tells what a person does.
func (t *narrator) act(at time.Time, format string, args ...any) {
	t.at(at)
	text := cli.Truncate(cli.Harmless(fmt.Sprintf(format, args...)), lineWidth-indent-4)
	t.print(t.colour.Dim(fmt.Sprintf("%s      %s", at.In(t.zone).Format("15:04"), text)))
}

// runs tells what rules have done since the last time.
func (t *narrator) runs(at time.Time) {
	for _, s := range t.news {
		t.run(at, s)
		if s.State.Finished() {
			t.totals.outcomes[s.State]++
			delete(t.begun, s.ID)
		}
	}
	t.news = t.news[:0]
}

const onTrial = "would have: " // of a rule that only records what it would do

// run tells what one run has done, what it waits for, or how it ended.
func (t *narrator) run(at time.Time, s *runStory) {
	var done []actions.Effect
	waits := ""
	for _, step := range s.Steps {
		if step.State == journal.StepWaiting && s.State == journal.Waiting && s.waiting != step.Path {
			s.waiting = step.Path
			waits = t.waits(at, s.Run, step)
		}
		if step.State.Finished() && !s.told[step.Path] {
			s.told[step.Path] = true
			done = append(done, t.effects(s.Run, step)...)
		}
	}
	c, shadow, room := t.colour, s.Stage != rules.Live, lineWidth-indent-ruleWidth-cli.Width("→ ")
	if len(done) > 0 {
		text := c.Bold("→ ") + sentence(done, room)
		if shadow {
			text = c.Dim("→ " + onTrial + sentence(done, room-cli.Width(onTrial)))
		}
		t.line(at, s.Rule, text)
		t.introduce(s.Rule)
	}
	switch {
	case s.State == journal.FailedRun, s.State == journal.Uncertain:
		t.line(at, s.Rule, c.Red("failed: "+cli.Truncate(cli.Harmless(s.Reason), lineWidth-indent-ruleWidth-8)))
	case waits != "" && !shadow:
		t.line(at, s.Rule, c.Dim(cli.Truncate(waits, lineWidth-indent-ruleWidth)))
	case s.State == journal.Cancelled && s.waiting != "":
		t.line(at, s.Rule, c.Dim(cli.Truncate(t.about(s.Run)+" needs it no more: "+cancelWords(s.Reason), lineWidth-indent-ruleWidth)))
	}
}

// line prints what a rule does.
func (t *narrator) line(at time.Time, rule, text string) {
	t.at(at)
	pad := strings.Repeat(" ", max(1, ruleWidth-cli.Width(rule)))
	t.print(fmt.Sprintf("%s  %s%s%s", at.In(t.zone).Format("15:04"), t.colour.Cyan(rule), pad, text))
}

// introduce says what a rule is for when it acts for the first time.
func (t *narrator) introduce(id string) {
	rule := t.rules.Load().Rule(id)
	if t.known[id] || rule == nil || rule.Name == "" {
		return
	}
	t.known[id] = true
	t.print(strings.Repeat(" ", indent+ruleWidth+2) + t.colour.Dim(cli.Truncate("("+cli.Harmless(rule.Name)+")", lineWidth-indent-ruleWidth-2)))
}

// cancelWords says why a run was ended early.
func cancelWords(reason string) string {
	switch event := strings.TrimPrefix(reason, "cancel_on: "); event {
	case vocabulary.MessageSent:
		return "the team has answered"
	case vocabulary.AttendanceClosed:
		return "the attendance is closed"
	default:
		return cli.Harmless(event)
	}
}
