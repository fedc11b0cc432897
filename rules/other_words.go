package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"

	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

// otherVerbs maps the verbs of other tools, and Portuguese words, to the verbs here, or to a
// sentence about what to write.
var otherVerbs = map[string]phrases.Word{
	"reply": "send_message", "answer": "send_message", "message": "send_message", "text": "send_message", "say": "send_message", "responder": "send_message", "enviar_mensagem": "send_message",
	"comment": "send_message", "respond": "send_message", "send": "send_message", "enviar": "send_message",
	"notify": tellPerson, "notify_user": tellPerson, "notify_group": tellPerson, "email": tellPerson, "send_email": tellPerson, "slack": tellPerson, "avisar": tellPerson, "notificar": tellPerson,
	"label": "add_labels", "tag": "add_labels", "labels": "add_labels", "etiqueta": "add_labels", "etiquetas": "add_labels", "untag": "remove_labels", "etiquetar": "add_labels",
	"add_tag": "add_labels", "add_tags": "add_labels", "set_tags": "set_labels", "remove_tag": "remove_labels", "remove_tags": "remove_labels", "current_tags": "add_labels",
	"assign": "transfer", "route": "transfer", "transferir": "transfer", "atribuir": "transfer", "group": "write transfer: the sector's name", "sector": "set_sector", "setor": "set_sector",
	"assignee": "write transfer: { person: the person's name }", "assign_to": "write transfer: { person: the person's name }", "agent": "write transfer: { person: the person's name }",
	"delay": "wait", "sleep": "wait", "pause": "wait", "esperar": "wait", "aguardar": "wait", "wait_for_trigger": "write wait_for: { event: message.received, timeout: 24h }",
	"wait_template": "write wait_for: { event: message.received, timeout: 24h }", "wait_until": "write wait: { until: … }",
	"resolve": "close_attendance", "finish": "close_attendance", "encerrar": "close_attendance", "fechar": "close_attendance", "close": "close_attendance", "solve": "close_attendance",
	"status": "write close_attendance to close it; nothing else can be set", "priority": "write update_card: { priority: high }",
	"archive": "update_conversation", "block": "update_contact", "mover_cartao": "move_card", "criar_cartao": "create_card",
	"webhook": "http_request", "http": "http_request", "call": "http_request", "post": "http_request", "rest_command": "http_request", "requisicao": "http_request",
	"exit": "stop", "end": "stop", "return": "stop", "parar": "stop", "note": "log", "variables": "set", "definir": "set",
	"repeat": "for_each takes steps once for each item of a list; a schedule, when: { every: 1h }, takes them again and again", "loop": "for_each", "foreach": "for_each", "para_cada": "for_each",
	"switch": "choose", "escolher": "choose", "condition": "write stop_if with the opposite, or if beside the verb", "filter": "write stop_if with the opposite, or if beside the verb",
	"action": verbIsKey, "service": verbIsKey, "type": verbIsKey, "verb": verbIsKey, "acao": verbIsKey, "ação": verbIsKey,
	"code": noCode, "function": noCode, "script": noCode, "python": noCode, "javascript": noCode,
	"sequence": "leave it out: the steps of do are taken one behind the other", "parallel": "leave it out: the steps of do are taken one behind the other",
}

const (
	tellPerson = "write send_message: { to: { person: Carla }, text: … } for somebody of the team"
	verbIsKey  = "the verb itself is the key, as in send_message: \"Hello\""
	noCode     = "rules have no code: work values out in {{ }}, name them with set, and ask another system with http_request"
	comesApart = "leave it out"
	oneSpan    = "write the length of time as one value, as in wait: 15m"
	callOffice = "open(\"office\"), with a calendar of that name"
	stepResult = "the result of an earlier step has the name that its id gives it, as in report.closed"
)

// otherKeys maps wrong keys to the keys that are meant, or to a sentence about what to write: by
// what has the key.
var otherKeys = map[string]map[string]phrases.Word{
	"a rule": {
		"enabled": switchedBy, "active": switchedBy, "disabled": switchedBy, "initial_state": switchedBy, "ativo": switchedBy, "ativa": switchedBy, "status": switchedBy,
		"alias": "name", "title": "name", "nome": "name", "titulo": "name", "descricao": "description", "descrição": "description", "notes": "description", "modo": "mode",
		"trigger": "when", "triggers": "when", "event": "when", "events": "when", "on": "when", "quando": "when", "schedule": "when", "evento": "when", "gatilho": "when",
		"condition": "if", "conditions": "if", "se": "if", "where": "if", "all": "if", "unless": "write if, with not in front of the condition",
		"any": "write if, with or between the conditions", "filter": "if", "condicao": "if", "condição": "if", "condicoes": "if", "condições": "if",
		"then": "do", "action": "do", "actions": "do", "steps": "do", "sequence": "do", "faça": "do", "faca": "do", "fazer": "do", "acao": "do", "ação": "do", "acoes": "do", "ações": "do", "então": "do", "entao": "do",
		"else": elseChoose, "senao": elseChoose, "senão": elseChoose,
		"variables": "write vars at the beginning of the file, or set as a step", "vars": "vars stands at the beginning of the file, beside rules", "limite": "limit", "throttle": "limit", "max_exceeded": comesApart,
		"version": comesApart, "priority": "leave it out: the order of rules never matters", "order": "leave it out: the order of rules never matters", "position": "leave it out: the order of rules never matters",
	},
	"a file": {
		"automation": "rules", "automations": "rules", "rule": "rules", "regras": "rules", "regra": "rules", "workflows": "rules", "triggers": "rules", "variables": "vars", "variaveis": "vars", "variáveis": "vars",
		"calendar": "calendars", "calendario": "calendars", "calendarios": "calendars", "calendários": "calendars", "horarios": "calendars", "horários": "calendars", "test": "tests", "testes": "tests",
		"nodes":       "a workflow of another tool cannot be read: write rules, each with id, when, if and do",
		"connections": "leave it out: the steps of do are taken one behind the other",
		"service":     inConfiguration, "http_request": inConfiguration, "workspaces": inConfiguration, "safety": inConfiguration, "journal": inConfiguration, "timezone": "a calendar has a timezone; that of the workspace is in the configuration, quando.yaml",
	},
	"a branch": {"conditions": "if", "condition": "if", "se": "if", "when": "if", "quando": "if", "sequence": "do", "then": "do", "actions": "do", "action": "do", "steps": "do", "faca": "do", "faça": "do", "entao": "do", "default": "else", "otherwise": "else", "senao": "else", "senão": "else"},
	"a schedule": {
		"platform": comesApart, "trigger": comesApart, "type": comesApart, "interval": "every", "minutes": "write every, as in every: 5m", "hours": "write every, as in every: 1h", "seconds": "write every, as in every: 30s",
		"time": "at", "hour": "at", "hora": "at", "days": "on", "day": "on", "weekday": "on", "dias": "on", "dia": "on", "expression": "cron", "tz": "timezone", "fuso": "timezone", "filter": "where", "for_each": "each",
		"event": "an event's name stands behind when itself, as in when: message.received", "event_type": "an event's name stands behind when itself, as in when: message.received",
		"if": "put if beside when",
	},
	"limit":  {"count": "times", "max": "times", "vezes": "times", "every": "per", "within": "per", "por": "per", "for": "per", "key": "by"},
	"gather": {"wait": "quiet", "for": "quiet", "max": "at_most", "timeout": "at_most"},

	"transfer":     {"to": toWhom, "group": "sector", "department": "sector", "queue": "sector", "setor": "sector", "user": "person", "assignee": "person", "agent": "person", "pessoa": "person", "motivo": "reason", "note": "reason"},
	"send_message": {"message": "text", "body": "text", "content": "text", "mensagem": "text", "texto": "text", "file": "media", "attachment": "media", "image": "media", "phone": "to", "target": "to", "para": "to"},
	"http_request": {"body": "json", "data": "json", "payload": "json", "params": "query", "address": "url", "endpoint": "url", "authentication": tokenElsewhere, "auth": tokenElsewhere, "credentials": tokenElsewhere, "token": tokenElsewhere},
	"wait":         {"seconds": oneSpan, "minutes": oneSpan, "hours": oneSpan, "days": oneSpan, "amount": oneSpan, "unit": oneSpan, "duration": "for", "segundos": oneSpan, "minutos": oneSpan, "horas": oneSpan, "dias": oneSpan},
	"wait_for":     {"trigger": "event", "wait": "timeout", "for": "timeout", "until": "timeout", "condition": "if"},
	"for_each":     {"items": "in", "list": "in", "steps": "do", "sequence": "do", "count": "for_each takes steps once for each item of a list, and nothing a number of times"},
	"create_card":  {"name": "title", "titulo": "title", "column": "stage", "list": "stage", "labels": "label", "date": "due"},
	"move_card":    {"stage": "to", "column": "to", "list": "to", "from": "only_from"},
}

const (
	switchedBy      = "`stage: draft` switches a rule off, `stage: live` on"
	elseChoose      = "write choose as a step of do: a list of { if, do }, and at last { else: [steps] }"
	inConfiguration = "this belongs into the configuration, quando.yaml, and not to the rules"
	toWhom          = "write sector, or person for somebody of the team"
	tokenElsewhere  = "secrets stand in the configuration, under http_request.headers"
)

// isSentence tells a sentence about what to write from a word of the language.
func isSentence(w phrases.Word) bool { return strings.Contains(string(w), " ") }

// otherKey returns the key that a word stands for in other tools, or "", and what to write instead.
func otherKey(of, word string) (key string, hint *phrases.Message) {
	switch other := otherKeys[of][strings.ToLower(word)]; {
	case other == "":
		return "", nil
	case isSentence(other):
		return "", other.Message()
	default:
		return string(other), say("write %s", other)
	}
}

// standsFor reports whether a word means a key in another tool.
func standsFor(word, key string) bool {
	for of := range otherKeys {
		if meant, _ := otherKey(of, word); meant == key {
			return true
		}
	}
	return false
}

// otherEvents maps the events of other tools, and Portuguese names, to the events here.
var otherEvents = map[string]string{
	"mensagem.recebida": vocabulary.MessageReceived, "mensagem.nova": vocabulary.MessageReceived, "nova.mensagem": vocabulary.MessageReceived, "new.message": vocabulary.MessageReceived, "message.created": vocabulary.MessageReceived,
	"message": vocabulary.MessageReceived, "mensagem": vocabulary.MessageReceived, "mensagem.enviada": vocabulary.MessageSent, "message.outgoing": vocabulary.MessageSent, "message.incoming": vocabulary.MessageReceived,
	"conversa.atualizada": vocabulary.ConversationUpdated, "conversa.alterada": vocabulary.ConversationUpdated, "ticket.updated": vocabulary.ConversationUpdated, "conversation.changed": vocabulary.ConversationUpdated,
	"atendimento.aberto": vocabulary.AttendanceOpened, "atendimento.iniciado": vocabulary.AttendanceOpened, "atendimento.criado": vocabulary.AttendanceOpened, "novo.atendimento": vocabulary.AttendanceOpened,
	"ticket.created": vocabulary.AttendanceOpened, "ticket.opened": vocabulary.AttendanceOpened, "conversation.created": vocabulary.AttendanceOpened, "conversation.opened": vocabulary.AttendanceOpened, "conversa.aberta": vocabulary.AttendanceOpened,
	"atendimento.fechado": vocabulary.AttendanceClosed, "atendimento.encerrado": vocabulary.AttendanceClosed, "atendimento.finalizado": vocabulary.AttendanceClosed, "atendimento.concluido": vocabulary.AttendanceClosed,
	"ticket.closed": vocabulary.AttendanceClosed, "ticket.solved": vocabulary.AttendanceClosed, "conversation.resolved": vocabulary.AttendanceClosed, "conversation.closed": vocabulary.AttendanceClosed, "conversa.encerrada": vocabulary.AttendanceClosed,
	"cartao.criado": vocabulary.CardCreated, "card.criado": vocabulary.CardCreated, "card.created": vocabulary.CardCreated, "kanban.cartao.criado": vocabulary.CardCreated,
	"cartao.movido": vocabulary.CardMoved, "card.movido": vocabulary.CardMoved, "card.moved": vocabulary.CardMoved, "kanban.cartao.movido": vocabulary.CardMoved,
	"cartao.concluido": vocabulary.CardCompleted, "cartao.ganho": vocabulary.CardCompleted, "card.won": vocabulary.CardCompleted, "card.completed": vocabulary.CardCompleted, "card.concluido": vocabulary.CardCompleted, "kanban.cartao.concluido": vocabulary.CardCompleted,
	"time": scheduleExample, "schedule": scheduleExample, "cron": scheduleExample, "horario": scheduleExample, "agenda": scheduleExample, "daily": scheduleExample,
	"webhook": "name what happens, as in message.received: the engine registers its webhook itself", "start": vocabulary.Manual, "button": vocabulary.Manual,
}

// eventHint suggests what to write for an unknown event.
func eventHint(name string, known []string) *phrases.Message {
	if strings.HasPrefix(name, "every ") || strings.HasPrefix(name, "at ") || strings.HasPrefix(name, "cron ") {
		return phrases.Word(scheduleExample).Message()
	}
	if several := eventsOf(name); several != nil {
		return say("write a list: [%s]", strings.Join(several, ", "))
	}
	switch other := otherEvents[eventWords.Replace(strings.ToLower(name))]; {
	case other == "":
		return source.OneOf(name, known)
	case strings.Contains(other, " "):
		return phrases.Word(other).Message()
	default:
		return say("write %s", other)
	}
}

// eventWords brings names of events into the form of otherEvents.
var eventWords = strings.NewReplacer("ã", "a", "á", "a", "í", "i", "_", ".", " ", ".", "-", ".", ":", ".")

// severalNames separates names that stand in one text.
var severalNames = regexp.MustCompile(`\s*[,;|/+]\s*|\s+(?:or|ou|and|e)\s+`)

// eventsOf returns the events that one text names together, or nil.
func eventsOf(text string) (events []string) {
	parts := severalNames.Split(text, -1)
	if len(parts) < 2 {
		return nil
	}
	for _, part := range parts {
		name := part
		if other := otherEvents[eventWords.Replace(strings.ToLower(part))]; other != "" {
			name = other
		}
		if !slices.Contains(eventNames, name) {
			return nil
		}
		events = append(events, name)
	}
	return events
}

// verbHint suggests a verb for an unknown one.
func (c *compiler) verbHint(name string, more ...string) *phrases.Message {
	folded := strings.ToLower(name)
	if slices.Contains([]string{"do", "then", "else", "se", "senão", "senao", "então", "entao"}, folded) {
		return say("steps of a condition stand in choose: a list of { if, do }, and at last { else: [steps] }")
	}
	switch other := otherVerbs[folded]; {
	case other == "":
	case isSentence(other):
		return other.Message()
	default:
		return say("write %s", other)
	}
	if near := source.DidYouMean(name, append(c.catalog.Verbs(), more...)); near != nil {
		return near
	}
	return say("the verbs are %s", phrases.And(c.catalog.Verbs()))
}

// nameHint suggests a name for one that an expression cannot see, or "".
func nameHint(name string) *phrases.Message {
	switch strings.ToLower(name) {
	case "yes", "on", "true", "sim", "verdadeiro":
		return say("write %s", "true")
	case "no", "off", "false", "não", "nao", "falso":
		return say("write %s", "false")
	case "null", "none", "nothing", "undefined", "nulo", "vazio", "empty":
		return say("write %s", "nil")
	}
	switch other := otherFacts[strings.ToLower(name)]; {
	case other == "":
		return nil
	case isSentence(other) && !strings.HasPrefix(string(other), "open("):
		return other.Message()
	default:
		return say("write %s", other)
	}
}

// flagHint says what to write for a flag.
func flagHint(text string) *phrases.Message {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "sim", "1", "true":
		return say("write true, without quotes")
	case "no", "off", "n", "não", "nao", "0", "false":
		return say("write false, without quotes")
	}
	return nil
}

// otherFacts are facts as other tools call them, or a sentence about what to write.
var otherFacts = map[string]phrases.Word{
	"ticket": "write attendance; the customer is contact, and the messages are in conversation", "case": "attendance", "atendimento": "attendance", "protocol": "attendance.protocol", "protocolo": "attendance.protocol",
	"chat": "conversation", "conversa": "conversation",
	"customer": "contact", "requester": "contact", "sender": "contact", "client": "contact", "cliente": "contact", "contato": "contact", "user": "contact",
	"name": "contact.name", "nome": "contact.name", "phone": "contact.phone", "telefone": "contact.phone", "text": "message.text", "texto": "message.text", "body": "message.text", "content": "message.text",
	"mensagem": "message", "trigger": "event", "payload": "event.data", "label": "has_label(\"…\")", "labels": "has_label(\"…\")", "tags": "has_label(\"…\")", "current_tags": "has_label(\"…\")",
	"$json": "write contact.name, message.text and the like; what the event came with besides is event.data", "$input": stepResult, "$node": stepResult, "$items": stepResult, "states": "write conversation, contact or attendance with a field, as in attendance.status",
	"$now": "now()", "$today": "day(now(), 0)", "today": "day(now(), 0)", "hoje": "day(now(), 0)", "agora": "now()", "$env": "secrets and settings stand in the configuration, and constants in vars",
	"within_business_hours": callOffice, "in_business_hours": callOffice, "business_hours": callOffice, "horario_comercial": callOffice, "office_hours": callOffice,
}

// otherFields are fields as other tools call them.
var otherFields = map[string]string{
	"tags": "labels", "etiquetas": "labels", "first_name": "name", "full_name": "name", "nome": "name", "telefone": "phone", "number": "phone", "empresa": "company", "cidade": "city", "body": "text", "content": "text", "texto": "text",
	"group": "sector_name", "setor": "sector_name", "agent": "assignee_name", "responsavel": "assignee_name", "inbox": "channel_name", "created_at": "opened_at", "number_protocol": "protocol", "protocolo": "protocol", "column": "stage_name", "list": "stage_name",
}

// fieldHint suggests a field for an unknown one.
func fieldHint(name string, fields []string) *phrases.Message {
	if other := otherFields[strings.ToLower(name)]; slices.Contains(fields, other) {
		return say("write %s", other)
	}
	return source.OneOf(name, fields)
}

// otherFunctions maps functions of other tools, and of spreadsheets, to a sentence about what to
// write here.
var otherFunctions = map[string]phrases.Word{
	"and": "write and between the conditions, as in open(\"office\") and says(\"hi\")", "e": "write and between the conditions, as in open(\"office\") and says(\"hi\")",
	"or": "write or between the conditions, as in says(\"hi\") or says(\"hello\")", "ou": "write or between the conditions, as in says(\"oi\") or says(\"bom dia\")",
	"não": "write not in front of it, as in not open(\"office\")", "nao": "write not in front of it, as in not open(\"office\")",
	"if": "write condition ? this : that, as in contact.name == nil ? \"you\" : contact.name",
	"se": "write condition ? this : that, as in contact.name == nil ? \"you\" : contact.name", "iif": "write condition ? this : that",
	"today": "write day(now(), 0), as in day(now(), 0) == \"2026-12-24\"", "hoje": "write day(now(), 0), as in day(now(), 0) == \"2026-12-24\"",
	"concatenate": "join texts with +, or write them side by side: Hello {{ contact.name }}",
	"concatenar":  "join texts with +, or write them side by side: Hello {{ contact.name }}", "default": "write … ?? \"something else\" for what is missing",
	"ifempty": "write … ?? \"something else\" for what is missing", "seerro": "write … ?? \"something else\" for what is missing",
	"iferror": "write … ?? \"something else\" for what is missing", "left": "write the part in [ ], as in message.text[0:5]",
	"esquerda": "write the part in [ ], as in message.text[0:5]", "states": "write a fact, as in attendance.status",
	"is_state": "compare a fact, as in attendance.status == \"open\"", "state_attr": "write a fact, as in attendance.status",
	"vlookup": "ask another system with http_request", "procv": "ask another system with http_request",
}

// otherCalls maps functions of other tools, and of spreadsheets, to the expression that does the
// same here.
var otherCalls = map[string]string{
	"agora": "now()", "hour": "now().Hour()", "hora": "now().Hour()", "weekday": "now().Weekday().String() == \"Monday\"",
	"dia.da.semana": "now().Weekday().String() == \"Monday\"", "has_tag": "has_label(\"…\")", "has_tags": "has_label(\"…\")", "tem_etiqueta": "has_label(\"…\")",
	"parseint": "number(…)", "parsefloat": "number(…)", "value": "number(…)", "valor": "number(…)", "hours_since": "now() - … > duration(\"24h\")",
	"minutes_since": "now() - … > duration(\"15m\")", "days_since": "now() - … > duration(\"2d\")", "datedif": "now() - … > duration(\"2d\")",
	"contains": "message.text contains \"…\"", "includes": "message.text contains \"…\"", "search": "message.text contains \"…\"", "procurar": "message.text contains \"…\"",
	"localizar": "message.text contains \"…\"", "minúscula": "lower(…)", "minuscula": "lower(…)", "maiúscula": "upper(…)", "maiuscula": "upper(…)", "tolower": "lower(…)",
	"toupper": "upper(…)", "arrumar": "trim(…)", "length": "len(…)", "comprimento": "len(…)", "is_open": "open(\"office\")", "is_closed": "closed(\"office\")",
	"aberto": "open(\"office\")", "fechado": "closed(\"office\")", "diz": "says(\"…\")",
}

// functionHint suggests what to write for an unknown function.
func functionHint(name string) *phrases.Message {
	if other := otherFunctions[strings.ToLower(name)]; other != "" {
		return other.Message()
	}
	if other := otherCalls[strings.ToLower(name)]; other != "" {
		return say("write %s", other)
	}
	if near := source.DidYouMean(name, append(functionNames(), builtin.Names...)); near != nil {
		return near
	}
	return say("the functions are %s", phrases.And(functionNames()))
}

// otherMethods maps methods and properties of texts and lists in other languages to what to write
// here; % is the text.
var otherMethods = map[string]string{
	"tolowercase": "lower(%)", "lower": "lower(%)", "touppercase": "upper(%)", "upper": "upper(%)", "trim": "trim(%)", "strip": "trim(%)", "length": "len(%)", "len": "len(%)", "size": "len(%)", "count": "len(%)",
	"includes": "% contains \"…\"", "indexof": "% contains \"…\"", "has": "% contains \"…\"", "contains": "% contains \"…\"", "startswith": "% startsWith \"…\"", "endswith": "% endsWith \"…\"",
	"match": "% matches \"…\"", "test": "% matches \"…\"", "matches": "% matches \"…\"", "split": "split(%, \"…\")", "replace": "replace(%, \"…\", \"…\")", "tostring": "string(%)", "first": "first(%)", "last": "last(%)", "join": "join(%, \", \")",
	"gethours": "%.Hour()", "getday": "%.Weekday()", "getminutes": "%.Minute()", "getdate": "%.Day()", "getmonth": "%.Month()", "strftime": "%.Format(\"15:04\")", "isoformat": "%.Format(\"2006-01-02\")",
}

// methodHint suggests what to write for a method or a property of a value.
func methodHint(of, name string) *phrases.Message {
	if other := otherMethods[strings.ToLower(name)]; other != "" {
		return say("write %s", strings.ReplaceAll(other, "%", of))
	}
	for _, m := range methods {
		if strings.EqualFold(m, name) {
			return say("write %s.%s()", of, m)
		}
	}
	return source.DidYouMean(name, methods)
}

// wordHint suggests what to write for a word that is not allowed there.
func wordHint(word string) *phrases.Message {
	switch strings.ToLower(word) {
	case "and", "e":
		return say("write %s", "and")
	case "or", "ou":
		return say("write %s", "or")
	case "then", "então", "entao":
		return say("an expression is only the condition: what to do stands in the steps of do")
	case "is", "equals", "é":
		return say("compare with == or !=")
	case "like", "has", "includes":
		return say("write %s", "contains")
	}
	return say("put a text in quotes, and and or or between two conditions")
}

// habits are ways to write an expression in other tools, with what to write here.
var habits = []struct {
	form *regexp.Regexp
	hint phrases.Word
}{
	{regexp.MustCompile(`\{%`), "write condition ? \"this\" : \"that\""},
	{regexp.MustCompile(`\bnew Date\b`), "write now(), as in now().Hour() >= 18"},
	{regexp.MustCompile(`^\s*/.+/[a-z]*\.(?:test|exec)\(`), "write matches with the pattern in quotes, as in message.text matches \"^[1-5]$\""},
	{regexp.MustCompile(`<>`), "write != for not equal"},
	{regexp.MustCompile(`\w\(.*;`), "write a comma between the values of a function, and and or or between two conditions"},
	{regexp.MustCompile(`\|\s*default\b`), "write … ?? \"something else\" for what is missing"},
	{regexp.MustCompile(`\|\s*\w+\s*$`), "call a function with its value in brackets, as in upper(contact.name)"},
	{regexp.MustCompile(`^\s*\d{1,2}:\d{2}\s*$`), "write a time as in next_open(\"office\"), or a whole one as in date(\"2026-12-24T09:00:00-03:00\")"},
	{regexp.MustCompile(`(?:^|\s)(?:[Nn][ãa]o|N[Oo][Tt])\s+\w+\s*\(`), "write not in front of it, as in not open(\"office\")"},
}

// habitHint suggests what to write for an expression in the style of another tool, or "".
func habitHint(text string) *phrases.Message {
	for _, h := range habits {
		if h.form.MatchString(text) {
			return h.hint.Message()
		}
	}
	return nil
}

// mismatchHint says how two values of different types can be put together.
func mismatchHint(operator, a, b string) *phrases.Message {
	both := func(x, y *Type) bool { return a == x.name && b == y.name || a == y.name && b == x.name }
	sum := operator == "+" || operator == "-"
	switch {
	case (operator == "or" || operator == "||") && both(Flag, Text):
		return say("compare with each of them, as in message.text in [\"1\", \"2\"]")
	case (operator == "==" || operator == "!=") && (a == "a list") != (b == "a list"):
		return say("write in, as in contact.city in [\"Recife\", \"Natal\"]")
	case operator == "in" && a == Text.name && b == Text.name:
		return say("write contains with the longer text first, or a list in [ ]")
	case a == "time.Weekday" || b == "time.Weekday":
		return say("as in %s", "now().Weekday().String() == \"Saturday\"")
	case a == "time.Month" || b == "time.Month":
		return say("as in %s", "now().Month().String() == \"December\"")
	case both(Duration, Text), both(Duration, Number), sum && both(Time, Text), sum && both(Time, Number):
		return say("write a duration as in duration(\"15m\")")
	case both(Time, Text):
		return say("write a time as in date(\"2026-12-24\")")
	case both(Flag, Text):
		return say("true and false stand without quotes")
	case sum && both(Text, Number):
		return say("make the number a text with string(…), or the text a number with int(…)")
	case both(Text, Number):
		return say("put the number in quotes, or make the text a number with int(…)")
	}
	return nil
}
