package demo

import (
	"time"
)

// The customers whose story is always the same.
var (
	beatriz = knownCustomer{customer: customer{name: "Beatriz", phone: "+5511900000001"}, proposal: true}
	helena  = knownCustomer{customer: customer{name: "Helena", phone: "+5511900000002"}, company: "Aurora Alimentos"}
	otavio  = knownCustomer{customer: customer{name: "Otávio", phone: "+5511900000003"}, company: "Porto Sul"}
	// Who the reports and calls for help of the examples are sent to.
	rita   = knownCustomer{customer: customer{name: "Rita", phone: "+5511999990000"}}
	silvia = knownCustomer{customer: customer{name: "Sílvia", phone: "+5511999990001"}}
)

// begin plans the first part of the story, in which everything is seen once, and the stream of
// customers after it.
func (p *people) begin(start time.Time) error {
	for _, a := range []knownCustomer{beatriz, helena, otavio, rita, silvia} {
		if err := p.meet(a); err != nil {
			return err
		}
	}
	at := func(hour, minute, second int) time.Time {
		return time.Date(start.Year(), start.Month(), start.Day(), hour, minute, second, 0, start.Location())
	}
	beatriz, helena, otavio := beatriz.customer, helena.customer, otavio.customer

	// Nobody has time for João: he is escalated before six.
	joao := &customer{name: "João", phone: "+5511900000004"}
	p.writes(at(17, 40, 10), joao, "Oi, o meu pedido chegou com defeito. Podem me ajudar?")

	// Beatriz was sent a proposal. When her attendance is closed her card moves on, and she is
	// asked how it was.
	p.writes(at(17, 41, 30), &beatriz, "Gostei da proposta, vamos fechar!")
	p.answers(at(17, 43, 0), "Ana", &beatriz, "Que ótima notícia, Beatriz! O contrato segue hoje.")
	p.closes(at(17, 44, 30), "Ana", &beatriz)

	// Helena's company is one that is looked after by the supervisor.
	p.writes(at(17, 46, 0), &helena, "Boa tarde! Preciso falar com vocês sobre a entrega.")
	p.answers(at(17, 48, 0), "Carla", &helena, "Oi, Helena! Já estou vendo isso para você.")

	rafael := &customer{name: "Rafael", phone: "+5511900000005"}
	p.writes(at(17, 49, 30), rafael, "Quero um orçamento: quanto custa o plano mensal?")
	p.answers(at(17, 51, 30), "Bruno", rafael, "Oi, Rafael! Acabei de enviar a proposta.")
	p.moves(at(17, 52, 0), "Bruno", rafael, "Proposal")

	tiago := &customer{name: "Tiago", phone: "+5511900000006"}
	p.writes(at(17, 53, 30), tiago, "Faz uma hora que espero, seus idiotas!")
	p.answers(at(17, 57, 0), "Ana", tiago, "Desculpe, Tiago! Como posso ajudar?")
	p.closes(at(17, 58, 30), "Ana", tiago)
	p.closes(at(17, 59, 30), "Carla", &helena)

	// The office is closed. Marina writes in a burst, and gets one answer.
	marina := &customer{name: "Marina", phone: "+5511900000007"}
	p.writes(at(18, 1, 0), marina, "Oi! Vocês ainda estão aí?")
	p.writes(at(18, 1, 9), marina, "Queria saber quando chega a minha encomenda 😊")
	p.writes(at(18, 3, 0), &otavio, "Boa noite, temos uma urgência na Porto Sul.")

	// On Saturday the team finds what was left.
	saturday, _ := p.office.NextOpen(at(18, 30, 0))
	p.answers(p.after(saturday, 4), "Ana", marina, "Bom dia, Marina! Ela chega hoje à tarde.")
	p.answers(p.after(saturday, 6), "Carla", &otavio, "Bom dia, Otávio! Vamos resolver agora.")
	p.closes(p.after(saturday, 9), "Ana", marina)
	p.closes(p.after(saturday, 12), "Carla", &otavio)
	p.closes(p.after(saturday, 16), "Bruno", rafael)
	p.answers(p.after(saturday, 36), "Carla", joao, "Bom dia, João! Desculpe a demora, vamos trocar o produto.")
	p.closes(p.after(saturday, 40), "Carla", joao)
	p.plan(saturday.Add(-8*time.Minute), p.arrive)
	if closes, ok := p.office.NextClose(start); ok {
		p.plan(closes, p.turns)
	}
	return nil
}
