package phrases

// consoleList are the texts of the list of rules, and of what is done to a rule besides writing it.
var consoleList = table{
	"rules.query":          {"Name, tag, or what it sends or names", "Nome, etiqueta, ou o que ela envia ou cita"},
	"rules.tag":            {"Tag", "Etiqueta"},
	"rules.untagged":       {"Without a tag", "Sem etiqueta"},
	"rules.filter.live":    {"live", "ativa"},
	"rules.filter.shadow":  {"shadow", "sombra"},
	"rules.filter.draft":   {"draft", "rascunho"},
	"rules.filter.stopped": {"stopped", "parada"},
	"rules.filter.broken":  {"not in use as written", "não está em uso como escrita"},
	"rules.all.one":        {"%s rule", "%s regra"},
	"rules.all.many":       {"%s rules", "%s regras"},
	"rules.found":          {"%s of %s rules", "%s de %s regras"},
	"rules.nothing":        {"No rule fits.", "Nenhuma regra corresponde."},
	"rules.more":           {"More rules", "Mais regras"},
	"rules.first":          {"First rules", "Primeiras regras"},
	"rules.started.one":    {"started %s ×", "iniciada %s ×"},
	"rules.started.many":   {"started %s ×", "iniciada %s ×"},
	"rules.outside":        {"changed outside of this console", "alterada fora deste console"},
}
