package phrases

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
