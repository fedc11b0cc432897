package demo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// beginPlay has nothing to plan: the person at the console does it all.
func (p *player) beginPlay(*rules.Set) error {
	p.tell.brief = true
	return nil
}

// openPlay says what there is, and what to try first.
func (p *player) openPlay(address string) {
	t, c := p.tell, p.tell.colour
	t.print(c.Bold("Quando play") + ": rules at work in an imitation of the messaging service. Nobody real is written to.")
	t.print(c.Dim("Indented is what you do, an arrow is what a rule does. Time passes as usual, until you move it."))
	t.print("")
	where := p.from
	if where == "" {
		where = "the examples"
	}
	t.print("  Rules      " + where + c.Dim("   in use as soon as they are saved"))
	t.print("  Simulator  " + c.Bold("http://"+address+"/simulator"))
	t.print("  Try first  write as a customer there, then press +15 min")
	if p.keep != "" {
		t.print("  Kept in    " + p.keep)
	}
	t.print("  Stop       Ctrl-C")
	t.print("")
	for _, line := range p.notes() {
		t.print(c.Dim(line))
	}
	t.reloads(time.Time{}, p.takeReloads())
	t.print("")
	t.print(c.Bold("It is " + p.start.In(t.zone).Format("Monday 2 January 2006, 15:04") + p.why + "."))
	for _, line := range p.calendars() {
		t.print(c.Dim(line))
	}
}

// notes say what is otherwise than in earnest.
func (p *player) notes() (lines []string) {
	if len(p.missing) > 0 {
		lines = append(lines, fmt.Sprintf("The environment has no %s. Nothing here needs it: the service and its key are made up.", strings.Join(p.missing, ", ")))
	}
	set := p.tell.rules.Load()
	if p.outside != nil && len(set.Addresses()) > 0 {
		lines = append(lines, "http_request calls nobody: each call counts as answered with 200 {}. Start with --http to let them go.")
	}
	return lines
}

// calendars say when each calendar opens or closes next.
func (p *player) calendars() (lines []string) {
	set := p.tell.rules.Load()
	for _, name := range slices.Sorted(maps.Keys(set.Calendars)) {
		calendar := set.Calendars[name]
		if calendar == nil {
			continue
		}
		words, next := "closed, and opens", calendar.NextOpen
		if calendar.Open(p.start) {
			words, next = "open, and closes", calendar.NextClose
		}
		if at, ok := next(p.start); ok {
			lines = append(lines, fmt.Sprintf("The calendar %s is %s on %s.", name, words, at.In(p.tell.zone).Format("Monday at 15:04")))
		}
	}
	return lines
}

// closePlay says how it ended.
func (p *player) closePlay() {
	t := p.tell
	t.print("")
	if p.keep != "" {
		t.print("Stopped. What happened is kept in " + p.keep + ".")
		return
	}
	t.print("Stopped. Everything was on this machine, and nothing is left of it but your rules.")
}

// notCalled tells of a call that stayed here.
func (p *player) notCalled(method, host string) {
	p.tell.act(p.service.Now(), "(%s %s was not called: --http lets it go; it counts as answered with 200 {})", method, host)
}

// reloads tells which rules are in use now, and what is wrong with the others.
func (t *narrator) reloads(at time.Time, list []reload) {
	for _, r := range list {
		if !at.IsZero() {
			t.at(at)
		}
		cli.WriteProblems(t.out, phrases.English, fromHere(r.problems))
		words := fmt.Sprintf("%d rules in use", len(r.set.Rules))
		if len(r.set.Rules) == 1 {
			words = "1 rule in use"
		}
		if n := len(r.set.Broken); n > 0 {
			words += fmt.Sprintf(", %d with mistakes", n)
			if !at.IsZero() {
				words += "; what was in use before stays so"
			}
		}
		if at.IsZero() {
			t.print(words + ".")
			continue
		}
		t.print(t.colour.Dim(fmt.Sprintf("%s      The rules were saved: %s.", at.In(t.zone).Format("15:04"), words)))
	}
	if err := t.unmade.Swap(nil); err != nil {
		t.print(t.colour.Red(fmt.Sprintf("The imitation of the service lacks what the rules name: %v", *err)))
	}
}

// fromHere returns problems whose files are named from this folder on, where they are below it.
func fromHere(problems rules.Problems) rules.Problems {
	here, err := os.Getwd()
	if err != nil {
		return problems
	}
	out := slices.Clone(problems)
	for i := range out {
		if name, err := filepath.Rel(here, out[i].File); err == nil && filepath.IsLocal(name) {
			out[i].File = name
		}
	}
	return out
}
