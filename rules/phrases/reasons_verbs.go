package phrases

// Reasons of verbs.
const (
	ContactIsSo              Code = "reason.contact.so"
	LabelsAreSo              Code = "reason.labels.so"
	ConversationIsThere      Code = "reason.conversation.there"
	NoOpenAttendance         Code = "reason.attendance.none"
	AttendanceClosed         Code = "reason.attendance.closed"
	NoCardFits               Code = "reason.card.none_fits"
	NoCard                   Code = "reason.card.none"
	NoConversation           Code = "reason.conversation.none"
	CardInStage              Code = "reason.card.in_stage"
	ConversationInSector     Code = "reason.conversation.in_sector"
	CardIsSo                 Code = "reason.card.so"
	ConversationRead         Code = "reason.conversation.read"
	ConversationIsSo         Code = "reason.conversation.so"
	CardElsewhere            Code = "reason.card.only_from"
	CardCallOld              Code = "reason.card.create_old"
	RequestUnsure            Code = "reason.http.unsure"
	CardMoveOld              Code = "reason.card.move_old"
	CardMovedByOther         Code = "reason.card.moved"
	ChangedByOther           Code = "reason.changed"
	CardChanged              Code = "reason.card.changed"
	SectorSetByOther         Code = "reason.conversation.sector_set"
	ConversationMovedByOther Code = "reason.conversation.moved"
	ConversationMuted        Code = "reason.conversation.muted"
	ConversationMutedUntil   Code = "reason.conversation.muted_until"
	MutedMeanwhile           Code = "reason.conversation.muted_meanwhile"
	MuteOver                 Code = "reason.mute.over"
)

// verbReasons are what verbs found, so that there was nothing to do, or a person has to look.
var verbReasons = table{
	ContactIsSo:              {"the contact is so already", "o contato já está assim"},
	LabelsAreSo:              {"the labels are so already", "as etiquetas já estão assim"},
	ConversationIsThere:      {"the conversation is there already", "a conversa já está lá"},
	NoOpenAttendance:         {"the conversation has no open attendance", "a conversa não tem atendimento aberto"},
	AttendanceClosed:         {"the attendance is closed already; the conversation's next one stays open", "o atendimento já está encerrado; o seguinte da conversa continua aberto"},
	NoCardFits:               {"no card fits", "nenhum cartão serve"},
	NoCard:                   {"there is no card: none was found or created", "não há cartão: nenhum foi encontrado nem criado"},
	NoConversation:           {"there is no such conversation; open_conversation opens one", "essa conversa não existe; open_conversation abre uma"},
	CardInStage:              {"the card is in that stage already", "o cartão já está nessa etapa"},
	ConversationInSector:     {"the conversation is in that sector already", "a conversa já está nesse setor"},
	CardIsSo:                 {"the card is so already", "o cartão já está assim"},
	ConversationRead:         {"the conversation is read already", "a conversa já está lida"},
	ConversationIsSo:         {"the conversation is so already", "a conversa já está assim"},
	CardElsewhere:            {"the card is in %s, and only_from says %s", "o cartão está em %s, e only_from diz %s"},
	CardCallOld:              {"the call is more than six days old, and the service no longer knows its key for sure: create the card by hand if it is missing", "a chamada tem mais de seis dias, e já não é certo que o serviço conheça sua chave: crie o cartão à mão se ele faltar"},
	RequestUnsure:            {"the request may or may not have been carried out: see there, or say repeatable: true in the rule", "a requisição pode ou não ter sido executada: verifique lá, ou diga repeatable: true na regra"},
	CardMoveOld:              {"the move is more than six days old, and the service no longer knows its key for sure: move the card by hand if it should still move", "o movimento tem mais de seis dias, e já não é certo que o serviço conheça sua chave: mova o cartão à mão se ainda for preciso"},
	CardMovedByOther:         {"somebody else has moved the card meanwhile", "outra pessoa moveu o cartão nesse meio-tempo"},
	ChangedByOther:           {"somebody else has changed it to something else meanwhile", "outra pessoa mudou isto para outra coisa nesse meio-tempo"},
	CardChanged:              {"the card has been changed meanwhile", "o cartão foi alterado nesse meio-tempo"},
	SectorSetByOther:         {"somebody else has put the conversation into another sector meanwhile", "outra pessoa pôs a conversa em outro setor nesse meio-tempo"},
	ConversationMuted:        {"the conversation is muted", "a conversa está silenciada"},
	ConversationMutedUntil:   {"the conversation is muted until %s", "a conversa está silenciada até %s"},
	MutedMeanwhile:           {"the conversation was muted before the message was sent again; nothing shows whether the first attempt reached it", "a conversa foi silenciada antes da nova tentativa; não se sabe se a primeira chegou"},
	MuteOver:                 {"that time is over already", "esse momento já passou"},
	ConversationMovedByOther: {"somebody else has moved the conversation meanwhile", "outra pessoa moveu a conversa nesse meio-tempo"},
}
