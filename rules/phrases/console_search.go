package phrases

// consoleSearch are those of the menu, of the search and of the page that shows the parts of pages.
var consoleSearch = table{
	"layout.group.try":    {"Try", "Testar"},
	"layout.group.system": {"System", "Sistema"},
	"layout.more":         {"More", "Mais"},
	"layout.needs.one":    {"%s needs a person", "%s precisa de uma pessoa"},
	"layout.needs.many":   {"%s need a person", "%s precisam de uma pessoa"},
	"layout.spaces":       {"Workspace", "Empresa"},
	"layout.spaces.all":   {"All workspaces", "Todas as empresas"},
	"layout.account":      {"You", "Você"},

	"search.title":     {"Search", "Busca"},
	"search.open":      {"Search", "Buscar"},
	"search.close":     {"Close", "Fechar"},
	"search.query":     {"Customer, phone, protocol, rule, run or text", "Cliente, telefone, protocolo, regra, execução ou texto"},
	"search.help":      {"The beginning of a name, the end of a phone number, a protocol, what a rule is called or says, the number of a run, or words of a recent message.", "O começo de um nome, o fim de um telefone, um protocolo, o nome ou o texto de uma regra, o número de uma execução, ou palavras de uma mensagem recente."},
	"search.none":      {"Nothing was found.", "Nada foi encontrado."},
	"search.failed":    {"The search does not answer. Try again.", "A busca não responde. Tente de novo."},
	"search.customers": {"Customers", "Clientes"},
	"search.rules":     {"Rules", "Regras"},
	"search.runs":      {"Runs", "Execuções"},
	"search.messages":  {"Recent messages", "Mensagens recentes"},
	"search.run":       {"%s · %s", "%s · %s"},
	"search.keys":      {"Arrow keys choose, Enter opens", "Setas escolhem, Enter abre"},
	"search.found":     {"%s found", "%s encontrados"},

	"parts.title": {"Parts of pages", "Partes das páginas"},
}
