package phrases

import (
	"fmt"
	"regexp"
	"strconv"
)

// pageProblems are messages as a page says them that shows no code, by their English formats. An
// argument stands in braces, with its number: {name 1} is a verb, a key, an event or a fact, which
// the page has its own words for, {condition 1} an expression, and {text 1} what a person wrote.
var pageProblems = table{
	"%s, %s":                      {"{text 1}, {text 2}", "{text 1}, {text 2}"},
	"%s needs %q":                 {"“{name 1}” is not finished: {name 2} is missing", "“{name 1}” não está pronto: falta {name 2}"},
	"%s needs at least one of %s": {"“{name 1}” is not finished: it needs at least one of {name 2}", "“{name 1}” não está pronto: precisa de pelo menos um destes: {name 2}"},
	"%s is empty":                 {"nothing is written yet: {name 1}", "nada foi escrito ainda: {name 1}"},
	"%s has no %s":                {"“{name 1}” does not bring {name 2}", "“{name 1}” não traz {name 2}"},
	"%s has no field %q":          {"{name 1} has no “{text 2}”", "{name 1} não tem “{text 2}”"},
	"%s has no argument %q":       {"“{name 1}” cannot be given “{text 2}”", "“{name 1}” não aceita “{text 2}”"},
	"%s takes %q or %q, not both": {"“{name 1}” takes {name 2} or {name 3}, not both", "“{name 1}” aceita {name 2} ou {name 3}, não os dois"},
	"%s works on %s, and %s has none": {
		"“{name 1}” needs {name 2}, and “{name 3}” brings none", "“{name 1}” precisa de {name 2}, e “{name 3}” não traz",
	},
	"%s works on a conversation, and a card need not have one: then the step fails": {
		"“{name 1}” needs a conversation, and a card need not have one: then the step fails", "“{name 1}” precisa de uma conversa, e um cartão pode não ter: nesse caso o passo falha",
	},
	"a card need not have a conversation: where it has none, this fails": {"a card need not have a conversation: where it has none, this fails", "um cartão pode não ter conversa: sem ela, isto falha"},

	"unknown calendar %q":                                {"there are no opening hours called “{text 1}”", "não há horário chamado “{text 1}”"},
	"unknown event %q":                                   {"“{text 1}” is nothing that can happen", "“{text 1}” não é algo que possa acontecer"},
	"unknown name %q":                                    {"“{text 1}” is not known here", "“{text 1}” não é conhecido aqui"},
	"unknown verb %q":                                    {"“{text 1}” is no step", "“{text 1}” não é um passo"},
	"the file has no vars, so there is no %q":            {"there is no variable called “{text 1}”", "não há variável chamada “{text 1}”"},
	"the configuration does not say where %s is reached": {"it is not set up how {text 1} is reached", "não está configurado como {text 1} é encontrado"},
	"no step before this one has the id %q":              {"no step before this one gives “{text 1}”", "nenhum passo antes deste traz “{text 1}”"},
	"%q is not an id":                                    {"“{text 1}” cannot be the short name", "“{text 1}” não pode ser o nome curto"},
	"%q is not a name that expressions can use":          {"a result cannot be called “{text 1}”", "um resultado não pode se chamar “{text 1}”"},
	"there are two rules with the id %q":                 {"another rule has the short name “{text 1}”", "outra regra tem o nome curto “{text 1}”"},
	"the rule %q stands in another file too":             {"another rule has the short name “{text 1}”", "outra regra tem o nome curto “{text 1}”"},
	"there are two steps with the id %q":                 {"two steps call their result “{text 1}”", "dois passos chamam seu resultado “{text 1}”"},
	"%s has no result that could be named":               {"“{name 1}” has no result that could have a name", "“{name 1}” não tem resultado que possa ter nome"},

	"%s is always true, %s":                  {"“{condition 1}” is always true, {text 2}", "“{condition 1}” é sempre verdade, {text 2}"},
	"%s is never true":                       {"“{condition 1}” is never true", "“{condition 1}” nunca é verdade"},
	"%s are never true together":             {"these are never true together: {condition 1}", "isto nunca é verdade ao mesmo tempo: {condition 1}"},
	"%s is never true: here it is always %s": {"“{condition 1}” is never true here", "“{condition 1}” nunca é verdade aqui"},
	"%s names no words, so it is never true": {"no words are given, so it is never true", "nenhuma palavra foi dada, então nunca é verdade"},
	"%q has no word in it, so %s never finds it": {
		"“{text 1}” has no word in it, so it is never found", "“{text 1}” não tem palavra nenhuma, então nunca é encontrado",
	},
	"%s looks at words only, and not at the %c":          {"only words are looked for, and not the {text 2}", "só palavras são procuradas, e não o {text 2}"},
	"%s looks for whole words, and * stands for nothing": {"whole words are looked for, and * stands for nothing", "são procuradas palavras inteiras, e * não representa nada"},
	"{{ is never closed with }}":                         {"a value in this text is not finished", "um valor neste texto não está pronto"},
	"count_events is always 0 in a rule that is started by %s": {
		"nothing can be counted in a rule that is started by “{name 1}”", "não há o que contar em uma regra iniciada por “{name 1}”",
	},

	"when names no event":          {"nothing starts the rule yet", "nada inicia a regra ainda"},
	"choose has no branches":       {"there is no way to take yet", "ainda não há caminho a seguir"},
	"else must be the last branch": {"“otherwise” must come last", "“senão” precisa vir por último"},
	"gather is for events; a schedule has none to collect": {
		"a rule that the clock starts has no messages to collect", "uma regra iniciada pelo relógio não tem mensagens para reunir",
	},
	"run is for the missed ticks of schedules": {"only a rule that the clock starts can have missed its time", "só uma regra iniciada pelo relógio pode perder a hora"},
	"skip_after is for events":                 {"only what happens can come late, and the clock starts this rule", "só o que acontece pode chegar atrasado, e o relógio inicia esta regra"},
	"at_most (%s) is shorter than quiet (%s)":  {"the longest time is shorter than the quiet time", "o tempo máximo é menor que o tempo de silêncio"},
	"retry needs times or for":                 {"say how often, or for how long, it is tried again", "diga quantas vezes, ou por quanto tempo, tentar de novo"},
	"the event %s is named twice":              {"“{name 1}” is named twice", "“{name 1}” aparece duas vezes"},
	"the rule starts itself for ever: %s":      {"the rule starts itself again and again", "a regra inicia a si mesma sem parar"},
	"the rules start each other for ever: %s":  {"this rule and others start each other again and again", "esta regra e outras iniciam umas às outras sem parar"},
	"cancel_on never ends a run of this rule: what customers do does not reach the runs of %s": {
		"this never ends it: what customers do does not reach a rule that is started by “{name 1}”", "isto nunca a termina: o que os clientes fazem não alcança uma regra iniciada por “{name 1}”",
	},
	"wait_for always waits until the time is over: what customers do does not reach the runs of %s": {
		"this always waits until the time is over: what customers do does not reach a rule that is started by “{name 1}”",
		"isto sempre espera até o fim do tempo: o que os clientes fazem não alcança uma regra iniciada por “{name 1}”",
	},

	"did you mean %q?": {"did you mean “{name 1}”?", "você quis dizer “{name 1}”?"},
	"one of: %s":       {"", ""},
	"use small letters, digits and dashes, as in away-reply": {"use small letters, digits and dashes, as in away-reply", "use letras minúsculas, dígitos e hifens, como em away-reply"},
	"the step in line %d gives it; it must come first":       {"a later step gives it: move that one up", "um passo posterior traz isso: mova-o para cima"},
	"add `gather` to the rule":                               {"let it collect messages first", "faça a regra reunir mensagens antes"},
	"find it first with `find_card`":                         {"let a step find it first", "faça um passo encontrá-lo antes"},
	"there is none; describe it under `calendars`":           {"there are none yet", "ainda não há nenhum"},
	`add people: { %s: { phone: "+55…", channel: … } } to the configuration`: {
		"who looks after Quando adds it to the configuration", "quem cuida do Quando acrescenta isso à configuração",
	},
}

// An ArgumentSayer puts an argument of a message into words. The kind is name or condition.
type ArgumentSayer func(kind, argument string) string

var pageArgument = regexp.MustCompile(`\{(name|condition|text) (\d)\}`)

// Plain returns the message as a page says it that shows no code. It is false for a message that
// has no such words.
func (m *Message) Plain(l Language, say ArgumentSayer) (text string, ok bool) {
	if m == nil {
		return "", true
	}
	format := m.format
	if word, ok := m.onlyWord(); ok {
		format = string(word)
	}
	words, known := pageProblems[Code(format)]
	if !known {
		return m.In(l), false
	}
	return pageArgument.ReplaceAllStringFunc(words[l], func(place string) string {
		parts := pageArgument.FindStringSubmatch(place)
		n, err := strconv.Atoi(parts[2])
		if err != nil || n < 1 || n > len(m.args) {
			return place
		}
		return plainArgument(l, parts[1], m.args[n-1], say)
	}), true
}

func plainArgument(l Language, kind string, argument any, say ArgumentSayer) string {
	switch a := argument.(type) {
	case *Message:
		text, _ := a.Plain(l, say)
		return text
	case List:
		said := List{make([]string, len(a.names)), a.last}
		for i, name := range a.names {
			said.names[i] = plainArgument(l, kind, name, say)
		}
		return said.In(l)
	case rune:
		return string(a)
	}
	text := fmt.Sprint(argumentIn(l, argument))
	if kind == "text" {
		return text
	}
	return say(kind, text)
}

// onlyWord returns the word that is all of a message.
func (m *Message) onlyWord() (word Word, ok bool) {
	if m.format == "%s" && len(m.args) == 1 {
		word, ok = m.args[0].(Word)
	}
	return word, ok
}

// Says reports whether a message has an English format.
func (m *Message) Says(format string) bool {
	if m == nil {
		return false
	}
	word, _ := m.onlyWord()
	return m.format == format || string(word) == format
}

// Last returns the last argument of a message that is a text.
func (m *Message) Last() (text string, ok bool) {
	if m == nil {
		return "", false
	}
	for i := len(m.args) - 1; i >= 0; i-- {
		if text, ok = m.args[i].(string); ok {
			return text, true
		}
	}
	return "", false
}
