package phrases

// Reasons that the engine and its journals record.
const (
	NoSuchRule         Code = "reason.rule.unknown"
	RuleGone           Code = "reason.rule.gone"
	DidThis            Code = "reason.own.rule"
	CameOfItself       Code = "reason.own.loop"
	AlertOfOurs        Code = "reason.own.alert"
	ClaimedBy          Code = "reason.claimed"
	InternalChat       Code = "reason.internal"
	TooOld             Code = "reason.late.old"
	TickMissed         Code = "reason.late.tick"
	LaterTick          Code = "reason.late.later_tick"
	ScheduleGone       Code = "reason.late.schedule_gone"
	ByNothing          Code = "reason.by.nothing"
	ModeSingle         Code = "reason.mode.single"
	MaxRuns            Code = "reason.max"
	Limit              Code = "reason.limit"
	SafetyMessages     Code = "reason.safety.messages"
	SafetyConversation Code = "reason.safety.conversation"
	Replaced           Code = "reason.replaced"
	CancelOn           Code = "reason.cancel_on"
	CancelFailed       Code = "reason.cancel_on.failed"
	VersionUnreadable  Code = "reason.version.unreadable"
	EventGone          Code = "reason.event.gone"
	StepFailed         Code = "reason.step.failed"
	GivenUpUnsure      Code = "reason.given_up.unsure"
	GivenUp            Code = "reason.given_up"
	CannotTell         Code = "reason.shadow.unknown"
	If                 Code = "reason.if"
	SwitchedOff        Code = "reason.off"
	NoBranch           Code = "reason.choose.none"
	Else               Code = "reason.choose.else"
	Items              Code = "reason.for_each.items"
	NoneCame           Code = "reason.wait_for.none"
	EndedUnwatched     Code = "reason.wait.unwatched"
	NoList             Code = "reason.for_each.no_list"
	NoListText         Code = "reason.for_each.a_text"
	NoListNumber       Code = "reason.for_each.a_number"
	NoListFlag         Code = "reason.for_each.true_or_false"
	NoListObject       Code = "reason.for_each.an_object"
	TooManyItems       Code = "reason.for_each.max"
)

// engineReasons are why rules did not fire, runs ended and steps did nothing.
var engineReasons = table{
	NoSuchRule:         {"there is no such rule, or it is a draft", "não existe tal regra, ou ela é um rascunho"},
	RuleGone:           {"there is no such rule any more, or it is a draft", "tal regra já não existe, ou ela é um rascunho"},
	DidThis:            {"the rule %s did this", "a regra %s fez isto"},
	AlertOfOurs:        {"an alert to the team did this", "um aviso à equipe fez isto"},
	ClaimedBy:          {"it answers run %d of the rule %s", "ele responde à execução %d da regra %s"},
	InternalChat:       {"the chat of %s is one of our own", "a conversa de %s é uma das nossas"},
	CameOfItself:       {"it came of this rule itself", "isto veio desta própria regra"},
	TooOld:             {"it is %s old, and late: skip_after is %s", "ele tem %s, e late: skip_after é %s"},
	TickMissed:         {"the tick was %s ago, and late: run is none", "o toque foi há %s, e late: run é none"},
	LaterTick:          {"a later tick has come", "um toque posterior já chegou"},
	ScheduleGone:       {"the rule was changed meanwhile, and no longer has this schedule", "a regra foi alterada nesse meio-tempo, e já não tem este horário"},
	ByNothing:          {"by: there is no value", "by: não há valor"},
	ModeSingle:         {"mode: single, and run %d is not finished", "mode: single, e a execução %d não terminou"},
	MaxRuns:            {"max: %d, and as many runs are not finished", "max: %d, e outras tantas execuções não terminaram"},
	Limit:              {"limit: %d per %s", "limit: %d por %s"},
	SafetyMessages:     {"safety: automatic messages are bounded to %d in %s", "segurança: mensagens automáticas são limitadas a %d em %s"},
	SafetyConversation: {"safety: automatic messages to one conversation are bounded to %d in %s", "segurança: mensagens automáticas para uma conversa são limitadas a %d em %s"},
	Replaced:           {"replaced by a newer run", "substituída por uma execução mais nova"},
	CancelOn:           {"cancel_on: %s", "cancel_on: %s"},
	CancelFailed:       {"cancel_on: %s: %s", "cancel_on: %s: %s"},
	VersionUnreadable:  {"the version of the rule that the run began with cannot be read", "a versão da regra com que a execução começou não pode ser lida"},
	EventGone:          {"the event that it began with is gone from the journal", "o evento com que começou já não está no registro"},
	StepFailed:         {"step %s (%s): %s", "passo %s (%s): %s"},
	GivenUpUnsure:      {"given up after %d attempts, and it is not known whether the last had its effect: %s", "desistiu após %d tentativas, e não se sabe se a última teve efeito: %s"},
	GivenUp:            {"given up after %d attempts: %s", "desistiu após %d tentativas: %s"},
	CannotTell:         {"it cannot be told, because what it needs was not done: %s", "não se pode dizer, porque aquilo de que precisa não foi feito: %s"},
	If:                 {"if: %s", "se: %s"},
	SwitchedOff:        {"switched off", "desligado"},
	NoBranch:           {"no branch", "nenhum caminho"},
	Else:               {"else", "senão"},
	Items:              {"%d items", "%d itens"},
	NoneCame:           {"none came", "nenhum chegou"},
	EndedUnwatched:     {"its time ended while no engine was there: what was not told is looked for first", "seu tempo acabou enquanto o Quando não rodava: primeiro se procura o que deixou de ser avisado"},
	NoList:             {"for_each: %s gives %s, and a list is needed", "for_each: %s dá %s, e é preciso uma lista"},
	NoListText:         {"a text", "um texto"},
	NoListNumber:       {"a number", "um número"},
	NoListFlag:         {"true or false", "verdadeiro ou falso"},
	NoListObject:       {"an object", "um objeto"},
	TooManyItems:       {"for_each: %s gives %d items, and max is %d", "for_each: %s dá %d itens, e max é %d"},
}
