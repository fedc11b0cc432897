package demo

import (
	"fmt"
	"time"
)

var (
	firstNames = []string{
		"Adriana", "Aline", "André", "Antônio", "Bianca", "Bernardo", "Camila", "Caio", "Cecília", "Daniel", "Débora", "Diego", "Elisa", "Fábio", "Fernanda", "Gabriel", "Gustavo", "Igor", "Isabela",
		"Júlia", "Larissa", "Leandro", "Letícia", "Lucas", "Luísa", "Marcelo", "Mateus", "Natália", "Nina", "Olívia", "Paula", "Pedro", "Priscila", "Renata", "Ricardo", "Rodrigo", "Samuel", "Simone", "Sofia", "Teresa", "Thaís", "Valéria", "Vera", "Vinícius", "Yara",
	}
	questions = []string{
		"Bom dia! O meu pedido já saiu para entrega?", "Oi, vocês entregam no sábado?", "Como faço para trocar o tamanho?", "Oi, tudo bem? Preciso mudar o endereço.",
		"Não consigo entrar na minha conta, dá erro.", "Preciso da segunda via do boleto.", "Esqueci a minha senha.", "O entregador não achou a minha casa.",
		"Vocês têm loja em Campinas?", "Queria cancelar um item do pedido.", "A nota fiscal veio com o nome errado.", "Quero fazer uma reclamação sobre a entrega.",
	}
	offers   = []string{"Quero um orçamento para 20 unidades.", "Qual é o preço do plano mensal?", "Quero comprar para a minha empresa.", "Que planos vocês têm?"}
	replies  = []string{"Oi! Já vou verificar para você.", "Claro, vamos resolver agora.", "Pronto, está resolvido!", "Olá! Acabei de conferir: está tudo certo."}
	accepted = []string{"Gostei da proposta, pode seguir.", "Proposta aprovada!", "Recebi a proposta e está ótima."}
	insults  = []string{"Que atendimento de imbecil!", "Vocês são uns idiotas!", "Só tem otário nessa empresa."}
	ratings  = []string{"5", "5", "5", "4", "4", "3", "2", "1"}
)

// pick returns one of a list.
func pick[T any](p *people, list []T) T { return list[p.random.IntN(len(list))] }

// between returns a number from a range.
func (p *people) between(low, high float64) float64 { return low + p.random.Float64()*(high-low) }

// arrive lets a customer come, and plans when the next one does.
func (p *people) arrive(at time.Time) error {
	p.came++
	c := &customer{name: p.newName(), phone: fmt.Sprintf("+55118%08d", p.came)}
	p.plan(p.next(at), p.arrive)
	story := pick(p, []func(time.Time, *customer) error{p.asks, p.asks, p.asks, p.waits, p.waits, p.buys, p.accepts, p.accepts, p.isImportant, p.isRude})
	return story(at, c)
}

// newName returns a name that nobody has: those who come after all names are taken have an initial
// too.
func (p *people) newName() string {
	if len(p.names) == 0 {
		for _, i := range p.random.Perm(len(firstNames)) {
			name := firstNames[i]
			if round := (p.came - 1) / len(firstNames); round > 0 {
				name += " " + initials(round) + "."
			}
			p.names = append(p.names, name)
		}
	}
	name := p.names[0]
	p.names = p.names[1:]
	return name
}

// initials returns A, B … Z, AA, AB …
func initials(n int) string {
	if n == 0 {
		return ""
	}
	return initials((n-1)/26) + string(rune('A'+(n-1)%26))
}

// next is when the next customer comes: often while the office is open, now and then in the
// evening, and not at night or on Sundays.
func (p *people) next(at time.Time) time.Time {
	if p.office.Open(at) {
		return at.Add(minutes(p.between(3, 7)))
	}
	local := at.In(p.office.Location())
	if local.Hour() < 20 && (local.Weekday() != time.Saturday || local.Hour() < 14) {
		return at.Add(minutes(p.between(7, 20)))
	}
	opens, ok := p.office.NextOpen(at)
	if !ok {
		return at.Add(24 * time.Hour)
	}
	return opens.Add(-minutes(p.between(3, 9)))
}

func minutes(n float64) time.Duration {
	return time.Duration(n * float64(time.Minute)).Round(time.Second)
}

// asks is the story of somebody who asks, is answered, and may say how it was.
func (p *people) asks(at time.Time, c *customer) error {
	who := pick(p, []string{"Ana", "Bruno"})
	p.writes(at, c, pick(p, questions))
	if !p.office.Open(at) {
		p.writes(at.Add(9*time.Second), c, "Tem alguém aí?")
	}
	at = p.solve(at, who, c, p.between(2, 9))
	if p.random.IntN(2) == 0 {
		return nil
	}
	at = at.Add(minutes(p.between(6, 9))) // the question comes five minutes after the close
	p.writes(at, c, pick(p, ratings))
	at = at.Add(minutes(1))
	p.writes(at, c, "Só mais uma coisa: vocês atendem aos sábados?")
	p.solve(at, who, c, p.between(3, 6))
	return nil
}

// waits is the story of somebody for whom nobody has time.
func (p *people) waits(at time.Time, c *customer) error {
	p.writes(at, c, pick(p, questions))
	p.solve(at, "Carla", c, p.between(18, 60))
	return nil
}

// buys is the story of somebody who asks for an offer.
func (p *people) buys(at time.Time, c *customer) error {
	p.writes(at, c, pick(p, offers))
	answer := p.after(at, p.between(3, 8))
	p.answers(answer, "Bruno", c, "Oi! A proposta está no seu e-mail.")
	p.moves(answer.Add(30*time.Second), "Bruno", c, "Proposal")
	p.closes(p.after(answer, p.between(2, 4)), "Bruno", c)
	return nil
}

// accepts is the story of somebody who was sent a proposal earlier.
func (p *people) accepts(at time.Time, c *customer) error {
	p.writes(at, c, pick(p, accepted))
	p.solve(at, pick(p, []string{"Ana", "Bruno"}), c, p.between(2, 6))
	return p.meet(knownCustomer{customer: *c, proposal: true})
}

// isImportant is the story of somebody of a company that the rules name.
func (p *people) isImportant(at time.Time, c *customer) error {
	p.writes(at, c, "Olá, preciso falar sobre o nosso contrato.")
	p.solve(at, "Carla", c, p.between(3, 9))
	return p.meet(knownCustomer{customer: *c, company: pick(p, []string{"Aurora Alimentos", "Porto Sul"})})
}

// isRude is the story of somebody who has lost patience.
func (p *people) isRude(at time.Time, c *customer) error {
	p.writes(at, c, pick(p, insults))
	p.writes(at.Add(minutes(1)), c, pick(p, insults))
	p.solve(at, "Carla", c, p.between(4, 8))
	return nil
}

// solve plans an answer after some minutes of office time and the close a little later, and returns
// when that is.
func (p *people) solve(at time.Time, who string, c *customer, wait float64) time.Time {
	answer := p.after(at, wait)
	p.answers(answer, who, c, pick(p, replies))
	end := p.after(answer, p.between(1.5, 4))
	p.closes(end, who, c)
	return end
}
