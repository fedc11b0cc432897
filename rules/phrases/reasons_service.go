package phrases

// Reasons why a call came to nothing. The first argument is what a program has to say of it, in
// English; the console says the rest.
const (
	Within          Code = "reason.within"
	ServiceRefused  Code = "reason.service.refused"
	ServiceNoReason Code = "reason.service.no_reason"
	ServiceKey      Code = "reason.service.key"
	ServiceDenied   Code = "reason.service.denied"
	ServiceBusy     Code = "reason.service.busy"
	ServiceGone     Code = "reason.service.gone"
	ServiceConflict Code = "reason.service.conflict"
	ServiceDown     Code = "reason.service.down"
	ServiceLate     Code = "reason.service.late"
	ServiceAway     Code = "reason.service.away"
	NameUnknown     Code = "reason.name.unknown"
	NameNear        Code = "reason.name.near"
	NameShared      Code = "reason.name.shared"
	PhoneUnusable   Code = "reason.phone.unusable"
	NothingToSend   Code = "reason.message.nothing"
	OutOfTime       Code = "reason.call.out_of_time"
	ChangedEachTime Code = "reason.changed.each_time"
	TriedInVain     Code = "reason.tried"
	NotOneCard      Code = "reason.card.not_one"
	SeveralCards    Code = "reason.card.several"
	CardNotOnBoard  Code = "reason.card.not_on_board"
	KindLabel       Code = "kind.label"
	KindSector      Code = "kind.sector"
	KindPerson      Code = "kind.person"
	KindChannel     Code = "kind.channel"
	KindBoard       Code = "kind.board"
	KindStage       Code = "kind.stage"
	KindOther       Code = "kind.other"
)

// serviceReasons are why calls came to nothing, for programs and for people who write rules.
var serviceReasons = table{
	Within:          {"%s%s", "%s%s"},
	ServiceRefused:  {"%[1]s", "%[1]s"},
	ServiceNoReason: {"%s", "%s"},
	ServiceKey:      {"%s", "%s"},
	ServiceDenied:   {"%s", "%s"},
	ServiceBusy:     {"%s", "%s"},
	ServiceGone:     {"%s", "%s"},
	ServiceConflict: {"%s", "%s"},
	ServiceDown:     {"%s", "%s"},
	ServiceLate:     {"%s", "%s"},
	ServiceAway:     {"%s", "%s"},
	NameUnknown:     {"%[1]s", "%[1]s"},
	NameNear:        {"%[1]s", "%[1]s"},
	NameShared:      {"%[1]s", "%[1]s"},
	PhoneUnusable:   {"%q is not a phone number that a conversation can be opened with", "%q não é um telefone com que se possa abrir uma conversa"},
	NothingToSend:   {"there is nothing to send: text and media are empty", "não há nada a enviar: texto e mídia estão vazios"},
	OutOfTime:       {"not made, because its time was over before it could leave", "não foi feita, porque seu tempo acabou antes que pudesse sair"},
	ChangedEachTime: {"what it changes was changed by others each time", "o que ela muda foi mudado por outros a cada vez"},
	TriedInVain:     {"given up after %d tries: %s", "desistiu após %d tentativas: %s"},
	NotOneCard:      {"no card fits, and exactly one was expected", "nenhum cartão serve, e era esperado exatamente um"},
	SeveralCards:    {"more than one card fits, and exactly one was expected: narrow the search", "mais de um cartão serve, e era esperado exatamente um: restrinja a busca"},
	CardNotOnBoard:  {"the card is not on the board %s", "o cartão não está no quadro %s"},
	KindLabel:       {"label", "etiqueta"},
	KindSector:      {"sector", "setor"},
	KindPerson:      {"person", "pessoa"},
	KindChannel:     {"channel", "canal"},
	KindBoard:       {"board", "quadro"},
	KindStage:       {"stage", "etapa"},
	KindOther:       {"entry", "registro"},
}

// plainService are the same for people at a desk. What the service said stays as it said it, in
// quotes.
var plainService = table{
	"plain.reason.within":            {"%[2]s", "%[2]s"},
	"plain.reason.service.refused":   {"the service refused it: “%[2]s”", "o serviço recusou: “%[2]s”"},
	"plain.reason.service.no_reason": {"the service refused it, and did not say why", "o serviço recusou, e não disse por quê"},
	"plain.reason.service.key":       {"the service does not accept the key", "o serviço não aceita a chave"},
	"plain.reason.service.denied":    {"the key has no permission for this", "a chave não tem permissão para isto"},
	"plain.reason.service.busy":      {"the service asked to wait", "o serviço pediu para esperar"},
	"plain.reason.service.gone":      {"it is not there any more", "isto já não existe"},
	"plain.reason.service.conflict":  {"the service refused it, because something changed meanwhile", "o serviço recusou, porque algo mudou nesse meio-tempo"},
	"plain.reason.service.down":      {"the service had a fault of its own", "o serviço teve uma falha própria"},
	"plain.reason.service.late":      {"the service did not answer in time", "o serviço não respondeu a tempo"},
	"plain.reason.service.away":      {"the service could not be reached", "não foi possível alcançar o serviço"},
	"plain.reason.name.unknown":      {"there is no %[2]s named “%[3]s”", "não existe %[2]s com o nome “%[3]s”"},
	"plain.reason.name.near":         {"there is no %[2]s named “%[3]s”; perhaps %[4]s is meant", "não existe %[2]s com o nome “%[3]s”; talvez seja %[4]s"},
	"plain.reason.name.shared":       {"several have the name “%[3]s” (%[2]s)", "vários têm o nome “%[3]s” (%[2]s)"},
	"plain.reason.phone.unusable":    {"“%s” is not a phone number that can be written to", "“%s” não é um telefone para o qual se possa escrever"},
	"plain.reason.message.nothing":   {"there was nothing to send", "não havia nada a enviar"},
	"plain.reason.call.out_of_time":  {"its time was over before it could be done", "o tempo acabou antes que pudesse ser feito"},
	"plain.reason.tried":             {"given up after %d attempts: %s", "desistiu após %d tentativas: %s"},
	"plain.reason.given_up":          {"given up after %d attempts: %s", "desistiu após %d tentativas: %s"},
	"plain.reason.given_up.unsure":   {"given up after %d attempts, and nobody knows whether the last one got through: %s", "desistiu após %d tentativas, e ninguém sabe se a última passou: %s"},
	"plain.reason.shadow.unknown":    {"nobody can tell, because what it needs was not done: %s", "não se pode dizer, porque aquilo de que precisa não foi feito: %s"},
	"plain.reason.card.several":      {"more than one card fits", "mais de um cartão serve"},
	"plain.reason.card.not_one":      {"no card fits", "nenhum cartão serve"},
}
