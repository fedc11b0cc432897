package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// otherVerbs maps the verbs of other tools, and Portuguese words, to the verbs here.
var otherVerbs = map[string]string{
	"reply": "send_message", "answer": "send_message", "message": "send_message", "text": "send_message", "say": "send_message", "responder": "send_message", "enviar_mensagem": "send_message",
	"label": "add_labels", "tag": "add_labels", "labels": "add_labels", "etiqueta": "add_labels", "etiquetas": "add_labels", "untag": "remove_labels",
	"assign": "transfer", "route": "transfer", "transferir": "transfer", "atribuir": "transfer",
	"delay": "wait", "sleep": "wait", "pause": "wait", "esperar": "wait", "aguardar": "wait",
	"resolve": "close_attendance", "finish": "close_attendance", "encerrar": "close_attendance", "fechar": "close_attendance",
	"archive": "update_conversation", "block": "update_contact", "mover_cartao": "move_card", "criar_cartao": "create_card",
	"webhook": "http_request", "http": "http_request", "call": "http_request", "post": "http_request",
	"exit": "stop", "end": "stop", "return": "stop", "parar": "stop", "repeat": "for_each", "loop": "for_each", "note": "log",
}

// otherKeys maps wrong keys of a rule to what to write instead.
var otherKeys = map[string]string{
	"enabled": "`stage: draft` switches a rule off, `stage: live` on", "active": "`stage: draft` switches a rule off, `stage: live` on", "disabled": "`stage: draft` switches a rule off",
	"trigger": "write when", "event": "write when", "on": "write when", "quando": "write when",
	"condition": "write if", "conditions": "write if", "se": "write if",
	"then": "write do", "actions": "write do", "steps": "write do", "faça": "write do",
}

// verbHint suggests a verb for an unknown one.
func (c *compiler) verbHint(name string, more ...string) string {
	if near := source.DidYouMean(name, append(c.catalog.Verbs(), more...)); near != "" {
		return near
	}
	switch folded := strings.ToLower(name); {
	case slices.Contains([]string{"do", "then", "else", "se", "senão"}, folded):
		return "steps of a condition stand in choose: a list of { if, do }, and at last { else: [steps] }"
	case otherVerbs[folded] != "":
		return "write " + otherVerbs[folded]
	}
	return "the verbs are " + list(c.catalog.Verbs())
}

// nameHint suggests a name for one that an expression cannot see, if no name is similar.
func nameHint(name string) string {
	switch strings.ToLower(name) {
	case "yes", "on", "true", "sim":
		return "write true"
	case "no", "off", "false", "não", "nao":
		return "write false"
	case "null", "none", "nothing", "undefined", "nulo", "vazio", "empty":
		return "write nil"
	}
	if other := otherFacts[strings.ToLower(name)]; other != "" {
		return "write " + other
	}
	return "put a text in quotes, as in \"" + name + "\""
}

// flagHint says what to write for a flag.
func flagHint(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "sim", "1", "true":
		return "write true, without quotes"
	case "no", "off", "n", "não", "nao", "0", "false":
		return "write false, without quotes"
	}
	return ""
}

// otherFacts are facts as other tools call them.
var otherFacts = map[string]string{
	"ticket": "attendance", "case": "attendance", "atendimento": "attendance", "protocol": "attendance.protocol", "chat": "conversation", "conversa": "conversation",
	"customer": "contact", "requester": "contact", "sender": "contact", "client": "contact", "cliente": "contact", "contato": "contact", "user": "contact",
	"name": "contact.name", "nome": "contact.name", "phone": "contact.phone", "text": "message.text", "body": "message.text", "content": "message.text",
	"mensagem": "message", "trigger": "event", "payload": "event.data", "$json": "event.data", "label": "has_label(\"…\")", "labels": "has_label(\"…\")", "tags": "has_label(\"…\")",
}

// wordHint suggests what to write for a word that is not allowed there.
func wordHint(word string) string {
	switch strings.ToLower(word) {
	case "and", "e":
		return "write and"
	case "or", "ou":
		return "write or"
	case "is", "equals", "é":
		return "compare with == or !="
	case "like", "has", "includes":
		return "write contains"
	}
	return "put a text in quotes, and and or or between two conditions"
}

// habits are ways to write an expression in other tools, with what to write here.
var habits = []struct {
	form *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`\|\s*default\b`), "write … ?? \"something else\" for what is missing"},
	{regexp.MustCompile(`\|\s*\w+\s*$`), "call a function with its value in brackets, as in upper(contact.name)"},
	{regexp.MustCompile(`^\s*\d{1,2}:\d{2}\s*$`), "write a time as in next_open(\"office\"), or a whole one as in date(\"2026-12-24T09:00:00-03:00\")"},
	{regexp.MustCompile(`(?:^|\s)(?:[Nn][ãa]o|N[Oo][Tt])\s+\w+\s*\(`), "write not in front of it, as in not open(\"office\")"},
}

// habitHint suggests what to write for an expression in the style of another tool, or "".
func habitHint(text string) string {
	for _, h := range habits {
		if h.form.MatchString(text) {
			return h.hint
		}
	}
	return ""
}

// mismatchHint says how two values of different types can be put together.
func mismatchHint(operator, a, b string) string {
	both := func(x, y *Type) bool { return a == x.name && b == y.name || a == y.name && b == x.name }
	sum := operator == "+" || operator == "-"
	switch {
	case (operator == "or" || operator == "||") && both(Flag, Text):
		return "compare with each of them, as in message.text in [\"1\", \"2\"]"
	case (operator == "==" || operator == "!=") && (a == "a list") != (b == "a list"):
		return "write in, as in contact.city in [\"Recife\", \"Natal\"]"
	case operator == "in" && a == Text.name && b == Text.name:
		return "write contains with the longer text first, or a list in [ ]"
	case a == "time.Weekday" || b == "time.Weekday":
		return "as in now().Weekday().String() == \"Saturday\""
	case a == "time.Month" || b == "time.Month":
		return "as in now().Month().String() == \"December\""
	case both(Duration, Text), both(Duration, Number), sum && both(Time, Text), sum && both(Time, Number):
		return "write a duration as in duration(\"15m\")"
	case both(Time, Text):
		return "write a time as in date(\"2026-12-24\")"
	case both(Flag, Text):
		return "true and false stand without quotes"
	case sum && both(Text, Number):
		return "make the number a text with string(…), or the text a number with int(…)"
	case both(Text, Number):
		return "put the number in quotes, or make the text a number with int(…)"
	}
	return ""
}
