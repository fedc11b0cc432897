package engine

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/quandohq/quando/rules"
)

// toldTexts are the texts that the engine and its verbs record for people, by the formats that they are written with, in Portuguese. A %r is
// another such text.
var toldTexts = [][2]string{
	{"there is no such rule, or it is a draft", "não existe tal regra, ou ela é um rascunho"},
	{"there is no such rule any more, or it is a draft", "tal regra já não existe, ou ela é um rascunho"},
	{"the rule %s did this", "a regra %s fez isto"},
	{"it came of this rule itself", "isto veio desta própria regra"},
	{"it is %s old, and late: skip_after is %s", "ele tem %s, e late: skip_after é %s"},
	{"the tick was %s ago, and late: run is none", "o toque foi há %s, e late: run é none"},
	{"a later tick has come", "um toque posterior já chegou"},
	{"by: there is no value", "by: não há valor"},
	{"mode: single, and run %d is not finished", "mode: single, e a execução %d não terminou"},
	{"max: %d, and as many runs are not finished", "max: %d, e outras tantas execuções não terminaram"},
	{"limit: %d per %s", "limit: %d por %s"},
	{"safety: automatic messages are bounded to %d in %s", "segurança: mensagens automáticas são limitadas a %d em %s"},
	{"safety: automatic messages to one conversation are bounded to %d in %s", "segurança: mensagens automáticas para uma conversa são limitadas a %d em %s"},
	{"replaced by a newer run", "substituída por uma execução mais nova"},
	{"the version of the rule that the run began with cannot be read", "a versão da regra com que a execução começou não pode ser lida"},
	{"the event that it began with is gone from the journal", "o evento com que começou já não está no diário"},
	{"step %s (%s): %r", "passo %s (%s): %r"},
	{"given up after %d attempts, and it is not known whether the last had its effect: %r", "desistiu após %d tentativas, e não se sabe se a última teve efeito: %r"},
	{"given up after %d attempts: %r", "desistiu após %d tentativas: %r"},
	{"it cannot be told, because what it needs was not done: %r", "não se pode dizer, porque aquilo de que precisa não foi feito: %r"},
	{"if: %s", "se: %s"},
	{"no branch", "nenhum caminho"},
	{"else", "senão"},
	{"%d items", "%d itens"},
	{"none came", "nenhum chegou"},
	{"its time ended while no engine was there: what was not told is looked for first", "seu tempo acabou enquanto não havia nenhum motor: primeiro se procura o que não foi contado"},
	{"for_each: %s gives no list", "for_each: %s não dá uma lista"},
	{"for_each: %s gives %d items, and max is %d", "for_each: %s dá %d itens, e max é %d"},

	{"the journal cannot be used, so nothing is looked for", "o diário não pode ser usado, por isso nada é procurado"},
	{"the service refuses the key, so what no webhook told is not found", "o serviço recusa a chave, por isso o que nenhum webhook contou não é encontrado"},
	{"the key lacks the scope %s, so %s that no webhook told are not found", "falta à chave o escopo %s, por isso %s que nenhum webhook contou não são encontrados"},
	{"%s that no webhook told could not all be looked for; it is tried again", "%s que nenhum webhook contou não puderam ser todos procurados; será tentado de novo"},
	{"messages show no time, so those that no webhook told are not found; set message.created_at in the profile", "as mensagens não mostram hora, por isso as que nenhum webhook contou não são encontradas; defina message.created_at no perfil"},
	{"messages do not tell whose they are, so those that no webhook told are not found; set message.direction in the profile", "as mensagens não dizem de quem são, por isso as que nenhum webhook contou não são encontradas; defina message.direction no perfil"},
	{"attendances show no time, so those that no webhook told are not found; set attendance.opened_at in the profile", "os atendimentos não mostram hora, por isso os que nenhum webhook contou não são encontrados; defina attendance.opened_at no perfil"},

	{"the contact is so already", "o contato já está assim"},
	{"the labels are so already", "as etiquetas já estão assim"},
	{"the conversation is there already", "a conversa já está lá"},
	{"the conversation has no open attendance", "a conversa não tem atendimento aberto"},
	{"the attendance is closed already; the conversation's next one stays open", "o atendimento já está encerrado; o seguinte da conversa continua aberto"},
	{"no card fits", "nenhum cartão serve"},
	{"there is no card: none was found or created", "não há cartão: nenhum foi encontrado nem criado"},
	{"the card is in that stage already", "o cartão já está nessa etapa"},
	{"the conversation is in that sector already", "a conversa já está nesse setor"},
	{"the card is so already", "o cartão já está assim"},
	{"the conversation is read already", "a conversa já está lida"},
	{"the conversation is so already", "a conversa já está assim"},
	{"the card is in %s, and only_from says %s", "o cartão está em %s, e only_from diz %s"},
	{"the call is more than six days old, and the service no longer knows its key for sure: create the card by hand if it is missing", "a chamada tem mais de seis dias, e já não é certo que o serviço conheça sua chave: crie o cartão à mão se ele faltar"},
	{"the request may or may not have been carried out: see there, or say repeatable: true in the rule", "a requisição pode ou não ter sido executada: verifique lá, ou diga repeatable: true na regra"},
	{"the move is more than six days old, and the service no longer knows its key for sure: move the card by hand if it should still move", "o movimento tem mais de seis dias, e já não é certo que o serviço conheça sua chave: mova o cartão à mão se ainda for preciso"},
	{"somebody else has moved the card meanwhile", "outra pessoa moveu o cartão nesse meio-tempo"},
	{"the card has been changed meanwhile", "o cartão foi alterado nesse meio-tempo"},
	{"somebody else has put the conversation into another sector meanwhile", "outra pessoa pôs a conversa em outro setor nesse meio-tempo"},
	{"somebody else has moved the conversation meanwhile", "outra pessoa moveu a conversa nesse meio-tempo"},
}

// A toldText recognises a text and puts it into Portuguese.
type toldText struct {
	text   *regexp.Regexp
	format string
	inner  []bool // which of its parts are such texts too
}

// toldPortuguese is made when somebody reads Portuguese.
var toldPortuguese = sync.OnceValue(func() (list []toldText) {
	part := regexp.MustCompile(`%[drs]`)
	for _, t := range toldTexts {
		pattern, inner := regexp.QuoteMeta(t[0]), []bool{}
		for _, verb := range part.FindAllString(t[0], -1) {
			inner = append(inner, verb == "%r")
		}
		pattern = part.ReplaceAllStringFunc(pattern, func(verb string) string {
			if verb == "%d" {
				return `(\d+)`
			}
			return `(.+)`
		})
		list = append(list, toldText{regexp.MustCompile(`(?s)^` + pattern + `$`), part.ReplaceAllString(t[1], "%s"), inner})
	}
	return list
})

// Told puts a text that the engine recorded for people into a language. What others wrote, such as a rule, a person or the service, stays as it is.
func Told(l rules.Language, text string) string {
	if l == rules.English || strings.TrimSpace(text) == "" {
		return text
	}
	for _, t := range toldPortuguese() {
		m := t.text.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		args := make([]any, len(t.inner))
		for i, inner := range t.inner {
			args[i] = m[i+1]
			if inner {
				args[i] = Told(l, m[i+1])
			}
		}
		return fmt.Sprintf(t.format, args...)
	}
	return text
}
