package phrases

// consoleHealth are those about the service that the engine depends on.
var consoleHealth = table{
	"check.scopes":      {"Scopes", "Escopos"},
	"need.check.scopes": {"The key of the workspace %s lacks scopes that rules need", "Faltam à chave da empresa %s escopos de que as regras precisam"},

	"check.subscription":      {"Subscription", "Assinatura"},
	"need.check.subscription": {"The webhook of the workspace %s cannot be looked after", "Não é possível cuidar do webhook da empresa %s"},
	"health.subscribed":       {"Subscribed to %s.", "Assinados: %s."},
	"health.unsubscribed":     {"Cannot be subscribed to: %s.", "Não podem ser assinados: %s."},
	"health.idle":             {"The rules need no event that can be subscribed to.", "As regras não precisam de nenhum evento que possa ser assinado."},
	"health.tended":           {"Looked after at %s.", "Verificada em %s."},

	"health.limits":    {"How calls are held back", "Como as chamadas são contidas"},
	"health.ceiling":   {"Our own ceiling", "Nosso próprio teto"},
	"health.persecond": {"%s calls in a second", "%s chamadas por segundo"},
	"health.noceiling": {"none", "nenhum"},
	"health.asked":     {"The service last asked for a pause", "O serviço pediu uma pausa pela última vez"},
	"health.pause":     {"of %s, %s ago", "de %s, há %s"},
	"health.never":     {"never since the start", "nunca desde o início"},
	"health.often":     {"How often since the start", "Quantas vezes desde o início"},
	"health.until":     {"calls wait until %s", "as chamadas esperam até %s"},
	"health.free":      {"no pause at present", "sem pausa no momento"},
	"health.held":      {"At present", "No momento"},

	"health.repairs":          {"What no webhook told", "O que nenhum webhook contou"},
	"health.found":            {"Found in the last 24 hours", "Encontrado nas últimas 24 horas"},
	"health.repairing":        {"looking at %s", "verificando %s"},
	"health.repaired":         {"last looked at %s", "verificado por último em %s"},
	"health.unrepaired":       {"not looked at yet", "ainda não verificado"},
	"health.progress":         {"%s looked at with %s calls, %s found", "%s verificados com %s chamadas, %s encontrados"},
	"health.part.attendances": {"attendances", "atendimentos"},
	"health.part.messages":    {"messages", "mensagens"},
	"health.part.cards":       {"cards", "cartões"},
	"health.part.":            {"the service", "o serviço"},

	"health.scopes": {"What the key may do", "O que a chave pode"},
	"health.scope":  {"Scope", "Escopo"},
	"health.has":    {"The key", "A chave"},
	"health.users":  {"Rules", "Regras"},
	"health.given":  {"has it", "tem"},
	"health.lacks":  {"lacks it", "não tem"},
	"health.spare":  {"lacks it; facts and names may be missing", "não tem; fatos e nomes podem faltar"},
	"health.api":    {"API of the service", "API do serviço"},
	"health.last":   {"Latest delivery: %s, %s.", "Última entrega: %s, %s."},

	"delivery.pending":   {"under way", "a caminho"},
	"delivery.delivered": {"delivered", "entregue"},
	"delivery.retrying":  {"to be tried again", "será tentada de novo"},
	"delivery.failed":    {"failed for good", "falhou de vez"},

	"button.mend.webhook": {"Activate the webhook again", "Reativar o webhook"},
	"said.mended_webhook": {"The webhook is active again.", "O webhook está ativo de novo."},
	"audit.reactivate":    {"activated again", "reativou"},
	"error.service":       {"The service says: %s", "O serviço diz: %s"},
}
