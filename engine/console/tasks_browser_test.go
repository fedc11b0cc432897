package console

import (
	"testing"
	"time"
)

// TestTheAwayReply shows that a new user builds the reply of a closed office, which says when it
// opens again, in at most twelve clicks.
func TestTheAwayReply(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the away reply", way: "phone", most: 12,
		builds: []action{
			fill("Name of the rule", "While we are closed"),
			press("+ Add a step"),
			choose("Answer once while closed"),
			write("We are closed now. We open "),
			insert("next opening of office"),
			write(". Talk to you then!"),
			show("sheet-away"),
			press("Done"),
		},
		block: "Answer once while closed",
		says:  []string{"We are closed now. We open "},
		acts: func(s *simulated) {
			s.desk.pass(16*time.Hour + 10*time.Minute) // to Saturday, ten o'clock
			s.writes("Rosa Prado", "Are you there?")
			s.sees("Are you there?")
			if n := s.bubbles("We are closed"); n != 0 {
				s.t.Errorf("%d replies on Saturday morning", n)
			}
			s.jumps("4h")
			s.adds("write", "And now?")
			s.sees("We are closed now. We open Monday at 8:00. Talk to you then!")
			s.adds("write", "Really?")
			s.sees("Really?")
			if n := s.bubbles("We are closed"); n != 1 {
				s.t.Errorf("%d replies on Saturday afternoon", n)
			}
		},
	}.isDone(t)
}

// TestTheTwoLevelSLA shows that a new user builds an escalation with two levels in at most 25
// clicks, and that it ends when the team answers.
func TestTheTwoLevelSLA(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the two-level SLA", way: "mouse", most: 25,
		builds: []action{
			fill("Name of the rule", "Nobody waits for long"),
			press("+ Add a step"),
			choose("Escalate when nobody answers"),
			selects("then", "to the sector Supervisors"),
			press("+ Add"),
			fill("Without an answer for", "30", 1),
			selects("then", "to Ana", 1),
			show("sheet-escalate"),
			press("Done"),
			addAbove("30 minutes"),
			choose("Add the label …"),
			choose("vip"),
			press("Done"),
			press("+ Add a step"),
			choose("Send a message"),
			write("Ana takes care of you now."),
		},
		block: "Escalate when nobody answers",
		says:  []string{"15 minutes of office hours", "Supervisors", "Ana takes care of you now."},
		acts: func(s *simulated) {
			s.desk.pass(16*time.Hour + 10*time.Minute) // to Saturday, ten o'clock
			s.writes("Rosa Prado", "I need help")
			s.jumps("20m")
			s.shows(".facts", "Supervisors")
			if n := s.bubbles("Ana takes care"); n != 0 {
				s.t.Error("the second level came with the first")
			}
			s.jumps("30m")
			s.sees("Ana takes care of you now.")
			s.shows(".facts", "Ana")
			s.writes("Bento Alves", "Me too")
			s.adds("answer", "Here I am")
			s.jumps("1h")
			if n := s.bubbles("Ana takes care"); n != 0 {
				s.t.Error("it escalates what was answered")
			}
		},
	}.isDone(t)
}

// TestTheMenu shows that a new user builds a menu with three choices and a time limit in at most 30
// clicks.
func TestTheMenu(t *testing.T) {
	needsBrowser(t)
	task{
		name: "the menu", way: "keyboard", most: 30,
		builds: []action{
			fill("Name of the rule", "What is it about"),
			press("+ Add a step"),
			choose("Ask and wait for an answer"),
			write("What is it about?"),
			fill("Answer", "Buy", 0),
			selects("leads to", "to the sector Sales", 0),
			fill("Answer", "Help", 1),
			selects("leads to", "to the sector Support", 1),
			press("+ Add"),
			fill("Answer", "Complain", 2),
			selects("leads to", "to the sector Supervisors", 2),
			selects("Without an answer by then", "label vip"),
			show("sheet-ask"),
			press("Done"),
		},
		block: "Ask and wait for an answer",
		says:  []string{"What is it about?\n1 - Buy\n2 - Help\n3 - Complain"},
		acts: func(s *simulated) {
			s.writes("Rosa Prado", "Hello")
			s.sees("1 - Buy")
			s.jumps("1m")
			s.adds("write", "2")
			s.shows(".facts", "Support")
			s.writes("Bento Alves", "Hi")
			s.sees("1 - Buy")
			s.jumps("2h")
			s.shows("#live", "label ")
		},
	}.isDone(t)
}

// TestNoClickIsLost shows that a click is heard on what lies below a text that is being written,
// and would move when the text is left.
func TestNoClickIsLost(t *testing.T) {
	needsBrowser(t)
	inWays(t, "mouse", func(_ string, _ *desk, p *newcomer) {
		for _, a := range []action{
			press("+ Add a step"),
			choose("Send a message"),
			write("We have got your message, and somebody of us answers it as soon as possible."),
			press("+ Add a step"),
			choose("Close the attendance"),
		} {
			a(p)
		}
		p.written("as soon as possible.\n      - close_attendance")
	})
}
