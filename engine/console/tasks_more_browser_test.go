package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/triggers/schedule"
)

// setTime types the keys of a time of day into the field that has the cursor, as the browser's own
// field takes them.
func setTime(keys, value string) action {
	return func(p *newcomer) {
		p.until(`document.activeElement.type === "time"`)
		write(keys)(p)
		p.until(fmt.Sprintf(`document.activeElement.value === %q`, value))
	}
}

// closes lets the team close the attendance of the conversation that is open.
func (s *simulated) closes() {
	s.t.Helper()
	s.follow(`button[formaction="/simulator/close"]`)
}

// opens opens the conversation of somebody.
func (s *simulated) opens(name string) {
	s.t.Helper()
	s.open("/simulator")
	evaluate[bool](s.browser, fmt.Sprintf(`[...document.querySelectorAll("aside .found a")].find(a => a.textContent.includes(%q)).id = "somebody", true`, name))
	s.follow("#somebody")
}

// ticks lets time pass, minute by minute, in which schedules come due.
func (d *desk) ticks(length time.Duration) {
	d.t.Helper()
	source := must(schedule.New(schedule.Options{Workspace: "default", Location: saoPaulo, Cursors: d.journal}))
	source.SetRules(d.set)
	for end := d.clock().Add(length); ; {
		must(source.Tick(d.t.Context(), d.clock(), d.engine.Accept))
		d.rest()
		if !d.clock().Before(end) {
			return
		}
		d.pass(min(time.Minute, end.Sub(d.clock())))
	}
}

// changed returns how many things of a kind were made or changed so that they have a text.
func (d *desk) changed(kind, text string) (n int) {
	for _, e := range d.Effects() {
		if e.Kind == kind && strings.Contains(string(e.After), text) {
			n++
		}
	}
	return n
}

// TestTheSurvey shows that a new user builds a survey whose bad marks become a label and a card.
func TestTheSurvey(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the survey", most: 40,
		builds: []action{
			fill("Name of the rule", "How did we do"),
			press("a customer writes"),
			choose("an attendance is closed"),
			press("+ Add a step"),
			choose("Ask and wait for an answer"),
			write("How did we do, from 1 to 5?"),
			fill("Wait at the longest", "1"),
			selects("Unit", "days"),
			press("Done"),
			press("+ Add a step"),
			choose("Stop if"),
			choose("nobody answered"),
			press("+ Add a step"),
			choose("Take one of these ways"),
			choose("number in the text of the answer …"),
			choose("the number in the text of the answer is at most number"),
			write("2"),
			press("Done"),
			press("+ Add a step", 0),
			choose("Add the label …"),
			choose("unhappy"),
			press("Done"),
			press("+ Add a step", 0),
			choose("Create the card … on …"),
			write("Call "),
			insert("customer's name"),
			press("Done"),
			choose("Care"),
			press("+ Add a step", 1),
			choose("Send a message"),
			write("Thank you for your answer!"),
		},
		says: []string{"How did we do, from 1 to 5?"},
		acts: func(s *simulated) {
			s.writes("Rosa Prado", "It does not work")
			s.closes()
			s.sees("How did we do, from 1 to 5?")
			s.jumps("1m")
			s.adds("write", "2, sorry")
			s.shows("#live", "label ")
			s.shows("#live", "Call Rosa Prado")
			if n := s.desk.changed("card", "Call Rosa Prado"); n != 1 {
				s.t.Errorf("%d cards for a bad mark", n)
			}
			if n := s.bubbles("Thank you"); n != 0 {
				s.t.Error("it thanks for a bad mark")
			}
			s.jumps("1m")
			s.writes("Bento Alves", "All fine")
			s.closes()
			s.jumps("1m")
			s.adds("write", "5")
			s.sees("Thank you for your answer!")
			s.jumps("1m")
			s.writes("Lia Dias", "Bye")
			s.closes()
			s.jumps("25h")
			s.adds("write", "1")
			s.sees("1")
			if n := s.bubbles("Thank you"); n != 0 {
				s.t.Error("it thanks for an answer that came after a day")
			}
		},
	}.isDone(t)
}

// TestTheDailyReport shows that a new user builds a message that tells every workday at six how
// many attendances are open in each sector.
func TestTheDailyReport(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the daily report", most: 30,
		builds: []action{
			fill("Name of the rule", "What is open at six"),
			press("by the clock"),
			choose("from Monday to Friday at …"),
			setTime("0600PM", "18:00"),
			press("Done"),
			press("+ Add a step"),
			choose("List attendances"),
			press("What to do with this step 1: List attendances"),
			press("More"),
			choose("Status"),
			choose("open"),
			press("+ Add a step"),
			choose("Send a message"),
			write("+55 11 99999-0000"),
			press("Done"),
			write("Still open at six: "),
			insert("number found (attendance list)"),
			write("\n"),
			insert("attendances found (attendance list), by sector"),
		},
		acts: func(s *simulated) {
			s.writes("Rosa Prado", "Hello")
			s.desk.ticks(time.Minute)
			s.writes("Bento Alves", "Hello")
			s.desk.ticks(9 * time.Minute)
			s.opens("+5511999990000")
			s.sees("Still open at six: 2")
			s.sees("Sales: 0")
			s.sees("Without a sector: 2")
			s.desk.ticks(24 * time.Hour)
			s.opens("+5511999990000")
			if n := s.bubbles("Still open"); n != 1 {
				s.t.Errorf("%d reports by Saturday", n)
			}
		},
	}.isDone(t)
}

const shifts = `calendars:
  day:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-18:00] }
  night:
    timezone: America/Sao_Paulo
    open: { mon-fri: [18:00-23:00] }
`

// TestVIPRouting shows that a new user builds a rule that brings important customers to whoever is
// on duty.
func TestVIPRouting(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the VIP routing by shift", most: 30,
		needs: func(d *desk) {
			d.write("shifts.yaml", shifts)
			if err := d.AddState([]byte(`{"contacts": [{"name": "Marina Souza", "phone": "` + marina + `", "labels": ["vip"]}]}`)); err != nil {
				d.t.Fatal(err)
			}
		},
		builds: []action{
			fill("Name of the rule", "VIP to whoever is on duty"),
			press("+ Add a condition"),
			choose("the customer has the label label"),
			choose("vip"),
			press("+ Add a step"),
			choose("Take one of these ways"),
			choose("calendar is open"),
			choose("day"),
			press("+ Add a step", 0),
			choose("Transfer"),
			choose("Ana"),
			press("+ Add a way"),
			choose("calendar is open"),
			choose("night"),
			press("+ Add a step", 1),
			choose("Transfer"),
			choose("Bruno"),
			press("+ Add a step", 2),
			choose("Transfer"),
			choose("Supervisors"),
		},
		acts: func(s *simulated) {
			s.desk.says(marina, "Marina Souza", "It is urgent")
			s.opens("Marina Souza")
			s.shows(".facts", "Ana")
			s.jumps("1h")
			s.adds("write", "Still urgent")
			s.shows(".facts", "Bruno")
			s.jumps("16h")
			s.adds("write", "And on Saturday?")
			s.shows(".facts", "Supervisors")
			s.writes("Bento Alves", "Hello")
			s.sees("Hello")
			if evaluate[bool](s.browser, `/Ana|Bruno|Supervisors/.test(document.querySelector(".facts").innerText)`) {
				s.t.Error("a customer without the label is transferred")
			}
		},
	}.isDone(t)
}

// TestTheCanary shows that a new user builds an away reply that goes to a tenth of the customers.
func TestTheCanary(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the canary", most: 20,
		builds: []action{
			fill("Name of the rule", "Try the away reply"),
			press("+ Add a step"),
			choose("Answer once while closed"),
			write("We are closed, and write to you tomorrow."),
			press("Done"),
			press("+ Add a step"),
			choose("Only for a part of the customers"),
			fill("Of a hundred customers", "10"),
			press("Done"),
		},
		says: []string{"We are closed, and write to you tomorrow."},
		acts: func(s *simulated) {
			s.desk.pass(4 * time.Hour)
			const customers = 60
			for n := range customers {
				s.desk.says(fmt.Sprintf("+55119000000%02d", n), fmt.Sprintf("Customer %02d", n), "Hello")
			}
			if n := s.desk.changed("message", "We are closed, and"); n < 1 || n > customers/4 {
				s.t.Errorf("%d of %d customers got the reply", n, customers)
			}
			s.open("/simulator")
		},
	}.isDone(t)
}
