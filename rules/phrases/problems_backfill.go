package phrases

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
