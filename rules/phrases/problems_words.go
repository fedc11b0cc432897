package phrases

// problemWords are words inside of messages.
var problemWords = problemTable{
	"the item":                       "o item",
	"Friday":                         "sexta-feira",
	"Monday":                         "segunda-feira",
	"Saturday":                       "sábado",
	"Sunday":                         "domingo",
	"Thursday":                       "quinta-feira",
	"Tuesday":                        "terça-feira",
	"Wednesday":                      "quarta-feira",
	"a board":                        "um quadro",
	"a card":                         "um cartão",
	"a channel":                      "um canal",
	"a contact":                      "um contato",
	"a conversation":                 "uma conversa",
	"a duration":                     "uma duração",
	"a number":                       "um número",
	"a person":                       "uma pessoa",
	"a sector":                       "um setor",
	"a stage":                        "uma etapa",
	"a text":                         "um texto",
	"a time":                         "um horário",
	"add `gather` to the rule":       "acrescente `gather` à regra",
	"an item of attendances":         "um item de attendances",
	"an item of boards":              "um item de boards",
	"an item of cards":               "um item de cards",
	"an item of channels":            "um item de channels",
	"an item of contacts":            "um item de contacts",
	"an item of conversations":       "um item de conversations",
	"an item of labels":              "um item de labels",
	"an item of people":              "um item de people",
	"an item of sectors":             "um item de sectors",
	"an object":                      "um objeto",
	"and":                            "e",
	"anything":                       "qualquer coisa",
	"find it first with `find_card`": "encontre-o antes com `find_card`",
	"name what happens, as in message.received: the engine registers its webhook itself": "diga o que acontece, como em message.received: o próprio Quando registra o seu webhook",
	"not enough":                   "faltam",
	"nothing":                      "nada",
	"numbers":                      "números",
	"or":                           "ou",
	"texts":                        "textos",
	"the configuration":            "a configuração",
	"to every message":             "a cada mensagem",
	"to every message of the team": "a cada mensagem da equipe",
	"too many":                     "sobram",
	"true or false":                "true ou false",
	"whenever the conversation changes, which is often": "sempre que a conversa muda, o que é frequente",
}

// Problems of the backfill.
const (
	BackfillJournal         Code = "backfill.journal"
	BackfillKey             Code = "backfill.key"
	BackfillScope           Code = "backfill.scope"
	BackfillPart            Code = "backfill.part"
	BackfillMessageTimes    Code = "backfill.message_times"
	BackfillMessageSides    Code = "backfill.message_sides"
	BackfillAttendanceTimes Code = "backfill.attendance_times"
)

// backfillProblems are what keeps the backfill from finding everything.
var backfillProblems = table{
	BackfillJournal:         {"the journal cannot be used, so nothing is looked for", "o registro não pode ser usado, por isso nada é procurado"},
	BackfillKey:             {"the service refuses the key, so what no webhook told is not found", "o serviço recusa a chave, por isso o que nenhum webhook contou não é encontrado"},
	BackfillScope:           {"the key lacks the scope %s, so %s that no webhook told are not found", "falta à chave o escopo %s, por isso %s que nenhum webhook contou não são encontrados"},
	BackfillPart:            {"%s that no webhook told could not all be looked for; it is tried again", "%s que nenhum webhook contou não puderam ser todos procurados; será tentado de novo"},
	BackfillMessageTimes:    {"messages show no time, so those that no webhook told are not found; set message.created_at in the profile", "as mensagens não mostram hora, por isso as que nenhum webhook contou não são encontradas; defina message.created_at no perfil"},
	BackfillMessageSides:    {"messages do not tell whose they are, so those that no webhook told are not found; set message.direction in the profile", "as mensagens não dizem de quem são, por isso as que nenhum webhook contou não são encontradas; defina message.direction no perfil"},
	BackfillAttendanceTimes: {"attendances show no time, so those that no webhook told are not found; set attendance.opened_at in the profile", "os atendimentos não mostram hora, por isso os que nenhum webhook contou não são encontrados; defina attendance.opened_at no perfil"},
}
