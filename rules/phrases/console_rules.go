package phrases

// consoleRules put the language of rules into words.
var consoleRules = table{
	"rule.whynot":         {"Why it did not fire, in the last 7 days", "Por que não disparou, nos últimos 7 dias"},
	"rule.unasked":        {"It was not asked about any event in this time. Events whose own content excludes it at once are not counted here; each event's page tells.", "Não foi consultada sobre nenhum evento neste período. Eventos cujo próprio conteúdo já a exclui não são contados aqui; a página de cada evento conta."},
	"rule.noreasons":      {"It fired for every event that it was asked about. Events whose own content excludes it at once are not counted here; each event's page tells.", "Disparou para todo evento sobre o qual foi consultada. Eventos cujo próprio conteúdo já a exclui não são contados aqui; a página de cada evento conta."},
	"rule.more":           {"All runs of this rule", "Todas as execuções desta regra"},
	"rule.lastgood":       {"The last good version goes on.", "A última versão boa continua em uso."},
	"rule.safety":         {"Safety bounds", "Limites de segurança"},
	"safety.conversation": {"At most %s automatic messages to one conversation in %s", "No máximo %s mensagens automáticas para uma conversa em %s"},
	"safety.workspace":    {"At most %s automatic messages of the workspace in %s", "No máximo %s mensagens automáticas da empresa em %s"},
	"safety.then":         {"A rule that wants to send more is stopped until a person resumes it: for that conversation alone, or everywhere where the company has sent too much.", "Uma regra que queira enviar mais é parada até que uma pessoa a retome: só para aquela conversa, ou em todas, quando a empresa já enviou demais."},

	"when.every":         {"every %s", "a cada %s"},
	"when.cron":          {"by the schedule %s", "pela agenda %s"},
	"when.at":            {"at %s", "às %s"},
	"when.each":          {"for each of the %s", "para cada um(a) de: %s"},
	"each.attendances":   {"attendances", "atendimentos"},
	"each.conversations": {"conversations", "conversas"},
	"each.contacts":      {"contacts", "contatos"},
	"each.cards":         {"cards", "cartões"},
}

// consoleRulePage are the texts of the page of a rule.
var consoleRulePage = table{
	"rule.noruns":         {"It has not run yet.", "Ainda não foi executada."},
	"rule.since":          {"since %s", "desde %s"},
	"change.step":         {"step %s", "passo %s"},
	"change.changed":      {"%s, %s → %s", "%s, %s → %s"},
	"change.added":        {"%s, new: %s", "%s, novo: %s"},
	"change.removed":      {"%s, taken away: %s", "%s, tirado: %s"},
	"change.moved":        {"%s, moved here: %s", "%s, movido para cá: %s"},
	"change.moved_here":   {"moved here", "movido para cá"},
	"change.rule_new":     {"new rule", "regra nova"},
	"change.rule_gone":    {"no longer there", "não está mais lá"},
	"fix.limit_day":       {"Fix: at most once a day", "Corrigir: no máximo uma vez por dia"},
	"fix.gather":          {"Fix: collect messages", "Corrigir: reunir mensagens"},
	"fix.from":            {"Fix: what rules do does not start it", "Corrigir: o que regras fazem não a inicia"},
	"fix.use":             {"Fix: use “%s”", "Corrigir: usar “%s”"},
	"fix.remove":          {"Fix: take it away", "Corrigir: tirar"},
	"history.yaml":        {"The difference in the YAML", "A diferença no YAML"},
	"change.rest":         {"other parts of the file", "outras partes do arquivo"},
	"change.more":         {"and %s more", "e mais %s"},
	"present.other":       {"%s is changing this rule too, since %s.", "%s também está alterando esta regra, desde %s."},
	"present.self":        {"You are changing this rule in another window too, since %s.", "Você também está alterando esta regra em outra janela, desde %s."},
	"present.saved":       {"%s has saved this rule at %s.", "%s salvou esta regra às %s."},
	"present.outside":     {"This rule was changed outside of this console.", "Esta regra foi alterada fora deste console."},
	"present.show":        {"Show it as it is now", "Mostrar como está agora"},
	"studio.saved_at":     {"Saved · %s · %s", "Salvo · %s · %s"},
	"studio.tab.activity": {"Activity", "Atividade"},
}
