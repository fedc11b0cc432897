package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/service/sandbox"
)

// people are the customers and the team: what they will do, and how they do it.
type people struct {
	service *sandbox.Sandbox
	tell    *narrator
	office  *calendar.Calendar
	random  *rand.Rand
	plans   []plan   // by time
	came    int      // customers of the stream
	names   []string // of those who will come next

	disturbed bool // a person has played along, so that a plan may have come to nothing
}

// A plan is what somebody will do at a time.
type plan struct {
	at time.Time
	do func(at time.Time) error
}

// A customer is somebody who writes to the desk.
type customer struct {
	name, phone  string
	conversation string // the id, once there is one
}

// plan lets something be done at a time. What is planned for the same time is done in the order of
// planning.
func (p *people) plan(at time.Time, do func(at time.Time) error) {
	i, _ := slices.BinarySearchFunc(p.plans, at, func(one plan, at time.Time) int { return cmp.Or(one.at.Compare(at), -1) })
	p.plans = slices.Insert(p.plans, i, plan{at, do})
}

// due is when somebody does something next; the zero time is never.
func (p *people) due() time.Time {
	if p == nil || len(p.plans) == 0 {
		return time.Time{}
	}
	return p.plans[0].at
}

// act lets everybody do what they planned for a time.
func (p *people) act(now time.Time) error {
	if p == nil {
		return nil
	}
	for len(p.plans) > 0 && !p.plans[0].at.After(now) {
		next := p.plans[0]
		p.plans = p.plans[1:]
		if err := next.do(next.at); err != nil {
			return err
		}
	}
	return nil
}

// writes plans that a customer writes.
func (p *people) writes(at time.Time, c *customer, text string) {
	p.plan(at, func(at time.Time) error {
		w, err := p.service.CustomerMessage(sandbox.CustomerMessage{Phone: c.phone, Name: c.name, Text: text})
		return p.told(err, at, c, func() {
			p.tell.act(at, "%s writes: “%s”", c.name, text)
			if c.conversation == "" {
				p.tell.totals.customers++
			}
			c.conversation = w.Conversation.String()
		})
	})
}

// answers plans that somebody of the team answers.
func (p *people) answers(at time.Time, who string, c *customer, text string) {
	p.plan(at, func(at time.Time) error {
		_, err := p.service.TeamMessage(sandbox.TeamMessage{Conversation: c.conversation, Person: who, Text: text})
		return p.told(err, at, c, func() { p.tell.act(at, "%s answers %s: “%s”", who, c.name, text) })
	})
}

// closes plans that somebody of the team closes the attendance.
func (p *people) closes(at time.Time, who string, c *customer) {
	p.plan(at, func(at time.Time) error {
		_, err := p.service.TeamClose(sandbox.TeamClose{Conversation: c.conversation, Person: who, Reason: "solved"})
		return p.told(err, at, c, func() { p.tell.act(at, "%s closes the attendance of %s", who, c.name) })
	})
}

// moves plans that somebody of the team moves the customer's card, which has the customer's name.
func (p *people) moves(at time.Time, who string, c *customer, stage string) {
	p.plan(at, func(at time.Time) error {
		_, err := p.service.MoveCard(sandbox.MoveCard{Card: c.name, Stage: stage, Person: who})
		return p.told(err, at, c, func() { p.tell.act(at, "%s moves the card “%s” to %s", who, c.name, stage) })
	})
}

// told tells what somebody did. What the service refuses is an error of the story, unless a person
// has played along: then it may just be done already.
func (p *people) told(err error, at time.Time, c *customer, tell func()) error {
	if refused := (*sandbox.Error)(nil); p.disturbed && errors.As(err, &refused) {
		p.tell.act(at, "What was planned for %s has come to nothing.", c.name)
		return nil
	}
	if err == nil {
		tell()
	}
	return wentWrong(err, c)
}

// turns tells that the office opens or closes, and plans to tell when it does the next time.
func (p *people) turns(at time.Time) error {
	words, following := "The office closes.", p.office.NextOpen
	if p.office.Open(at) {
		words, following = "The office opens.", p.office.NextClose
	}
	p.tell.act(at, "%s", words)
	if next, ok := following(at); ok {
		p.plan(next, p.turns)
	}
	return nil
}

func wentWrong(err error, c *customer) error {
	if err != nil {
		return fmt.Errorf("the story of %s: %w", c.name, err)
	}
	return nil
}

// after is some minutes of office time later: the team works when the office is open.
func (p *people) after(at time.Time, minutes float64) time.Time {
	end, err := p.office.Add(at, time.Duration(minutes*float64(time.Minute)))
	if err != nil {
		return at // an office that never opens is not in the examples
	}
	return end
}

// A knownCustomer is known to the desk before the first message.
type knownCustomer struct {
	customer
	company  string
	proposal bool // was sent, and the card waits in Proposal
}

// document returns what is known of somebody as a part of the service's state.
func (a knownCustomer) document() map[string]any {
	type object = map[string]any
	doc := object{"contacts": []object{{"name": a.name, "phone": a.phone, "company": a.company}}}
	if a.proposal {
		doc["conversations"] = []object{{"contact": a.name, "labels": []string{"proposal-sent"}}}
		doc["cards"] = []object{{"board": "Sales", "stage": "Proposal", "title": "Proposal for " + a.name, "contact": a.name}}
	}
	return doc
}

// meet lets the desk know somebody from earlier days.
func (p *people) meet(a knownCustomer) error {
	doc, err := json.Marshal(a.document())
	if err != nil {
		return err
	}
	if err := p.service.AddState(doc); err != nil {
		return wentWrong(err, &a.customer)
	}
	return nil
}
